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
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinSteps.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMROWEPILOGUES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// How much slower one kernel may be at one size: about what the cost model
/// errs by.
static constexpr double tolerance = 1.1;

/// The last of the matmul steps whose results it reads.
static StepOp findProducer(const StepJoiner &joiner, StepOp consumer) {
  for (StepOp step : joiner.getProducers(consumer))
    if (step.getFamily() == Family::Gemm)
      return step;
  return {};
}

static std::string joinNames(StepOp producer, StepOp consumer) {
  std::string name = (producer.getName() + "_" + consumer.getName()).str();
  return name.size() < 48 ? name : (producer.getName() + "_reduce").str();
}

namespace {
struct FormRowEpilogues : fusec::impl::FormRowEpiloguesBase<FormRowEpilogues> {
  using FormRowEpiloguesBase::FormRowEpiloguesBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    StepJoiner joiner(plan);
    bool changed = false;
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (step.getFamily() == Family::Reduce)
        if (StepOp producer = findProducer(joiner, step))
          changed |= tryJoin(joiner, producer, step);
    if (changed)
      joiner.eraseUnusedBuffers();
  }

  bool tryJoin(StepJoiner &joiner, StepOp producer, StepOp consumer) {
    auto check = [&](StepOp joined) {
      return checkTime(joined, producer, consumer);
    };
    std::string reason;
    if (joiner.join(producer, consumer,
                    {"row-epilogue", Family::Gemm,
                     joinNames(producer, consumer), check},
                    reason))
      return true;
    remarkMissed(RemarkTopic::Fusion, "row-epilogue", consumer.getLoc())
        << nameBoth(producer, consumer) << ": " << reason;
    return false;
  }

  /// Why the joined step has no kernel, or is slower than its parts, or
  /// nothing.
  std::string checkTime(StepOp joined, StepOp producer, StepOp consumer) const {
    Estimates fused = estimateStep(joined, *target, products, sampledDims);
    if (!llvm::all_of(fused, [](auto &time) { return time.has_value(); }))
      return "no tile holds the rows of the reduction";
    if (always)
      return "";
    return compareTimes(
        fused, estimateStep(producer, *target, products, sampledDims),
        estimateStep(consumer, *target, products, sampledDims), tolerance);
  }

  const Target *target = nullptr;
};
} // namespace
