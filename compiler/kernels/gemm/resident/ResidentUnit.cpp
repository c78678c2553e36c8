// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that stay in shared memory while rows stream by.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/resident/device/gemm_resident_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  if (!problem.tensorCores || !problem.iteration.reductions.empty() ||
      !problem.iteration.n.isConstant() || sizes.batch != 1 || sizes.n > 256 ||
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
  problem.add(ResidentScheduleAttr::get(problem.context, tileN, consumers,
                                        stages, problem.target.multiprocessors),
              sizes, to);
}

static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr attribute) {
  auto schedule = cast<ResidentScheduleAttr>(attribute);
  const ResidentCosts &costs = target.resident;
  Overlap time(target);
  double area = double(residentRows) * schedule.getTileN() * sizes.accumulators;
  double perUnit = std::ceil(std::ceil(double(sizes.m) / residentRows) /
                             schedule.getBlocks());
  time.addClocks(TimeBound::Arithmetic, perUnit * area * costs.instructions /
                                            target.rates.issuedThreads);
  time.add(TimeBound::Memory,
           (sizes.bytes + costs.written * sizes.written) /
               (target.rates.memory * 1e3 * costs.memoryPart));
  time.expose(costs.startMicros);
  return time.get();
}

static LaunchAttr getLaunch(const UnitStep &at) {
  auto schedule = cast<ResidentScheduleAttr>(at.schedule);
  int64_t tileN = schedule.getTileN(), consumers = schedule.getConsumers(),
          blocksK = 0, staged = 0;
  for (Expr k : at.iteration.k)
    blocksK += residentBlocksK(k.getValue(), at.element);
  for (TileMapAttr result : at.maps.results)
    staged += residentStagedBytes(tileN, wgmmaRowBytes / result.getInner());
  return LaunchAttr::get(Expr::min(at.countTiles(residentRows, tileN),
                                   at.number(schedule.getBlocks())),
                         128 * (1 + consumers),
                         residentSharedBytes(tileN, at.accumulators,
                                             schedule.getStages(), consumers,
                                             staged, blocksK));
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<ResidentScheduleAttr>(at.schedule);
  return {"fusec::ResidentConfig",
          "fusec::gemmResident<Config>",
          {{"columns", at.iteration.n.getValue()},
           {"tileN", schedule.getTileN()},
           {"consumers", schedule.getConsumers()},
           {"stages", schedule.getStages()}},
          /*switches=*/{},
          /*takesFlags=*/true};
}

/// What a miss of the L2 cache fetches of rows. Beyond what is asked for it
/// gains 3% where a row of results has two lines or more and costs 3% where it
/// has one, measured on an H200.
static int64_t getRowPromotion(const MatmulIteration &iteration) {
  int64_t widest = 0;
  for (const TileStore &store : iteration.stores)
    widest = std::max<int64_t>(
        widest, getElementBytes(iteration.epilogue[store.node].type));
  return iteration.n.getValue() * widest > wgmmaRowBytes
             ? UnitStep::widestPromotion
             : 128;
}

static SmallVector<Attribute> chooseCopies(const UnitStep &at) {
  int64_t tileN = cast<ResidentScheduleAttr>(at.schedule).getTileN();
  SmallVector<Attribute> copies;
  for (size_t i = 0; i != at.iteration.k.size(); ++i) {
    copies.push_back(
        at.getCopy(residentRows, wgmmaRowBytes, getRowPromotion(at.iteration)));
    copies.push_back(at.getCopy(tileN, wgmmaRowBytes));
  }
  return copies;
}

/// Each result that can.
static EpilogueMaps chooseMaps(const UnitStep &at) {
  StepOp step = at.step;
  EpilogueMaps maps;
  for (auto [i, store] : llvm::enumerate(at.iteration.stores)) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    FailureOr<MappedMatrix> matrix = at.analyzeTile(buffer, store.access);
    if (succeeded(matrix) && matrix->alongK)
      maps.results.push_back(TileMapAttr::get(
          at.variant.getContext(), i,
          wgmmaRowBytes / getElementBytes(buffer.getElementType()),
          residentResultRows, wgmmaRowBytes));
  }
  return maps;
}

const GemmUnit fusec::residentUnit = {TypeID::get<ResidentScheduleAttr>(),
                                      "gemm_resident.h",
                                      addCandidates,
                                      estimate,
                                      getLaunch,
                                      getCall,
                                      chooseCopies,
                                      chooseMaps};
