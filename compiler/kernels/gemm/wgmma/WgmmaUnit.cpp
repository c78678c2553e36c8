// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of wgmma under a ring of copies, in persistent blocks.

#include "compiler/kernels/gemm/wgmma/WgmmaSchedules.h"

using namespace mlir;
using namespace fusec;

// Those that were fastest somewhere on a grid of shapes. Stages and the number
// of blocks follow from the target.
static constexpr WgmmaTiling tilings[] = {
    {128, 128, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 128, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 160, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 160, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 96, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 96, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 64, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 256, 0, 2, 1, WgmmaSchedule::PingPong},
    {64, 160, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 128, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 96, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 64, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 256, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 256, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 192, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 96, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 64, 0, 1, 1, WgmmaSchedule::Cooperative},
    {192, 128, 0, 1, 1, WgmmaSchedule::Cooperative}};

// Two blocks that divide a long K: tiles that are too few for the device are as
// large as those of many, and their parts meet in shared memory. In tf32 it
// takes a tenth off 2048 x 16384 x 1024; 16 bits, whose tiles of 128 x 128 are
// at the device's power limit already, lost 2 to 8% by it wherever it was
// measured.
static constexpr WgmmaTiling splitTilings[] = {
    {128, 256, 0, 1, 1, WgmmaSchedule::Cooperative, 2}};

// With an A that is made: consumers of 64 rows, whose registers have room for
// two sets of its fragments.
static constexpr WgmmaTiling madeTilings[] = {
    {128, 256, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 256, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 192, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 64, 0, 1, 1, WgmmaSchedule::Cooperative},
    {64, 128, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 64, 0, 1, 1, WgmmaSchedule::PingPong}};

// With split factors.
static constexpr WgmmaTiling tf32x3Tilings[] = {
    {128, 128, 0, 1, 1}, {128, 128, 0, 2, 1}, {128, 64, 0, 1, 1}};

/// Where all blocks run at once and read a long K in step, L2 is asked for a
/// line once by neighbours that wait for it together, most in bands of a few
/// rows of tiles; blocks of a cluster share in another way.
/// Rows that are left over would read all of B once more, by themselves: 320 x
/// 11008 x 4096, five rows of tiles of 64, took 29% more on an H200. A number
/// of rows that is only named may leave some.
static WgmmaScheduleAttr orderTiles(const GemmProblem &problem,
                                    WgmmaScheduleAttr schedule,
                                    const GemmSizes &sizes) {
  constexpr int64_t narrow = 4;
  double longK = problem.target.wgmma.bandK;
  int64_t rows = llvm::divideCeil(sizes.m, schedule.getTileM());
  int64_t tiles =
      rows * llvm::divideCeil(sizes.n, schedule.getTileN()) * sizes.batch;
  bool isLong = sizes.element == 2 &&
                llvm::any_of(sizes.k, [&](int64_t k) { return k >= longK; });
  bool isOneWave = tiles <= schedule.getBlocks();
  bool areWhole = problem.iteration.m.isConstant() &&
                  (rows <= narrow || rows % narrow == 0);
  return isLong && isOneWave && areWhole && schedule.getCluster() == 1
             ? schedule.withBand(narrow)
             : schedule;
}

static void addPlain(const GemmProblem &problem, const GemmSizes &sizes,
                     SmallVectorImpl<Candidate> &to) {
  auto add = [&](ArrayRef<WgmmaTiling> tilings) {
    for (WgmmaScheduleAttr schedule :
         getWgmmaSchedules(problem.step, problem.iteration, tilings,
                           problem.target, problem.mayUseTf32x3))
      if (problem.holdsRows(schedule.getTileN()))
        problem.add(orderTiles(problem, schedule, sizes), sizes, to);
  };
  if (sizes.made) {
    if (!sizes.made->isRhs)
      add(madeTilings);
    return;
  }
  add(problem.mayUseTf32x3 ? ArrayRef(tf32x3Tilings) : ArrayRef(tilings));
  // What shorter ones lose by it the model does not know well enough, nor what
  // ranges gain, of which a cluster would have two.
  double leastK = problem.target.wgmma.leastSplitK;
  bool isTf32 = problem.element == 4;
  bool isLong = llvm::any_of(problem.iteration.k, [&](Expr k) {
    return k.isConstant() && k.getValue() >= leastK;
  });
  bool areRanges =
      ContractionOp(problem.iteration.root).getRanges().has_value();
  if (isTf32 && isLong && !areRanges && !problem.mayUseTf32x3)
    add(splitTilings);
}

/// Tokens of a tile, which whole tiles of them fit best; all where their number
/// is only named, so that sizes can share a tile.
static SmallVector<int> getSwappedTokens(const GemmProblem &problem,
                                         int64_t m) {
  SmallVector<int> result;
  if (!problem.iteration.m.isConstant()) {
    for (int tokens = 64; tokens <= 256; tokens += 16)
      result.push_back(tokens);
    return result;
  }
  for (int64_t tiles = 1; tiles <= wgmmaStreamedRows; ++tiles) {
    int64_t tokens =
        llvm::alignTo(std::max<int64_t>(llvm::divideCeil(m, tiles), 64), 16);
    if (tokens <= 256 && !llvm::is_contained(result, tokens))
      result.push_back(tokens);
  }
  return result;
}

