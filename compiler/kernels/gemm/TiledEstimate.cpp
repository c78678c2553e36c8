// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/TiledEstimate.h"
#include <cmath>

using namespace fusec;

/// Registers of a multiprocessor.
static constexpr double registersOfUnit = 65536;

double fusec::getReached(llvm::ArrayRef<Reached> table, double size) {
  return llvm::find_if(table, [&](Reached r) { return size >= r.size; })->part;
}

void fusec::exposeReductions(Overlap &time, const Target &target,
                             const GemmSizes &sizes, double rounds,
                             double points, double codeClocks) {
  if (sizes.reductions)
    time.exposeClocks(rounds * points * target.tile.reducedClocks *
                          sizes.reductions +
                      codeClocks);
}

TileRun::TileRun(const Target &target, const GemmSizes &sizes,
                 const TiledKernel &kernel, double units)
    : target(target), sizes(sizes), kernel(kernel) {
  double tileM = kernel.tileM, tileN = kernel.tileN, clusterM = kernel.clusterM,
         clusterN = kernel.clusterN;
  area = tileM * tileN * sizes.accumulators;
  tiles = std::ceil(std::ceil(sizes.m / tileM) / clusterM) * clusterM *
          std::ceil(std::ceil(sizes.n / tileN) / clusterN) * clusterN *
          sizes.batch;
  stepsK = 0;
  for (int64_t k : sizes.k)
    stepsK += std::ceil(k / double(kernel.tileK));
  perUnit = std::max(1.0, std::ceil(tiles / units));
  double threads = kernel.block.threads, shared = kernel.block.sharedBytes;
  double resident = std::max(
      1.0,
      std::floor(std::min({target.sharedBytes / std::max(shared, 1.0),
                           target.threads / threads,
                           registersOfUnit / (kernel.registers * threads)})));
  together = std::min(resident, perUnit);
}

Overlap TileRun::overlap(TimeBound by, double products) const {
  const TileCosts &costs = target.tile;
  double tileM = kernel.tileM, tileN = kernel.tileN;
  // Of what an operand is made of more or fewer bytes are read.
  double made = sizes.made ? sizes.made->bytes / sizes.element : 1;
  double l2 = (tileM / kernel.clusterN * made +
               double(sizes.accumulators) * tileN / kernel.clusterM) *
              kernel.tileK * sizes.element * stepsK * spread /
              (target.rates.l2 * (sizes.farRows ? costs.farRowsPart : 1));
  // What a block waits for where nothing else runs beside it.
  double chain =
      stepsK * std::max(costs.stageLatency * target.rates.memoryLatency /
                            double(kernel.stages - 1),
                        costs.leastStepClocks);
  double memory = sizes.bytes / (target.rates.memory * 1e3 * costs.memoryPart);
  double latency = std::ceil(perUnit / together) * chain;
  double blocks = std::max({perUnit * products, perUnit * l2, latency}) /
                  (target.rates.clock * 1e3);
  double longer = 1; // than the longest of them
  if (sizes.areRanges)
    longer = std::pow(
        1 + std::pow(std::min(memory, blocks) / std::max(memory, blocks),
                     costs.beside),
        1 / costs.beside);
  Overlap time(target);
  time.addClocks(by, perUnit * products * longer);
  time.addClocks(TimeBound::L2, perUnit * l2 * longer);
  time.addClocks(TimeBound::Latency, latency * longer);
  time.add(TimeBound::Memory, memory * longer);
  // The first loads.
  time.exposeClocks(target.rates.memoryLatency + target.rates.l2Latency);
  return time;
}

double fusec::countInstructions(const MadeCosts &costs,
                                const GemmSizes::Made &made) {
  if (made.bytes != 1)
    return costs.elementInstructions + made.instructions;
  return made.isConversion ? costs.convertInstructions
                           : costs.byteInstructions + made.instructions;
}
