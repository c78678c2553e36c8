// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows: tensor cores under a stream of weights, K split over a cluster.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/TiledEstimate.h"
#include "compiler/kernels/gemm/skinny/device/gemm_skinny_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Rows up to which the weights' bytes bound a product.
static constexpr int64_t skinnyMaxRows = 128;

/// Of a tile of K what weights are made of takes so many bytes a row.
static int64_t getSourceBytes(const MatmulIteration &iteration) {
  Type stored = getElementType(iteration.rhs[0][0].value),
       multiplied = getElementType(ContractionOp(iteration.root).getLhs()[0]);
  return wgmmaRowBytes * getElementBytes(stored) / getElementBytes(multiplied);
}

static SkinnyStage getStage(const MatmulIteration &iteration,
                            bool splitsFactors) {
  return iteration.made ? skinnyMadeStage(getSourceBytes(iteration))
                        : SkinnyStage{splitsFactors};
}

/// Weights are what may be made, of whole steps along K: boxes of a shorter one
/// are narrower.
static bool canMake(const MatmulIteration &iteration) {
  if (!iteration.made)
    return true;
  Expr k = iteration.k[0];
  return iteration.isRhsMade && k.isConstant() &&
         wgmmaKBytes(k.getValue() * 2) == wgmmaRowBytes;
}

static void addTokens(const GemmProblem &problem, const GemmSizes &sizes,
                      int64_t tokens, SmallVectorImpl<Candidate> &to) {
  bool weightsAlongK = llvm::all_of(problem.iteration.rhs,
                                    [](auto &b) { return b[0].isAlongK(); });
  // One block of columns a tile, unless rows are reduced, which takes as many
  // as a row has.
  int64_t blocks = problem.iteration.reductions.empty() || sizes.n <= 64 ? 1
                   : sizes.n <= 128                                      ? 2
                                                                         : 4;
  int64_t cluster =
      skinnyCluster(sizes.n, blocks, problem.target.multiprocessors);
  // Eight blocks have a step or two each of weights that are half as large, and
  // send as many sums: 64 x 1024 x 1024 of bytes takes 10.0 us on an H200, 7.2
  // with four.
  if (sizes.made && tokens >= 48)
    cluster = std::min<int64_t>(cluster, 4);
  // Two blocks a multiprocessor read weights fastest; many tokens leave room
  // for one, and split factors need the whole ring where there is but one.
  int64_t grid = skinnyGrid(sizes.m, sizes.n, 1, tokens, blocks, cluster);
  bool isSpread = grid <= int64_t(problem.target.multiprocessors);
  int64_t together =
      tokens >= 48 && (!problem.mayUseTf32x3 || isSpread) ? 1 : 2;
  SkinnyStage stage = getStage(problem.iteration, problem.mayUseTf32x3);
  int64_t stages = skinnyStages(tokens, blocks, cluster, problem.accumulators,
                                together, stage);
  if (problem.holdsRows(64 * blocks) && (blocks == 1 || !sizes.made) &&
      isSkinnyLegal(tokens, blocks, stages, cluster, problem.accumulators,
                    weightsAlongK, problem.element, stage))
    problem.add(SkinnyScheduleAttr::get(
                    problem.context, tokens, 64 * blocks,
                    stage.depth * wgmmaRowBytes / problem.element, stages,
                    cluster, together, problem.mayUseTf32x3),
                sizes, to);
}

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  // Sums that reduce rows are not those that FMA would replace.
  if (!problem.usesWgmma(sizes) || sizes.m > skinnyMaxRows ||
      (problem.mayUseTf32x3 && !problem.iteration.reductions.empty()) ||
      !canMake(problem.iteration) ||
      !llvm::all_of(problem.iteration.lhs,
                    [](auto &a) { return a.isAlongK(); }))
    return;
  // Where their number is only named, tiles for more of them, too, so that
  // sizes can share one.
  int64_t fewest = skinnyTokens(sizes.m),
          most = problem.iteration.m.isConstant() ? fewest
                                                  : skinnyTokens(skinnyMaxRows);
  for (int64_t tokens = fewest; tokens <= most; tokens += 8)
    addTokens(problem, sizes, tokens, to);
}