/// The tensor cores' rows come in blocks of 64, their columns in sixteens:
/// where a few tiles cover M, columns fit it better. Tiles of the epilogue then
/// move through tensor maps, or threads would read and write them across their
/// rows.
static void addSwapped(const GemmProblem &problem, const GemmSizes &sizes,
                       SmallVectorImpl<Candidate> &to) {
  // Few tokens are others' to multiply, unless their weights have to be made.
  bool isMade = sizes.made && sizes.made->isRhs;
  if (problem.element != 2 || problem.accumulators != 1 ||
      !problem.iteration.reductions.empty() ||
      sizes.made.has_value() != isMade || (sizes.m <= 64 && !isMade))
    return;
  MatmulIteration transposed = swapOperands(problem.iteration);
  if (!mapsTiles(problem.step, transposed))
    return;
  SmallVector<WgmmaTiling> tilings;
  for (int tokens : getSwappedTokens(problem, sizes.m)) {
    tilings.push_back({128, tokens, 0});
    if (tokens >= 112)
      tilings.push_back({192, tokens, 0});
    // Half as many weights a tile: where tiles are few, twice as many blocks
    // make them.
    if (isMade && tokens <= 128)
      tilings.push_back({64, tokens, 0, 1, 1, WgmmaSchedule::PingPong});
  }
  GemmSizes swapped = sizes;
  std::swap(swapped.m, swapped.n);
  for (WgmmaScheduleAttr schedule :
       getWgmmaSchedules(problem.step, transposed, tilings, problem.target))
    problem.add(schedule.asSwapped(), swapped, to);
}

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  if (!problem.usesWgmma(sizes))
    return;
  addPlain(problem, sizes, to);
  addSwapped(problem, sizes, to);
}

/// Whether weights of ranges of K are so many that all of L2 is theirs soon,
/// whatever leaves it first: tiles beside each other then find less of them.
static bool haveManyWeights(const UnitStep &at) {
  const MatmulIteration &iteration = at.iteration;
  if (!ContractionOp(iteration.root).getRanges())
    return false;
  double weights = 0;
  for (auto [lhs, k] : llvm::zip_equal(iteration.lhs, iteration.k))
    if (lhs.wholeK && lhs.wholeK->isConstant() && iteration.n.isConstant())
      weights += double(lhs.wholeK->getValue()) * iteration.n.getValue() *
                 at.element * at.accumulators;
  return weights > getTarget(at.step).wgmma.manyWeightBytes;
}

/// Persistent: no more blocks than the device holds at once, nor than there are
/// tiles, unless those without one lead. Where K is split, a cluster for each
/// tile.
static LaunchAttr getLaunch(const UnitStep &at) {
  auto schedule = cast<WgmmaScheduleAttr>(at.schedule);
  int64_t clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN(),
          cluster = schedule.getCluster(), tileM = schedule.getTileM(),
          tileN = schedule.getTileN();
  Expr clusters = at.number(schedule.getBlocks() / cluster);
  Expr withTiles = at.countTiles(tileM * clusterM, tileN * clusterN);
  clusters = schedule.getLead() ? clusters * Expr::min(withTiles, at.number(1))
             : schedule.getClusterK() > 1 ? withTiles
                                          : Expr::min(withTiles, clusters);
  int64_t shared =
      wgmmaSharedBytes(tileM, tileN, schedule.getStages(),
                       wgmmaStored(at.accumulators, schedule.getTf32x3()),
                       !at.maps.operands.empty(), getRowBytesA(at.iteration));
  // Weights are streamed where few tiles of tokens read them.
  auto [tokens, tokenTile, tokenCluster] =
      schedule.getSwapped() ? std::tuple(at.iteration.n, tileN, clusterN)
                            : std::tuple(at.iteration.m, tileM, clusterM);
  bool streams = tokenCluster == 1 &&
                 (!tokens.isConstant() ||
                  tokens.getValue() <= wgmmaStreamedRows * tokenTile) &&
                 !haveManyWeights(at);
  auto launch = LaunchAttr::get(clusters * cluster, wgmmaThreadsOf(tileM),
                                shared, cluster)
                    .streaming(streams);
  return schedule.getLead() ? launch.asCooperative() : launch;
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<WgmmaScheduleAttr>(at.schedule);
  LaunchAttr launch = at.variant.getLaunch();
  UnitCall call = {at.iteration.made            ? "fusec::WgmmaMadeConfig"
                   : schedule.getTf32x3()       ? "fusec::WgmmaTf32x3Config"
                   : schedule.getClusterK() > 1 ? "fusec::WgmmaSplitKConfig"
                                                : "fusec::WgmmaConfig",
                   schedule.getLead() ? "fusec::gemmWgmmaLed<Config>"
                                      : "fusec::gemmWgmma<Config>",
                   {{"tileM", schedule.getTileM()},
                    {"tileN", schedule.getTileN()},
                    {"tileK", schedule.getTileK()},
                    {"stages", schedule.getStages()},
                    {"clusterM", schedule.getClusterM()},
                    {"clusterN", schedule.getClusterN()},
                    {"band", schedule.getBand()}},
                   {{"pingPong", schedule.getPingPong()},
                    {"streamed", launch.getStreams()},
                    {"early", launch.getPrefetches()},
                    {"swapped", schedule.getSwapped()}}};
  if (at.iteration.made)
    call.numbers.push_back({"sourceBytes", getRowBytesA(at.iteration)});
  return call;
}

const GemmUnit fusec::wgmmaUnit = {TypeID::get<WgmmaScheduleAttr>(),
                                   "gemm_wgmma.h",
                                   addCandidates,
                                   estimateWgmma,
                                   getLaunch,
                                   getCall,
                                   chooseWgmmaCopies,
                                   chooseWgmmaMaps,
                                   /*prefetches=*/true,
                                   /*makes=*/true};
