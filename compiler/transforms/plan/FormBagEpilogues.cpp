// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows embedding bags, point by point or by rows, becomes part of their
// kernel, which has them in registers.
//
// This is no part of fusion, which makes one step of what follows first: a norm
// is a reduction with all that surrounds it, and joins as a whole or not.

#include "compiler/Passes.h"
#include "compiler/analysis/BagIteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMBAGEPILOGUES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// Why the bags' kernel should not compute what follows them, or nothing.
static std::string checkEpilogue(StepOp joined) {
  std::string reason;
  return succeeded(analyzeBag(joined, reason)) ? "" : reason;
}

namespace {
struct FormBagEpilogues : fusec::impl::FormBagEpiloguesBase<FormBagEpilogues> {
  using FormBagEpiloguesBase::FormBagEpiloguesBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PairJoiner joiner(plan, *target, {},
                      {remarks::bagEpilogue, Family::Bag, rowEpilogueTolerance,
                       nameReduced, checkEpilogue,
                       "the target has no kernel of such bags", always});
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>())) {
      if (step.getFamily() != Family::Reduce &&
          step.getFamily() != Family::Pointwise)
        continue;
      SmallVector<StepOp> producers = joiner.getProducers(step);
      llvm::erase_if(producers, [](StepOp producer) {
        return producer.getFamily() != Family::Bag;
      });
      joiner.join(producers, step);
    }
  }
};
} // namespace
