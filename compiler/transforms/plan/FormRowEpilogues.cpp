// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul steps and the reductions over their rows become one step, where the
// target has a kernel for every variant and its cost model says that it pays.
//
// This is no part of fusion, which runs once for all targets: a row fits a tile
// only where the target has such a tile for these types, alignments and numbers
// of accumulators, and giving up the tiles that do not hold a row may cost more
// than a launch and a trip to memory.

#include "compiler/Passes.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMROWEPILOGUES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// The last of the matmul steps whose results it reads.
static StepOp findProducer(const PairJoiner &joiner, StepOp consumer) {
  for (StepOp step : joiner.getProducers(consumer))
    if (step.getFamily() == Family::Gemm)
      return step;
  return {};
}

namespace {
struct FormRowEpilogues : fusec::impl::FormRowEpiloguesBase<FormRowEpilogues> {
  using FormRowEpiloguesBase::FormRowEpiloguesBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PairJoiner joiner(plan, *target, products,
                      {remarks::rowEpilogue, Family::Gemm, rowEpilogueTolerance,
                       nameReduced, nullptr,
                       "no tile holds the rows of the reduction", always});
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (step.getFamily() == Family::Reduce)
        if (StepOp producer = findProducer(joiner, step))
          joiner.join(producer, step);
  }
};
} // namespace
