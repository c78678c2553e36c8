// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that reduces rows and stores something at every point of them, as one
// that has results of rows alone and one that reads these, and stores.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_STOREAPART_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_STOREAPART_H

#include "compiler/transforms/plan/CutStep.h"

namespace fusec {

/// The two, which stand before the step; nothing where no result is one of all
/// points, or rows lie along memory: kernels of these hold or walk them anew.
std::optional<CutStep> storeApart(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_STOREAPART_H
