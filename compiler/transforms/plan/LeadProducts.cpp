// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/Leads.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/schedule/Schedules.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_LEADPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
struct LeadProducts : fusec::impl::LeadProductsBase<LeadProducts> {
  using LeadProductsBase::LeadProductsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    if (target->name != "sm_90a")
      return;
    for (auto step : plan.getOps<StepOp>())
      if (StepOp leading = findLeadingStep(step))
        lead(leading, step, *target);
  }

  void lead(StepOp leading, StepOp step, const Target &target) {
    SmallVector<Attribute> variants;
    for (auto variant : step.getVariants().getAsRange<VariantAttr>())
      llvm::append_range(variants,
                         leadVariant(leading, step, variant, target, products));
    if (variants == step.getVariants().getValue())
      return;
    step.setVariantsAttr(ArrayAttr::get(&getContext(), variants));
    remarkPassed(remarks::lead, step.getLoc())
        << "'" << leading.getName() << "' is computed first by the kernel of '"
        << step.getName() << "'";
  }
};
} // namespace
