// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, and others of what they give along an inner axis, become one step
// where a block finds whole rows of their results.

#include "compiler/Passes.h"
#include "compiler/analysis/NestedIteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_NESTREDUCTIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// They save a launch and a trip to memory. Two kernels are said to take 10 to
/// 30% less than they do, one is said to take what it does.
static constexpr JoinTolerance nestTolerance = {1.1, /*overlaps=*/true};

static std::string checkNested(StepOp joined) {
  return succeeded(analyzeNested(joined))
             ? ""
             : "no row of results lies side by side where a block finds it";
}

namespace {
struct NestReductions : fusec::impl::NestReductionsBase<NestReductions> {
  using NestReductionsBase::NestReductionsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PairJoiner joiner(plan, *target, {},
                      {remarks::nestReductions, Family::Reduce, nestTolerance,
                       nameReduced, checkNested, "no kernel has such rows",
                       always});
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>())) {
      if (step.getFamily() != Family::Reduce)
        continue;
      SmallVector<StepOp> producers = joiner.getProducers(step);
      llvm::erase_if(producers, [](StepOp producer) {
        return producer.getFamily() != Family::Reduce;
      });
      joiner.join(producers, step);
    }
  }
};
} // namespace
