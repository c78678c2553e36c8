// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector kernels: one side of the product is so narrow that all of it is kept.

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/gemv/device/gemv_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Sides up to which the vector kernels keep all of the narrow operand.
static constexpr int64_t narrowest = 8;

static bool isWideAlongK(const GemmProblem &problem, bool narrowN) {
  const MatrixAccess &wide =
      narrowN ? problem.iteration.lhs[0] : problem.iteration.rhs[0][0];
  return wide.liesAlongK(problem.iteration.k[0]);
}

static void addCandidates(const GemmProblem &problem, const GemmSizes &sizes,
                          SmallVectorImpl<Candidate> &to) {
  auto rounded = [](int64_t size) {
    return size <= 1 ? 1 : size <= 2 ? 2 : size <= 4 ? 4 : 8;
  };
  // A kernel's narrow side is at most what it was built for, so that a side
  // that is only named has no such kernel without a guard.
  for (bool narrowN : {true, false}) {
    Expr side = narrowN ? problem.iteration.n : problem.iteration.m;
    if (!side.isConstant() || side.getValue() > narrowest)
      continue;
    GemmSizes own = sizes;
    own.wideAlongK = isWideAlongK(problem, narrowN);
    int64_t width = rounded(side.getValue());
    if (problem.holdsRows(narrowN ? width : 0))
      problem.add(GemvScheduleAttr::get(problem.context,
                                        narrowN ? NarrowSide::N : NarrowSide::M,
                                        width, /*threads=*/128),
                  own, to);
  }
}

static Estimate estimate(const Target &target, const GemmSizes &sizes,
                         GemmScheduleAttr attribute) {
  auto schedule = cast<GemvScheduleAttr>(attribute);
  const GemvCosts &costs = target.gemv;
  Overlap time(target);
  double latency = costs.stepLatency * target.rates.memoryLatency;
  bool narrowN = schedule.getNarrow() == NarrowSide::N;
  double outers = double(narrowN ? sizes.m : sizes.n) * sizes.batch;
  double narrow = narrowN ? sizes.n : sizes.m, k = 0;
  for (int64_t segment : sizes.k)
    k += segment;
  // A warp that goes along K waits for each of its steps.
  time.exposeClocks(target.rates.memoryLatency);
  if (sizes.wideAlongK)
    time.exposeClocks(std::ceil(k * sizes.element / 512) * latency);
  time.add(TimeBound::Memory,
           sizes.bytes /
               (target.rates.memory * 1e3 *
                (sizes.wideAlongK ? costs.alongPart : costs.acrossPart)));
  double warps = schedule.getThreads() / 32;
  // Along K a warp takes one outer index, its lanes 16 bytes each; across, 64
  // outer indices a block and the warps split K.
  double steps =
      sizes.wideAlongK
          ? std::ceil(k * sizes.element / 512) *
                std::ceil(outers /
                          (target.multiprocessors * costs.residentWarps))
          : std::ceil(k / (warps * 4)) *
                std::ceil(outers / 64 /
                          (target.multiprocessors * costs.residentBlocks));
  time.addClocks(TimeBound::Latency, steps * latency);
  time.addClocks(
      TimeBound::Arithmetic,
      sizes.wideAlongK
          ? outers * k * sizes.accumulators *
                (costs.weightInstructions + costs.narrowInstructions * narrow) /
                (target.rates.issuedThreads * target.multiprocessors)
          : 2 * outers * narrow * k * sizes.accumulators /
                (target.rates.fma * costs.fmaPart * target.multiprocessors));
  return time.get();
}

static LaunchAttr getLaunch(const UnitStep &at) {
  auto schedule = cast<GemvScheduleAttr>(at.schedule);
  bool narrowN = schedule.getNarrow() == NarrowSide::N;
  int64_t threads = schedule.getThreads();
  const MatrixAccess &wide =
      narrowN ? at.iteration.lhs[0] : at.iteration.rhs[0][0];
  bool alongK = wide.liesAlongK(at.iteration.k[0]);
  Expr outers = narrowN ? at.iteration.m : at.iteration.n;
  return LaunchAttr::get(
      outers.ceilDiv(at.number(gemvOuters(alongK, threads))) *
          getElementCount(at.iteration.batchSizes, at.variant.getContext()),
      threads);
}

static UnitCall getCall(const UnitStep &at) {
  auto schedule = cast<GemvScheduleAttr>(at.schedule);
  bool narrowN = schedule.getNarrow() == NarrowSide::N;
  return {"fusec::GemvConfig",
          narrowN ? "fusec::gemv<Config, fusec::Narrow::N>"
                  : "fusec::gemv<Config, fusec::Narrow::M>",
          {{"small", schedule.getWidth()}, {"threads", schedule.getThreads()}}};
}

const GemmUnit fusec::gemvUnit = {TypeID::get<GemvScheduleAttr>(),
                                  "gemv.h",
                                  addCandidates,
                                  estimate,
                                  getLaunch,
                                  getCall};
