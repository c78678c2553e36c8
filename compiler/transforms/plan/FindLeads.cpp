// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Passes.h"
#include "compiler/analysis/Iteration.h"
#include "ir/PlanBuffers.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FINDLEADS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
struct FindLeads : fusec::impl::FindLeadsBase<FindLeads> {
  void runOnOperation() override;
};

/// Who reads and writes the buffers of a plan.
class Uses {
public:
  explicit Uses(PlanOp plan) {
    for (StepOp step : plan.getOps<StepOp>()) {
      add(readers, step, step.getInputs());
      add(writers, step, step.getOutputs());
    }
  }
  /// Whether one step writes the buffer and nothing else, and one reads it.
  bool isBetweenTwo(Attribute ref) const {
    auto reading = readers.lookup(ref), writing = writers.lookup(ref);
    return reading.size() == 1 && writing.size() == 1 &&
           writing.front().getOutputs().size() == 1;
  }

private:
  using Steps = llvm::DenseMap<Attribute, SmallVector<StepOp, 1>>;
  static void add(Steps &steps, StepOp step, ArrayAttr refs) {
    for (Attribute ref : refs)
      if (auto &known = steps[ref]; known.empty() || known.back() != step)
        known.push_back(step);
  }

  Steps readers, writers;
};
} // namespace

/// The A of a matmul's last segment, where that is a product of its own; null
/// where it is none.
static FlatSymbolRefAttr findLead(StepOp step, const Uses &uses) {
  if (step.getFamily() != Family::Gemm)
    return {};
  auto iteration = analyzeMatmul(step);
  if (failed(iteration) || iteration->lhs.size() < 2)
    return {};
  BufferOp between = step.getInputBuffer(iteration->lhs.back().value);
  auto ref = FlatSymbolRefAttr::get(between);
  bool isLead = between.getKind() == BufferKind::Slot && uses.isBetweenTwo(ref);
  return isLead ? ref : FlatSymbolRefAttr();
}

void FindLeads::runOnOperation() {
  PlanOp plan = getOperation();
  PlanBuffers buffers(plan);
  Uses uses(plan);
  for (StepOp step : plan.getOps<StepOp>())
    if (FlatSymbolRefAttr lead = findLead(step, uses))
      step.setLeadAttr(lead);
}
