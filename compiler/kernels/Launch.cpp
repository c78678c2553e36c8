// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Launch.h"
#include "compiler/kernels/Estimate.h"
#include "compiler/kernels/Family.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

/// Whether a step's kernel follows another one and is short enough to gain by
/// starting early. Kernels for sm_90 and later wait for their predecessor
/// themselves, so that their blocks may be placed while it drains: about 1.5 us
/// less. Where that is little it is not worth it: blocks then take their places
/// one by one.
static bool gainsByEarlyStart(StepOp step, VariantAttr variant) {
  auto steps = cast<PlanOp>(step->getParentOp()).getOps<StepOp>();
  EstimateAttr estimate = variant.getEstimate();
  return step != *steps.begin() &&
         (!estimate || estimate.getNanoseconds() <=
                           1000 * getTarget(step).rates.earlyMicros);
}

VariantAttr fusec::withLaunch(StepOp step, VariantAttr variant) {
  LaunchAttr launch =
      getKernelFamily(step.getFamily()).getLaunch(step, variant);
  if (!launch)
    return variant;
  // A cooperative launch waits for room for all of its blocks.
  bool early = !launch.getCooperative() && gainsByEarlyStart(step, variant);
  return variant.withLaunch(
      launch.starting(early, early && launch.getPrefetches()));
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
