// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
struct ChooseSchedules : fusec::impl::ChooseSchedulesBase<ChooseSchedules> {
  using ChooseSchedulesBase::ChooseSchedulesBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = findTarget(plan.getSymName());
    if (!target || (precision != "ieee" && precision != "tf32")) {
      plan.emitError(
          "expected a known target and a precision of 'ieee' or 'tf32', got '")
          << plan.getSymName() << "' and '" << precision << "'";
      return signalPassFailure();
    }
    Precision chosen = precision == "tf32" ? Precision::Tf32 : Precision::Ieee;
    for (auto step : plan.getBody().getOps<StepOp>()) {
      SmallVector<Attribute> variants;
      for (VariantAttr variant : chooseVariants(step, *target, chosen))
        variants.push_back(variant);
      step.setVariantsAttr(ArrayAttr::get(&getContext(), variants));
    }
  }
};
} // namespace
