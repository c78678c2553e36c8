// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of the units whose blocks compute tile after tile: simt, mma and
// wgmma.

#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_lead_config.h"
#include "compiler/kernels/gemm/GemmEfficiency.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <cmath>

using namespace fusec;

void fusec::exposeReductions(Overlap &time, const Target &target,
                             const GemmSizes &sizes, double rounds,
                             double points, double codeClocks) {
  if (sizes.reductions)
    time.exposeClocks(rounds * points * target.tile.reducedClocks *
                          sizes.reductions +
                      codeClocks);
}

/// What wgmma kernels do not hide. `tiles` of the launch with `stepsK` steps
/// each, of which the busiest block has `perBlock`.
static void exposeWgmma(Overlap &time, const WgmmaCosts &costs,
                        const GemmSizes &sizes, GemmScheduleAttr schedule,
                        double tiles, double stepsK, double perBlock) {
  double tileM = schedule.getTileM(), tileN = schedule.getTileN(),
         tileK = schedule.getTileK(), accumulators = sizes.accumulators;
  double clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN();
  // A ping-pong hides most of its epilogues and starts and ends later;
  // cooperative consumers end one after another and hide some of all but the
  // last.
  bool pingPong = schedule.getUnit() == GemmUnit::PingPong;
  double stored = tileM * tileN * sizes.element * costs.storedByteClocks;
  time.exposeClocks(stored *
                    (pingPong ? costs.storedPingPong * perBlock
                              : costs.storedCooperative * (perBlock - 1) + 1));
  // The longer its tiles, the longer the second consumer waits for its first,
  // unless a block has no second tile.
  if (pingPong)
    time.expose(perBlock > 1 ? costs.pingPongMicros +
                                   costs.pingPongMegaMicros * stepsK * tileK /
                                       1024 * tileN * accumulators / 128
                             : costs.pingPongAloneMicros);
  if (clusterM * clusterN > 1)
    time.expose(costs.clusterMicros);
  // B of few rows of tiles leaves L2 first, unless blocks share it: then up
  // to so many bytes of it take lines that have to be written back.
  if (clusterM > 1 && sizes.m <= wgmmaStreamedRows * tileM)
    time.expose(costs.writtenBackMicros *
                std::min(sizes.n * stepsK * tileK * sizes.element *
                             accumulators / costs.writtenBackBytes,
                         1.0));
  // Rows of a box outside of A, which only tiles of more rows than A have,
  // are asked of L2 all the same, at one place and at once by all blocks; the
  // first of them hide.
  double outside = std::max(tileM - sizes.m - costs.hiddenRows, 0.0),
         together = std::min(tiles, double(schedule.getBlocks()));
  time.exposeClocks(perBlock * stepsK * together * outside *
                    costs.outsideClocks);
}

/// Registers of a multiprocessor.
static constexpr double registersOfUnit = 65536;

/// Of a thread with so many sums: what the compiler takes beside them.
static double getRegisters(GemmUnit unit, double sums) {
  switch (unit) {
  case GemmUnit::Simt:
    return sums + 40;
  case GemmUnit::Tf32x3:
    return 2 * sums + 50;
  case GemmUnit::Mma:
    return sums + 70;
  default: // wgmma, whose warps are given theirs
    return 168;
  }
}

