// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Launch.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

LaunchAttr fusec::getPointwiseLaunch(StepOp step,
                                     PointwiseScheduleAttr schedule) {
  FailureOr<PointwiseIteration> iteration = analyzePointwise(
      step.getBody().front(),
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return {};
  MLIRContext *context = step.getContext();
  Expr count = getElementCount(iteration->program.getSizes(), context);
  Expr perBlock =
      Expr::constant(context, schedule.getThreads() * schedule.getVector());
  return LaunchAttr::get(
      limitBlocks(count.ceilDiv(perBlock), schedule.getBlocks()),
      schedule.getThreads());
}

LaunchAttr fusec::getReduceLaunch(StepOp step, ReduceScheduleAttr schedule) {
  Block &block = step.getBody().front();
  FailureOr<RowIteration> iteration = analyzeRows(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return {};
  Expr rows = iteration->program.getSizes()[0],
       atOnce = Expr::constant(step.getContext(), schedule.getRowsAtOnce());
  return LaunchAttr::get(
      limitBlocks(rows.ceilDiv(atOnce), schedule.getBlocks()),
      schedule.getThreads());
}

LaunchAttr fusec::getChainLaunch(StepOp step, ChainScheduleAttr schedule) {
  std::string reason;
  FailureOr<ChainIteration> iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return {};
  MLIRContext *context = step.getContext();
  Expr tiles =
      iteration->rows.ceilDiv(Expr::constant(context, schedule.getRows()));
  return LaunchAttr::get(
      Expr::min(tiles, Expr::constant(context, schedule.getBlocks())),
      schedule.getThreads(), iteration->getSharedBytes(schedule.getRows()));
}

/// Whether a step's kernel follows another one and is short enough to gain by
/// starting early. Kernels for sm_90 and later wait for their predecessor
/// themselves, so that their blocks may be placed while it drains: about 1.5 us
/// less. Where that is little it is not worth it: measured, a matmul of 0.36 ms
/// behind a norm lost 16 us, since its blocks then take their places one by
/// one.
static bool gainsByEarlyStart(StepOp step, VariantAttr variant) {
  constexpr int64_t longest = 30000; // nanoseconds
  auto steps = cast<PlanOp>(step->getParentOp()).getOps<StepOp>();
  EstimateAttr estimate = variant.getEstimate();
  return step != *steps.begin() &&
         (!estimate || estimate.getNanoseconds() <= longest);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  Attribute schedule = variant.getSchedule();
  bool startsEarly = gainsByEarlyStart(step, variant);
  auto start = [&](LaunchAttr launch) {
    return launch && startsEarly ? launch.startingEarly(/*prefetches=*/false)
                                 : launch;
  };
  switch (step.getFamily()) {
  case Family::Pointwise:
    return start(
        getPointwiseLaunch(step, cast<PointwiseScheduleAttr>(schedule)));
  case Family::Reduce:
    return start(getReduceLaunch(step, cast<ReduceScheduleAttr>(schedule)));
  case Family::Gemm:
    return getGemmLaunch(step, variant, startsEarly);
  case Family::Chain:
    return start(getChainLaunch(step, cast<ChainScheduleAttr>(schedule)));
  }
  return {};
}

VariantAttr fusec::withLaunch(StepOp step, VariantAttr variant) {
  return variant.withLaunch(getLaunch(step, variant));
}

void fusec::planLaunches(PlanOp plan) {
  PlanBuffers buffers(plan);
  for (StepOp step : plan.getOps<StepOp>()) {
    SmallVector<Attribute> variants;
    for (auto variant : step.getVariants().getAsRange<VariantAttr>())
      variants.push_back(variant.getLaunch() ? variant
                                             : withLaunch(step, variant));
    step.setVariantsAttr(ArrayAttr::get(step.getContext(), variants));
  }
}
