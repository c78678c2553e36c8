// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Passes.h"
#include "compiler/schedule/Schedules.h"
#include "ir/PlanBuffers.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_CHOOSESCHEDULES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
struct ChooseSchedules : fusec::impl::ChooseSchedulesBase<ChooseSchedules> {
  using ChooseSchedulesBase::ChooseSchedulesBase;
  ChooseSchedules(const ChooseSchedulesOptions &options,
                  std::shared_ptr<const TuningFile> tuning)
      : ChooseSchedulesBase(options), tuning(std::move(tuning)) {}

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    ChoiceOptions choice;
    choice.products = products;
    choice.limit = candidates;
    choice.tuning = tuning.get();
    PlanBuffers buffers(plan);
    for (auto step : plan.getBody().getOps<StepOp>()) {
      SmallVector<Attribute> variants;
      for (VariantAttr variant : chooseVariants(step, *target, choice))
        variants.push_back(variant);
      step.setVariantsAttr(ArrayAttr::get(&getContext(), variants));
    }
  }

  std::shared_ptr<const TuningFile> tuning;
};
} // namespace

std::unique_ptr<Pass>
fusec::createChooseSchedules(const ChooseSchedulesOptions &options,
                             std::shared_ptr<const TuningFile> tuning) {
  return std::make_unique<ChooseSchedules>(options, std::move(tuning));
}
