// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose mean, and the squares of what is apart from it, are summed in
// parts: of each part its own sum, and the squares of what is apart from the
// part's mean. The second step puts these together, and does what follows.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_MOMENTPARTS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_MOMENTPARTS_H

#include "compiler/kernels/reduce/Reduce.h"
#include "compiler/transforms/plan/CutStep.h"

namespace fusec {

/// Of a step that reduces nothing else.
std::optional<Moments> getMoments(StepOp step);

/// The step as two, which stand before it. No part may be empty. The formula is
/// Chan, Golub and LeVeque's (Updating Formulae and a Pairwise Algorithm for
/// Computing Sample Variances, 1979): squares of parts, and of what their means
/// are apart from what the row's is taken for, for each of their items.
CutStep splitMoments(StepOp step, const Moments &moments, int64_t parts);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_MOMENTPARTS_H
