// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block a tile: FMA (simt), and the tensor cores by mma.sync, of fp32 also by
// three products of tf32.

#include "compiler/kernels/gemm/GemmTiles.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Accumulator registers of tf32x3, whose split factors and sums of a step need
/// as many again: of a thread, and of all threads of a block.
static constexpr int64_t maxTf32x3Accumulators = 64,
                         maxBlockTf32x3Accumulators = 16384;

BlockShape fusec::getTileBlock(GemmScheduleAttr schedule, int64_t accumulators,
                               int64_t element) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN(),
          k = schedule.getTileK(), divideM = schedule.getDivideM(),
          divideN = schedule.getDivideN();
  // Plain FMA widens 16 bits as it stores them in shared memory.
  if (schedule.getUnit() == GemmUnit::Simt)
    return {
        m / divideM * (n / divideN),
        simtSharedBytes(m, n, k, accumulators, std::max<int64_t>(element, 4))};
  return {32 * divideM * divideN,
          mmaSharedBytes(m, n, k, divideM, divideN, schedule.getStages(),
                         accumulators, element)};
}

static int64_t getThreadAccumulators(GemmUnit unit, const GemmTile &tile) {
  return unit != GemmUnit::Simt
             ? tile.m * tile.n / (32 * tile.divideM * tile.divideN)
             : tile.divideM * tile.divideN;
}

static void addTilesOf(const GemmProblem &problem, GemmUnit unit,
                       ArrayRef<GemmTile> tiles, const GemmSizes &sizes,
                       bool aligned, SmallVectorImpl<Candidate> &to) {
  // Of an accumulator.
  int64_t bytes = std::max<int64_t>(problem.element, 4);
  for (const GemmTile &tile : tiles) {
    auto schedule =
        GemmScheduleAttr::get(problem.context, unit, tile.m, tile.n, tile.k,
                              tile.divideM, tile.divideN, tile.stages);
    int64_t shared =
        getTileBlock(schedule, problem.accumulators, problem.element)
            .sharedBytes;
    int64_t registers =
        getThreadAccumulators(unit, tile) * problem.accumulators * (bytes / 4);
    bool fits = shared <= problem.target.sharedBytes &&
                registers <= maxThreadAccumulators &&
                (aligned || tile.anyAlignment || unit == GemmUnit::Simt);
    // Floats whose rows lie along M are read 32 at a time.
    if (unit != GemmUnit::Simt && problem.element == 4 && tile.m < 32)
      fits &= llvm::all_of(problem.iteration.lhs,
                           [](auto &a) { return a.isAlongK(); });
    if (unit == GemmUnit::Tf32x3)
      fits &=
          registers <= maxTf32x3Accumulators &&
          tile.m * tile.n * problem.accumulators <= maxBlockTf32x3Accumulators;
    // The smallest is there for every target and number of accumulators.
    bool isSmallest =
        unit != GemmUnit::Tf32x3 && problem.iteration.reductions.empty();
    if (fits || (&tile == &tiles.back() && isSmallest))
      problem.add(schedule, sizes, to);
  }
}

void fusec::addTiles(const GemmProblem &problem, const GemmSizes &sizes,
                     bool aligned, SmallVectorImpl<Candidate> &to) {
  auto addBoth = [&](GemmUnit unit, ArrayRef<GemmTile> rowTiles,
                     ArrayRef<GemmTile> tiles) {
    addTilesOf(problem, unit, tiles, sizes, aligned, to);
    if (!problem.iteration.reductions.empty())
      addTilesOf(problem, unit, rowTiles, sizes, aligned, to);
  };
  if (problem.usesTf32x3(sizes))
    addBoth(GemmUnit::Tf32x3, tf32x3RowTiles, tf32x3Tiles);
  if (!problem.tensorCores)
    addBoth(GemmUnit::Simt, simtRowTiles, simtTiles);
  else if (problem.element == 4)
    addBoth(GemmUnit::Mma, mmaRowTiles32, mmaTiles32);
  else
    addBoth(GemmUnit::Mma, mmaRowTiles, mmaTiles);
}

static LaunchAttr getLaunch(const UnitStep &at) {
  BlockShape block = getTileBlock(at.schedule, at.accumulators, at.element);
  return LaunchAttr::get(
      at.countTiles(at.schedule.getTileM(), at.schedule.getTileN()),
      block.threads, block.sharedBytes);
}

static UnitCall getSimtCall(const UnitStep &at) {
  GemmScheduleAttr schedule = at.schedule;
  return {"fusec::SimtConfig",
          "fusec::gemmSimt<Config>",
          {{"tileM", schedule.getTileM()},
           {"tileN", schedule.getTileN()},
           {"tileK", schedule.getTileK()},
           {"threadM", schedule.getDivideM()},
           {"threadN", schedule.getDivideN()}}};
}

static UnitCall getMmaCall(const UnitStep &at) {
  GemmScheduleAttr schedule = at.schedule;
  return {schedule.splitsFactors() ? "fusec::Tf32x3Config" : "fusec::MmaConfig",
          "fusec::gemmMma<Config>",
          {{"tileM", schedule.getTileM()},
           {"tileN", schedule.getTileN()},
           {"tileK", schedule.getTileK()},
           {"warpsM", schedule.getDivideM()},
           {"warpsN", schedule.getDivideN()},
           {"stages", schedule.getStages()}}};
}

const GemmUnitRoom fusec::simtUnit = {"gemm_simt.h", estimateTiled, getLaunch,
                                      getSimtCall};
const GemmUnitRoom fusec::mmaUnit = {"gemm_mma.h", estimateTiled, getLaunch,
                                     getMmaCall};
