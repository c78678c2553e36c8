// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that another step's kernel computes first, in the same launch: t of
// y = x W + t B, t = x A. Both remain steps; which variants of the one launch
// nothing follows from the schedules of the other.

#ifndef FUSEC_COMPILER_ANALYSIS_LEADS_H
#define FUSEC_COMPILER_ANALYSIS_LEADS_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec {

/// Whether the variant's kernel begins with a leading product.
bool hasLead(VariantAttr variant);

/// The steps of a plan whose variants stay as they are.
class Leads {
public:
  explicit Leads(PlanOp plan);

  /// The step whose result a matmul step reads as the A of its last segment,
  /// and that only this one reads; null where there is none.
  StepOp findLeadingStep(StepOp step) const;
  /// The step that computes this one's result first under some of its variants;
  /// null where there is none.
  StepOp findLedStep(StepOp step) const { return led.lookup(step); }
  /// Whether no variant of the step is ever launched.
  bool isAlwaysLed(StepOp step) const;

private:
  /// By buffer.
  using Steps = llvm::DenseMap<mlir::Attribute, llvm::SmallVector<StepOp, 1>>;
  Steps readers, writers;
  llvm::DenseMap<StepOp, StepOp> led;
};

/// The step before this one that computes the A of its last segment.
StepOp findWriterOfLead(StepOp step, mlir::Value a);

/// Kernels of a run in which each step takes its first variant.
unsigned countKernels(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_LEADS_H