/// Reading the weights, and the rows of A again for every 64 columns.
static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr attribute) {
  auto schedule = cast<SkinnyScheduleAttr>(attribute);
  const SkinnyCosts &costs = target.skinny;
  Overlap time(target);
  double tokens = schedule.getTileM();
  double rounds = std::ceil(sizes.m / tokens);
  time.add(TimeBound::Memory,
           sizes.bytes * rounds / (target.rates.memory * 1e3) *
               (costs.memory + tokens / 64 * costs.memoryTokens));
  double tiles =
      rounds * std::ceil(double(sizes.n) / schedule.getTileN()) * sizes.batch;
  time.addClocks(TimeBound::Latency,
                 sizes.bytes /
                     (tiles * schedule.getClusterK() * costs.ringBytes));
  // A step of a block, alone or beside another one.
  if (schedule.getTf32x3()) {
    double steps = 0;
    for (int64_t k : sizes.k)
      steps += std::ceil(k / double(schedule.getTileK()));
    double perUnit = tiles * schedule.getClusterK() / target.multiprocessors;
    double clocks =
        perUnit > 1
            ? costs.besideClocks + costs.besideTokenClocks * tokens
            : std::max(costs.aloneLeastClocks,
                       costs.aloneClocks + costs.aloneTokenClocks * tokens);
    time.addClocks(TimeBound::Tensor, steps / schedule.getClusterK() *
                                          std::ceil(perUnit) * clocks);
  }
  if (sizes.made) {
    time.exposeClocks(target.made.start);
    time.addClocks(
        TimeBound::Arithmetic,
        rounds * sizes.n * sizes.k[0] * sizes.batch *
            countInstructions(target.made, *sizes.made) /
            (double(target.multiprocessors) * target.rates.issuedThreads));
  }
  exposeReductions(time, target, sizes, 1,
                   tokens * schedule.getTileN() / schedule.getClusterK() / 128,
                   costs.reductionCodeClocks);
  // Each block starts, fills its ring and sends its sums to its cluster.
  double beside = target.multiprocessors * schedule.getResident();
  double waves = std::ceil(tiles * schedule.getClusterK() / beside);
  time.expose(costs.startMicros * waves);
  if (schedule.getClusterK() > 1)
    time.exposeClocks(waves * tokens * schedule.getTileN() *
                      sizes.accumulators * costs.sentClocks);
  // What one without another beside it hides nothing of.
  if (schedule.getResident() <= 1)
    time.expose(costs.aloneMicros *
                (schedule.getClusterK() > 2 ? waves : waves - 1));
  return time.get();
}

static LaunchAttr getLaunch(const UnitStep &at) {
  auto schedule = cast<SkinnyScheduleAttr>(at.schedule);
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN(),
          cluster = schedule.getClusterK();
  bool splits = schedule.getTf32x3();
  int64_t shared =
      skinnySharedBytes(tileM, tileN / 64, schedule.getStages(), cluster,
                        at.accumulators, getStage(at.iteration, splits));
  return LaunchAttr::get(at.countTiles(tileM, tileN) * cluster,
                         skinnyThreads(tileM, splits), shared, cluster)
      .withResident(schedule.getResident());
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<SkinnyScheduleAttr>(at.schedule);
  UnitCall call = {at.iteration.made      ? "fusec::SkinnyMadeConfig"
                   : schedule.getTf32x3() ? "fusec::SkinnyTf32x3Config"
                                          : "fusec::SkinnyConfig",
                   "fusec::gemmSkinny<Config>",
                   {{"tokens", schedule.getTileM()},
                    {"blocks", schedule.getTileN() / 64},
                    {"tileK", schedule.getTileK()},
                    {"stages", schedule.getStages()},
                    {"cluster", schedule.getClusterK()}},
                   {{"early", at.variant.getLaunch().getPrefetches()}}};
  if (at.iteration.made)
    call.numbers.push_back({"sourceBytes", getSourceBytes(at.iteration)});
  return call;
}

static SmallVector<Attribute> chooseCopies(const UnitStep &at) {
  auto schedule = cast<SkinnyScheduleAttr>(at.schedule);
  SmallVector<Attribute> copies;
  for (size_t i = 0; i != at.iteration.k.size(); ++i) {
    copies.push_back(at.getCopy(schedule.getTileM(), wgmmaRowBytes));
    copies.push_back(
        at.iteration.made
            ? at.getSourceCopy(schedule.getTileN(),
                               getStage(at.iteration, false).weightBytes)
            : at.getCopy(schedule.getTileN(), wgmmaRowBytes));
  }
  return copies;
}

const GemmUnit fusec::skinnyUnit = {TypeID::get<SkinnyScheduleAttr>(),
                                    "gemm_skinny.h",
                                    addCandidates,
                                    estimate,
                                    getLaunch,
                                    getCall,
                                    chooseCopies,
                                    /*chooseMaps=*/nullptr,
                                    /*prefetches=*/true,
                                    /*makes=*/true};
