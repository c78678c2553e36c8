// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Schedules.h"
#include "compiler/kernels/Family.h"
#include "compiler/schedule/TunedSchedules.h"

using namespace mlir;
using namespace fusec;

const Target *fusec::getPlanTarget(PlanOp plan) {
  const Target *target = findTarget(plan.getSymName());
  if (!target)
    plan.emitError("expected the name of a target, got '")
        << plan.getSymName() << "'";
  return target;
}

/// Each alternative is a chance to compile without spilling: the nearest ones
/// and, at the end, the smallest.
static VariantAttr keepNearest(VariantAttr variant, size_t limit) {
  ArrayRef<CandidateAttr> all = variant.getAlternatives();
  if (limit == 0 || all.size() < limit)
    return variant;
  SmallVector<CandidateAttr> kept(all.take_front(limit - 1));
  if (!kept.empty())
    kept.back() = all.back();
  return VariantAttr::get(variant.getContext(), variant.getGuards(),
                          variant.getSchedule(), variant.getEstimate(), kept,
                          variant.getMeasured());
}

SmallVector<VariantAttr> fusec::chooseVariants(StepOp step,
                                               const Target &target,
                                               const ChoiceOptions &options) {
  SmallVector<VariantAttr> variants =
      getKernelFamily(step.getFamily())
          .chooseVariants(step, target, options.products);
  if (options.tuning)
    takeTunedSchedules(step, target, options.products, *options.tuning,
                       variants);
  for (VariantAttr &variant : variants)
    variant = keepNearest(variant, options.limit);
  return variants;
}
