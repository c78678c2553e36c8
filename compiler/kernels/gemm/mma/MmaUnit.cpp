// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block a tile, by the tensor cores' mma.sync; of fp32 also by three products
// of tf32.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/TiledEstimate.h"
#include "compiler/kernels/gemm/mma/device/gemm_mma_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

namespace {
struct Tile {
  int64_t m, n, k, warpsM, warpsN, stages;
  /// Whether copies of single elements leave enough registers.
  bool anyAlignment = false;
};
} // namespace

// Largest first; compiler/device/README.md lists what each reaches.
static constexpr Tile tiles[] = {
    {128, 256, 64, 2, 4, 3},    {128, 128, 64, 2, 4, 3},
    {128, 64, 64, 4, 2, 3},     {32, 64, 64, 1, 4, 4},
    {16, 128, 64, 1, 4, 4},     {64, 64, 64, 2, 2, 3, true},
    {32, 32, 64, 2, 2, 4, true}};
static constexpr Tile tf32Tiles[] = {
    // half as many elements a row of shared memory
    {128, 128, 32, 2, 4, 3},
    {128, 64, 32, 4, 2, 3},
    {64, 64, 32, 2, 2, 3, true},
    {32, 32, 32, 2, 2, 4, true}};
// What a thread holds allows 16 warps.
static constexpr Tile tf32x3Tiles[] = {{128, 128, 32, 4, 4, 3},
                                       {128, 128, 32, 2, 4, 3},
                                       {128, 64, 32, 4, 2, 3},
                                       {64, 64, 32, 2, 2, 3, true},
                                       {32, 32, 32, 2, 2, 4, true}};

// Behind the others where rows are reduced: wide ones of fewer rows. The last
// of a width are for any alignment and two accumulators.
static constexpr Tile rowTiles[] = {{64, 256, 64, 2, 4, 2},
                                    {64, 128, 64, 2, 4, 3},
                                    {16, 256, 64, 1, 8, 2, true},
                                    {16, 128, 64, 1, 8, 2, true},
                                    {16, 64, 64, 1, 4, 4, true}};
static constexpr Tile tf32RowTiles[] = {{64, 256, 32, 2, 4, 2},
                                        {64, 128, 32, 2, 4, 3},
                                        {16, 256, 32, 1, 8, 2, true},
                                        {16, 128, 32, 1, 8, 2, true},
                                        {16, 64, 32, 1, 4, 4, true}};
static constexpr Tile tf32x3RowTiles[] = {{64, 128, 32, 2, 4, 3},
                                          {16, 256, 32, 1, 16, 2, true},
                                          {16, 128, 32, 1, 8, 3, true},
                                          {16, 64, 32, 1, 4, 4, true}};

/// Accumulator registers of tf32x3, whose split factors and sums of a step need
/// as many again: of a thread, and of all threads of a block.
static constexpr int64_t maxTf32x3Accumulators = 64,
                         maxBlockTf32x3Accumulators = 16384;

static BlockShape getBlock(MmaScheduleAttr schedule, int64_t accumulators,
                           int64_t element) {
  int64_t warpsM = schedule.getWarpsM(), warpsN = schedule.getWarpsN();
  return {32 * warpsM * warpsN,
          mmaSharedBytes(schedule.getTileM(), schedule.getTileN(),
                         schedule.getTileK(), warpsM, warpsN,
                         schedule.getStages(), accumulators, element)};
}

static bool fits(const GemmProblem &problem, const GemmSizes &sizes,
                 const Tile &tile, MmaScheduleAttr schedule) {
  BlockShape block = getBlock(schedule, problem.accumulators, problem.element);
  int64_t registers = tile.m * tile.n / block.threads * problem.accumulators;
  if (block.sharedBytes > problem.target.sharedBytes ||
      registers > maxThreadAccumulators ||
      !(sizes.wideCopies || tile.anyAlignment))
    return false;
  if (schedule.getTf32x3() &&
      (registers > maxTf32x3Accumulators ||
       tile.m * tile.n * problem.accumulators > maxBlockTf32x3Accumulators))
    return false;
  // Floats whose rows lie along M are read 32 at a time.
  return problem.element != 4 || tile.m >= 32 ||
         llvm::all_of(problem.iteration.lhs,
                      [](auto &a) { return a.isAlongK(); });
}