Estimate fusec::estimateTiled(const Target &target, const GemmSizes &sizes,
                              GemmScheduleAttr schedule) {
  const TileCosts &costs = target.tile;
  GemmUnit unit = schedule.getUnit();
  bool isWgmma = schedule.isWgmma();
  double tileM = schedule.getTileM(), tileN = schedule.getTileN(),
         tileK = schedule.getTileK(), accumulators = sizes.accumulators;
  double clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN();
  double tiles = std::ceil(std::ceil(sizes.m / tileM) / clusterM) * clusterM *
                 std::ceil(std::ceil(sizes.n / tileN) / clusterN) * clusterN *
                 sizes.batch;
  double stepsK = 0;
  for (int64_t k : sizes.k)
    stepsK += std::ceil(k / tileK);

  BlockShape block =
      isWgmma
          ? BlockShape{wgmmaThreadsOf(schedule.getTileM()), target.sharedBytes}
          : getTileBlock(schedule, sizes.accumulators, sizes.element);
  double threads = block.threads, shared = block.sharedBytes,
         sums = tileM * tileN * accumulators / threads;
  double registers = getRegisters(unit, sums);
  double resident = std::max(
      1.0, std::floor(std::min({target.sharedBytes / std::max(shared, 1.0),
                                target.threads / threads,
                                registersOfUnit / (registers * threads)})));

  double area = tileM * tileN * accumulators;
  double peak = unit == GemmUnit::Simt ? target.rates.fma : target.rates.tensor;
  if (unit != GemmUnit::Simt && sizes.element == 4)
    peak /= schedule.splitsFactors() ? 6 : 2;
  if (unit == GemmUnit::Simt && sizes.element == 8)
    peak /= target.rates.fp64Part;
  double math = 2 * area * tileK * stepsK /
                (peak * getEfficiency(target, schedule, sizes));
  // Copies of single elements take more instructions than the products.
  if (unit == GemmUnit::Mma && !sizes.wideCopies)
    math *= target.mma.narrowCopies;
  double l2 = (tileM / clusterN + accumulators * tileN / clusterM) * tileK *
              sizes.element * stepsK / target.rates.l2;
  // What a block waits for where nothing else runs beside it.
  double stages = std::max<double>(schedule.getStages(), 2);
  double chain =
      stepsK *
      std::max(costs.stageLatency * target.rates.memoryLatency / (stages - 1),
               costs.leastStepClocks);

  // The busiest multiprocessor's tiles.
  double units = isWgmma ? schedule.getBlocks() : target.multiprocessors;
  double perUnit = std::max(1.0, std::ceil(tiles / units));
  double together = std::min(resident, perUnit);
  // Splits and loads hide only behind other warps.
  if (unit == GemmUnit::Tf32x3)
    math *= 1 + target.tf32x3.exposed *
                    std::max(0.0, std::log2(target.tf32x3.threads /
                                            (together * threads)));
  Overlap time(target);
  time.addClocks(unit == GemmUnit::Simt ? TimeBound::Arithmetic
                                        : TimeBound::Tensor,
                 perUnit * math);
  time.addClocks(TimeBound::L2, perUnit * l2);
  time.addClocks(TimeBound::Latency, std::ceil(perUnit / together) * chain);
  time.add(TimeBound::Memory,
           sizes.bytes / (target.rates.memory * 1e3 * costs.memoryPart));
  // The first loads, and epilogues that nothing hides.
  time.exposeClocks(target.rates.memoryLatency + target.rates.l2Latency);
  if (isWgmma) {
    exposeWgmma(time, target.wgmma, sizes, schedule, tiles, stepsK, perUnit);
  } else if (unit == GemmUnit::Mma) {
    // Instructions an element, of blocks that share the issue slots.
    time.exposeClocks(perUnit * area / accumulators *
                      target.mma.storedInstructions / issuedThreads);
  } else {
    time.exposeClocks(std::ceil(perUnit / together) * area / threads *
                      target.simt.storedClocks);
  }
  // The consumers of a ping-pong have tiles of their own.
  bool alone = unit == GemmUnit::PingPong;
  exposeReductions(time, target, sizes,
                   isWgmma ? std::ceil(perUnit / (alone ? 2 : 1))
                           : std::ceil(perUnit / together),
                   area / accumulators /
                       (alone     ? 128
                        : isWgmma ? threads - 128
                                  : threads),
                   costs.reductionCodeClocks);
  return time.get();
}

double fusec::estimateLead(const Target &target, const GemmSizes &sizes,
                           const GemmSizes &lead, GemmScheduleAttr schedule) {
  int tileM = schedule.getTileM(), tileN = schedule.getTileN(),
      cluster = schedule.getClusterM();
  int rows = wgmmaLeadRows(tileM, schedule.getUnit() == GemmUnit::PingPong,
                           schedule.getLead());
  WgmmaLeadOrder order(lead.m, wgmmaTilesM(lead.m, tileM, cluster),
                       tilesOf(sizes.n, tileN), schedule.getBlocks() / cluster,
                       tileM, tileN, cluster, 16 / cluster, rows);
  // A flag has to be seen; clusters with a tile less have the time for more.
  double flag = target.lead.flagMicros;
  if (order.isFirst)
    return flag;
  // Stages of the ring that the matmul lacks meanwhile.
  double steps = std::ceil(lead.k[0] / double(schedule.getTileK()));
  double clocks = steps * target.lead.stepClocks;
  return flag + std::ceil(double(order.units) / order.clusters) * clocks /
                    (target.rates.clock * 1e3);
}
