// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Leads.h"

using namespace mlir;
using namespace fusec;

bool fusec::hasLead(VariantAttr variant) {
  auto schedule = dyn_cast<GemmScheduleAttr>(variant.getSchedule());
  return schedule && schedule.getLead();
}

StepOp fusec::findLeadingStep(StepOp step) {
  FlatSymbolRefAttr lead = step.getLeadAttr();
  if (!lead)
    return {};
  for (Operation *op = step->getPrevNode(); op; op = op->getPrevNode())
    if (auto other = dyn_cast<StepOp>(op);
        other && llvm::is_contained(other.getOutputs(), lead))
      return other;
  return {};
}

Leads::Leads(PlanOp plan) {
  for (StepOp step : plan.getOps<StepOp>())
    if (llvm::any_of(step.getVariants().getAsRange<VariantAttr>(), hasLead))
      if (StepOp leading = findLeadingStep(step))
        led.try_emplace(leading, step);
}

bool Leads::isAlwaysLed(StepOp step) const {
  StepOp by = findLedStep(step);
  return by &&
         llvm::all_of(by.getVariants().getAsRange<VariantAttr>(), hasLead);
}

unsigned fusec::countKernels(PlanOp plan) {
  Leads leads(plan);
  return llvm::count_if(plan.getOps<StepOp>(), [&](StepOp step) {
    StepOp led = leads.findLedStep(step);
    return !led || !hasLead(cast<VariantAttr>(led.getVariants()[0]));
  });
}
