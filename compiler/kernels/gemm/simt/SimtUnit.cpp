// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block a tile, by FMA.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/TiledEstimate.h"
#include "compiler/kernels/gemm/simt/device/gemm_simt_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

namespace {
struct Tile {
  int64_t m, n, k, threadM, threadN;
};
} // namespace

// Largest first.
static constexpr Tile tiles[] = {{128, 128, 16, 8, 8},
                                 {128, 64, 16, 8, 4},
                                 {64, 64, 16, 4, 4},
                                 {32, 32, 16, 2, 2}};
// Behind the others where rows are reduced: wide ones of fewer rows.
static constexpr Tile rowTiles[] = {
    {32, 256, 16, 4, 8}, {32, 128, 16, 4, 4}, {32, 64, 16, 4, 4}};

/// Buffers of a block: one is read while the other is filled.
static constexpr int64_t buffers = 2;

static BlockShape getBlock(SimtScheduleAttr schedule, int64_t accumulators,
                           int64_t element) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN();
  // 16 bits are widened as they are stored in shared memory.
  return {m / schedule.getThreadM() * (n / schedule.getThreadN()),
          simtSharedBytes(m, n, schedule.getTileK(), accumulators,
                          std::max<int64_t>(element, 4))};
}

static void addTiles(const GemmProblem &problem, const GemmSizes &sizes,
                     ArrayRef<Tile> tiles, SmallVectorImpl<Candidate> &to) {
  int64_t words = std::max<int64_t>(problem.element, 4) / 4;
  for (const Tile &tile : tiles) {
    auto schedule = SimtScheduleAttr::get(problem.context, tile.m, tile.n,
                                          tile.k, tile.threadM, tile.threadN);
    bool fits =
        getBlock(schedule, problem.accumulators, problem.element).sharedBytes <=
            problem.target.sharedBytes &&
        tile.threadM * tile.threadN * problem.accumulators * words <=
            maxThreadAccumulators;
    // The smallest is there for every target and number of accumulators.
    bool isNeeded =
        &tile == &tiles.back() && problem.iteration.reductions.empty();
    if ((fits || isNeeded) && problem.holdsRows(tile.n))
      problem.add(schedule, sizes, to);
  }
}

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  if (problem.tensorCores)
    return;
  addTiles(problem, sizes, tiles, to);
  if (!problem.iteration.reductions.empty())
    addTiles(problem, sizes, rowTiles, to);
}

static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr attribute) {
  auto schedule = cast<SimtScheduleAttr>(attribute);
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN();
  BlockShape block = getBlock(schedule, sizes.accumulators, sizes.element);
  double threads = block.threads,
         sums = double(tileM * tileN) * sizes.accumulators / threads;
  TileRun run(target, sizes,
              {tileM, tileN, schedule.getTileK(), buffers, 1, 1, block,
               sums + target.simt.registers},
              target.multiprocessors);
  double peak = target.rates.fma;
  if (sizes.element == 8)
    peak /= target.rates.fp64Part;
  double reached =
      getReached(target.simt.reached,
                 double(schedule.getThreadM() * schedule.getThreadN()));
  Overlap time =
      run.overlap(TimeBound::Arithmetic, run.getProductClocks(peak * reached));
  double rounds = std::ceil(run.perUnit / run.together);
  time.exposeClocks(rounds * run.area / threads * target.simt.storedClocks);
  exposeReductions(time, target, sizes, rounds,
                   run.area / sizes.accumulators / threads,
                   target.tile.reductionCodeClocks);
  return time.get();
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<SimtScheduleAttr>(at.schedule);
  return {"fusec::SimtConfig",
          "fusec::gemmSimt<Config>",
          {{"tileM", schedule.getTileM()},
           {"tileN", schedule.getTileN()},
           {"tileK", schedule.getTileK()},
           {"threadM", schedule.getThreadM()},
           {"threadN", schedule.getThreadN()}}};
}

const GemmUnit fusec::simtUnit = {TypeID::get<SimtScheduleAttr>(),
                                  "gemm_simt.h",
                                  addCandidates,
                                  estimate,
                                  getTileLaunch<SimtScheduleAttr, getBlock>,
                                  getCall};
