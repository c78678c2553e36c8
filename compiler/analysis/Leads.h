// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that another step's kernel computes first, in the same launch: t of
// y = x W + t B, t = x A. Both remain steps, the leading one and the led one,
// of which the latter names what it reads of the former. Which variants of the
// leading one launch nothing follows from the schedules of the led one.

#ifndef FUSEC_COMPILER_ANALYSIS_LEADS_H
#define FUSEC_COMPILER_ANALYSIS_LEADS_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec {

/// Whether the variant's kernel begins with a leading product.
bool hasLead(VariantAttr variant);

/// The step that writes the lead of this one; null where that has none.
StepOp findLeadingStep(StepOp step);

/// The steps that lead others under some of their variants, in a plan whose
/// variants stay as they are.
class Leads {
public:
  explicit Leads(PlanOp plan);

  /// The step that computes this one's result first under some of its variants;
  /// null where there is none.
  StepOp findLedStep(StepOp step) const { return led.lookup(step); }
  /// Whether no variant of the step is ever launched.
  bool isAlwaysLed(StepOp step) const;

private:
  llvm::DenseMap<StepOp, StepOp> led;
};

/// Kernels of a run in which each step takes its first variant.
unsigned countKernels(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_LEADS_H
