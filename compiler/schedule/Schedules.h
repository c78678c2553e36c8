// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variants of a step on a target: the fastest schedule first, under the
// guards that it needs, and one without guards last.

#ifndef FUSEC_COMPILER_SCHEDULE_SCHEDULES_H
#define FUSEC_COMPILER_SCHEDULE_SCHEDULES_H

#include "compiler/kernels/Candidates.h"
#include "compiler/schedule/TuningFile.h"

namespace fusec {

/// The target that the plan is named after. An error at the plan where there is
/// none of the name, and null.
const Target *getPlanTarget(PlanOp plan);

struct ChoiceOptions {
  Products products = Products::Ieee;
  /// Schedules that a variant keeps: the fastest, and as the last the smallest,
  /// each a chance to compile without spilling. 0: every candidate.
  unsigned limit = 5;
  /// Measured schedules, which go before the cost model's.
  const TuningFile *tuning = nullptr;
};
llvm::SmallVector<VariantAttr> chooseVariants(StepOp step, const Target &target,
                                              const ChoiceOptions &options);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_SCHEDULES_H
