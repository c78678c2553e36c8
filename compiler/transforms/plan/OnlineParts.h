// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which the largest item and the exponentials below it are found in
// parts: of each part its own largest, and the sum below that. The second step
// puts the sums below the row's largest, and does what follows.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_ONLINEPARTS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_ONLINEPARTS_H

#include "compiler/transforms/plan/CutStep.h"

namespace fusec {

/// The two reductions of a step that are all it reduces.
struct OnlineReductions {
  ReduceOp most, sum;
  bool isFinite; // as in OnlinePair
};
/// Of a step whose rows lie along memory.
std::optional<OnlineReductions> getOnlineReductions(StepOp step);

/// The step as two, which stand before it.
CutStep splitOnline(StepOp step, const OnlineReductions &reductions,
                    int64_t parts);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_ONLINEPARTS_H
