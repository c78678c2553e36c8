// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Leads.h"
#include "compiler/analysis/Iteration.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

bool fusec::hasLead(VariantAttr variant) {
  auto schedule = dyn_cast<GemmScheduleAttr>(variant.getSchedule());
  return schedule && schedule.getLead();
}

/// The buffer behind an argument of the step's region.
static Attribute getRef(StepOp step, Value argument) {
  return step.getInputs()[cast<BlockArgument>(argument).getArgNumber()];
}

Leads::Leads(PlanOp plan) {
  PlanBuffers buffers(plan);
  for (StepOp step : plan.getOps<StepOp>()) {
    auto add = [&](Steps &steps, ArrayAttr refs) {
      for (Attribute ref : refs)
        if (auto &known = steps[ref]; known.empty() || known.back() != step)
          known.push_back(step);
    };
    add(readers, step.getInputs());
    add(writers, step.getOutputs());
  }
  for (StepOp step : plan.getOps<StepOp>())
    if (llvm::any_of(step.getVariants().getAsRange<VariantAttr>(), hasLead))
      if (StepOp leading = findLeadingStep(step))
        led.try_emplace(leading, step);
}

StepOp Leads::findLeadingStep(StepOp step) const {
  if (step.getFamily() != Family::Gemm)
    return {};
  auto iteration = analyzeMatmul(step);
  if (failed(iteration) || iteration->lhs.size() < 2)
    return {};
  Value between = iteration->lhs.back().value;
  if (step.getInputBuffer(between).getKind() != BufferKind::Slot)
    return {};
  Attribute ref = getRef(step, between);
  if (readers.at(ref).size() != 1)
    return {};
  auto it = writers.find(ref);
  if (it == writers.end() || it->second.size() != 1)
    return {};
  StepOp writer = it->second.front();
  return writer.getOutputs().size() == 1 ? writer : StepOp();
}

bool Leads::isAlwaysLed(StepOp step) const {
  StepOp by = findLedStep(step);
  return by &&
         llvm::all_of(by.getVariants().getAsRange<VariantAttr>(), hasLead);
}

StepOp fusec::findWriterOfLead(StepOp step, Value a) {
  Attribute ref = getRef(step, a);
  for (Operation *op = step->getPrevNode(); op; op = op->getPrevNode())
    if (auto other = dyn_cast<StepOp>(op);
        other && llvm::is_contained(other.getOutputs(), ref))
      return other;
  return {};
}

unsigned fusec::countKernels(PlanOp plan) {
  Leads leads(plan);
  return llvm::count_if(plan.getOps<StepOp>(), [&](StepOp step) {
    StepOp led = leads.findLedStep(step);
    return !led || !hasLead(cast<VariantAttr>(led.getVariants()[0]));
  });
}
