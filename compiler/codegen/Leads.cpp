// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Leads.h"
#include "compiler/codegen/Iteration.h"

using namespace mlir;
using namespace fusec;

bool fusec::hasLead(VariantAttr variant) {
  auto schedule = dyn_cast<GemmScheduleAttr>(variant.getSchedule());
  return schedule && schedule.getLead();
}

static bool mentions(ArrayAttr refs, BufferOp buffer) {
  return llvm::any_of(refs.getAsRange<FlatSymbolRefAttr>(), [&](auto ref) {
    return ref.getValue() == buffer.getSymName();
  });
}

StepOp fusec::findLeadingStep(StepOp step) {
  if (step.getFamily() != Family::Gemm)
    return {};
  auto iteration = analyzeMatmul(step);
  if (failed(iteration) || iteration->lhs.size() < 2)
    return {};
  BufferOp between = step.getInputBuffer(iteration->lhs.back().value);
  if (between.getKind() != BufferKind::Slot)
    return {};
  StepOp writer;
  for (auto other : cast<PlanOp>(step->getParentOp()).getOps<StepOp>()) {
    if (other != step && mentions(other.getInputs(), between))
      return {};
    if (!mentions(other.getOutputs(), between))
      continue;
    if (writer || other.getOutputs().size() != 1)
      return {};
    writer = other;
  }
  return writer;
}

StepOp fusec::findLedStep(StepOp step) {
  for (Operation *op = step->getNextNode(); op; op = op->getNextNode()) {
    auto other = dyn_cast<StepOp>(op);
    if (other &&
        llvm::any_of(other.getVariants().getAsRange<VariantAttr>(), hasLead) &&
        findLeadingStep(other) == step)
      return other;
  }
  return {};
}

bool fusec::isAlwaysLed(StepOp step) {
  StepOp led = findLedStep(step);
  return led &&
         llvm::all_of(led.getVariants().getAsRange<VariantAttr>(), hasLead);
}

unsigned fusec::countKernels(PlanOp plan) {
  return llvm::count_if(plan.getOps<StepOp>(), [](StepOp step) {
    StepOp led = findLedStep(step);
    return !led || !hasLead(cast<VariantAttr>(led.getVariants()[0]));
  });
}