static void addTiles(const GemmProblem &problem, const GemmSizes &sizes,
                     ArrayRef<Tile> tiles, bool tf32x3,
                     SmallVectorImpl<Candidate> &to) {
  for (const Tile &tile : tiles) {
    auto schedule =
        MmaScheduleAttr::get(problem.context, tile.m, tile.n, tile.k,
                             tile.warpsM, tile.warpsN, tile.stages, tf32x3);
    // Where there is no FMA, the smallest is there for every target and number
    // of accumulators.
    bool isNeeded = &tile == &tiles.back() && !tf32x3 &&
                    problem.iteration.reductions.empty();
    if ((isNeeded || fits(problem, sizes, tile, schedule)) &&
        problem.holdsRows(tile.n))
      problem.add(schedule, sizes, to);
  }
}

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  auto addBoth = [&](ArrayRef<Tile> tiles, ArrayRef<Tile> rowTiles,
                     bool tf32x3 = false) {
    addTiles(problem, sizes, tiles, tf32x3, to);
    if (!problem.iteration.reductions.empty())
      addTiles(problem, sizes, rowTiles, tf32x3, to);
  };
  if (problem.usesTf32x3(sizes))
    addBoth(tf32x3Tiles, tf32x3RowTiles, /*tf32x3=*/true);
  if (problem.tensorCores && problem.element == 4)
    addBoth(tf32Tiles, tf32RowTiles);
  else if (problem.tensorCores)
    addBoth(tiles, rowTiles);
}

static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr attribute) {
  auto schedule = cast<MmaScheduleAttr>(attribute);
  bool tf32x3 = schedule.getTf32x3();
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN();
  BlockShape block = getBlock(schedule, sizes.accumulators, sizes.element);
  double threads = block.threads,
         sums = double(tileM * tileN) * sizes.accumulators / threads;
  double registers =
      tf32x3 ? target.tf32x3.sumRegisters * sums + target.tf32x3.registers
             : sums + target.mma.registers;
  TileRun run(target, sizes,
              {tileM, tileN, schedule.getTileK(), schedule.getStages(), 1, 1,
               block, registers},
              target.multiprocessors);
  double peak = target.rates.tensor;
  if (sizes.element == 4)
    peak /= tf32x3 ? 6 : 2;
  ArrayRef<Reached> reached = target.mma.reached;
  if (tf32x3)
    reached = target.tf32x3.reached;
  else if (sizes.element == 4)
    reached = target.mma.reachedTf32;
  double products = run.getProductClocks(peak * getReached(reached, run.area));
  // Copies of single elements take more instructions than the products.
  if (!tf32x3 && !sizes.wideCopies)
    products *= target.mma.narrowCopies;
  // Splits and loads hide only behind other warps.
  if (tf32x3)
    products *= 1 + target.tf32x3.exposed *
                        std::max(0.0, std::log2(target.tf32x3.threads /
                                                (run.together * threads)));
  Overlap time = run.overlap(TimeBound::Tensor, products);
  double rounds = std::ceil(run.perUnit / run.together);
  // Instructions an element, of blocks that share the issue slots; what splits
  // factors has few blocks and stores as FMA does.
  if (tf32x3)
    time.exposeClocks(rounds * run.area / threads * target.simt.storedClocks);
  else
    time.exposeClocks(run.perUnit * run.area / sizes.accumulators *
                      target.mma.storedInstructions /
                      target.rates.issuedThreads);
  exposeReductions(time, target, sizes, rounds,
                   run.area / sizes.accumulators / threads,
                   target.tile.reductionCodeClocks);
  return time.get();
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<MmaScheduleAttr>(at.schedule);
  return {schedule.getTf32x3() ? "fusec::Tf32x3Config" : "fusec::MmaConfig",
          "fusec::gemmMma<Config>",
          {{"tileM", schedule.getTileM()},
           {"tileN", schedule.getTileN()},
           {"tileK", schedule.getTileK()},
           {"warpsM", schedule.getWarpsM()},
           {"warpsN", schedule.getWarpsN()},
           {"stages", schedule.getStages()}}};
}

const GemmUnit fusec::mmaUnit = {TypeID::get<MmaScheduleAttr>(),
                                 "gemm_mma.h",
                                 addCandidates,
                                 estimate,
                                 getTileLaunch<MmaScheduleAttr, getBlock>,
                                 getCall,
                                 /*chooseCopies=*/nullptr,
                                 /*chooseMaps=*/nullptr,
                                 /*prefetches=*/false,
                                 /*makes=*/true};
