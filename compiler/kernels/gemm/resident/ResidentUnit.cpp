// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that stay in shared memory while rows stream by.

#include "compiler/kernels/gemm/resident/device/gemm_resident_config.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

void fusec::addResident(const GemmProblem &problem, const GemmSizes &sizes,
                        SmallVectorImpl<Candidate> &to) {
  if (!problem.iteration.n.isConstant() || sizes.batch != 1 || sizes.n > 256 ||
      !llvm::all_of(problem.iteration.k, [](Expr k) { return k.isConstant(); }))
    return;
  auto isUnbatched = [](const MatrixAccess &access) {
    return access.batch.isConstant(0);
  };
  bool weightsAlongK = problem.iteration.rhs[0][0].isAlongK();
  for (auto [lhs, rhs] :
       llvm::zip_equal(problem.iteration.lhs, problem.iteration.rhs))
    if (!isUnbatched(lhs) || !llvm::all_of(rhs, isUnbatched) ||
        rhs[0].isAlongK() != weightsAlongK)
      return;
  int64_t tileN = residentTileN(sizes.n, weightsAlongK), blocksK = 0,
          staged = 0;
  if (!isResidentLegal(tileN, problem.accumulators, weightsAlongK,
                       problem.element))
    return;
  for (int64_t k : sizes.k)
    blocksK += residentBlocksK(std::min<int64_t>(k, 1 << 20), problem.element);
  // As many as may be mapped.
  for (const TileStore &store : problem.iteration.stores)
    staged += residentStagedBytes(
        tileN, getElementBytes(problem.iteration.epilogue[store.node].type));
  int64_t consumers = residentConsumers(tileN, problem.accumulators);
  int64_t stages = residentStages(tileN, problem.accumulators, consumers,
                                  staged, blocksK, problem.target.sharedBytes);
  if (blocksK == 0 || stages < blocksK)
    return;
  problem.add(
      GemmScheduleAttr::get(problem.context, GemmUnit::Resident, residentRows,
                            tileN, wgmmaRowBytes / problem.element, consumers,
                            0, stages, 1, 1, problem.target.multiprocessors),
      sizes, to);
}

static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr schedule) {
  const ResidentCosts &costs = target.resident;
  Overlap time(target);
  double area = double(residentRows) * schedule.getTileN() * sizes.accumulators;
  double perUnit = std::ceil(std::ceil(double(sizes.m) / residentRows) /
                             schedule.getBlocks());
  time.addClocks(TimeBound::Arithmetic,
                 perUnit * area * costs.instructions / issuedThreads);
  time.add(TimeBound::Memory,
           (sizes.bytes + costs.written * sizes.written) /
               (target.rates.memory * 1e3 * costs.memoryPart));
  time.expose(costs.startMicros);
  return time.get();
}

static LaunchAttr getLaunch(const UnitStep &at) {
  int64_t tileN = at.schedule.getTileN(), consumers = at.schedule.getDivideM(),
          blocksK = 0, staged = 0;
  for (Expr k : at.iteration.k)
    blocksK += residentBlocksK(k.getValue(), at.element);
  for (TileMapAttr result : at.maps.results)
    staged += residentStagedBytes(tileN, wgmmaRowBytes / result.getInner());
  return LaunchAttr::get(Expr::min(at.countTiles(residentRows, tileN),
                                   at.number(at.schedule.getBlocks())),
                         128 * (1 + consumers),
                         residentSharedBytes(tileN, at.accumulators,
                                             at.schedule.getStages(), consumers,
                                             staged, blocksK));
}

static UnitCall getCall(const UnitStep &at) {
  GemmScheduleAttr schedule = at.schedule;
  return {"fusec::ResidentConfig",
          "fusec::gemmResident<Config>",
          {{"columns", at.iteration.n.getValue()},
           {"tileN", schedule.getTileN()},
           {"consumers", schedule.getDivideM()},
           {"stages", schedule.getStages()}}};
}

const GemmUnitRoom fusec::residentUnit = {"gemm_resident.h", estimate,
                                          getLaunch, getCall};
