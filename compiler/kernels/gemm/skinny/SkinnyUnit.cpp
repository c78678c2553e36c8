// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows: tensor cores under a stream of weights, K split over a cluster.

#include "compiler/kernels/gemm/skinny/device/gemm_skinny_config.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Rows up to which the weights' bytes bound a product.
static constexpr int64_t skinnyMaxRows = 128;

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
  // Two blocks a multiprocessor read weights fastest; many tokens leave room
  // for one, and split factors need the whole ring where there is but one.
  int64_t grid = skinnyGrid(sizes.m, sizes.n, 1, tokens, blocks, cluster);
  bool isSpread = grid <= int64_t(problem.target.multiprocessors);
  int64_t together =
      tokens >= 48 && (!problem.mayUseTf32x3 || isSpread) ? 1 : 2;
  int64_t stages = skinnyStages(tokens, blocks, cluster, problem.accumulators,
                                together, problem.mayUseTf32x3);
  if (isSkinnyLegal(tokens, blocks, stages, cluster, problem.accumulators,
                    weightsAlongK, problem.element, problem.mayUseTf32x3))
    problem.add(
        GemmScheduleAttr::get(
            problem.context,
            problem.mayUseTf32x3 ? GemmUnit::SkinnyTf32x3 : GemmUnit::Skinny,
            tokens, 64 * blocks, wgmmaRowBytes / problem.element, together, 0,
            stages, cluster, 1, 0),
        sizes, to);
}

void fusec::addSkinny(const GemmProblem &problem, const GemmSizes &sizes,
                      SmallVectorImpl<Candidate> &to) {
  // Sums that reduce rows are not those that FMA would replace.
  if (sizes.m > skinnyMaxRows ||
      (problem.mayUseTf32x3 && !problem.iteration.reductions.empty()) ||
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
                         GemmScheduleAttr schedule) {
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
                     (tiles * schedule.getClusterM() * costs.ringBytes));
  // A step of a block, alone or beside another one.
  if (schedule.splitsFactors()) {
    double steps = 0;
    for (int64_t k : sizes.k)
      steps += std::ceil(k / double(schedule.getTileK()));
    double perUnit = tiles * schedule.getClusterM() / target.multiprocessors;
    double clocks =
        perUnit > 1
            ? costs.besideClocks + costs.besideTokenClocks * tokens
            : std::max(costs.aloneLeastClocks,
                       costs.aloneClocks + costs.aloneTokenClocks * tokens);
    time.addClocks(TimeBound::Tensor, steps / schedule.getClusterM() *
                                          std::ceil(perUnit) * clocks);
  }
  exposeReductions(time, target, sizes, 1,
                   tokens * schedule.getTileN() / schedule.getClusterM() / 128,
                   costs.reductionCodeClocks);
  // Each block starts, fills its ring and sends its sums to its cluster.
  double beside =
      target.multiprocessors * std::max<int64_t>(schedule.getDivideM(), 1);
  double waves = std::ceil(tiles * schedule.getClusterM() / beside);
  time.expose(costs.startMicros * waves);
  if (schedule.getClusterM() > 1)
    time.exposeClocks(waves * tokens * schedule.getTileN() *
                      sizes.accumulators * costs.sentClocks);
  // What one without another beside it hides nothing of.
  if (schedule.getDivideM() <= 1)
    time.expose(costs.aloneMicros *
                (schedule.getClusterM() > 2 ? waves : waves - 1));
  return time.get();
}

static LaunchAttr getLaunch(const UnitStep &at) {
  int64_t tileM = at.schedule.getTileM(), tileN = at.schedule.getTileN(),
          cluster = at.schedule.getClusterM();
  bool splits = at.schedule.splitsFactors();
  int64_t shared = skinnySharedBytes(tileM, tileN / 64, at.schedule.getStages(),
                                     cluster, at.accumulators, splits);
  return LaunchAttr::get(at.countTiles(tileM, tileN) * cluster,
                         skinnyThreads(tileM, splits), shared, cluster)
      .withResident(std::max<int64_t>(at.schedule.getDivideM(), 1));
}

static UnitCall getCall(const UnitStep &at) {
  GemmScheduleAttr schedule = at.schedule;
  return {schedule.splitsFactors() ? "fusec::SkinnyTf32x3Config"
                                   : "fusec::SkinnyConfig",
          "fusec::gemmSkinny<Config>",
          {{"tokens", schedule.getTileM()},
           {"blocks", schedule.getTileN() / 64},
           {"tileK", schedule.getTileK()},
           {"stages", schedule.getStages()},
           {"cluster", schedule.getClusterM()}},
          {{"early", at.variant.getLaunch().getPrefetches()}}};
}

const GemmUnitRoom fusec::skinnyUnit = {"gemm_skinny.h", estimate, getLaunch,
                                        getCall};
