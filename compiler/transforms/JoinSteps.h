// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two planned steps, of which the later reads what the earlier computes, as
// one step.

#ifndef FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H
#define FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H

#include "ir/FusecOps.h"

namespace fusec {

/// The later of two steps is where both can run, unless a step between them
/// needs the earlier one's results; then it is the earlier one, unless the
/// later one needs that step's. Null where neither is.
StepOp findJoinPlace(StepOp producer, StepOp consumer);

/// A step of both regions at `place`, beside the two. Values that only pass
/// from one to the other are no results of it.
StepOp joinSteps(StepOp producer, StepOp consumer, StepOp place, Family family,
                 llvm::StringRef name);

/// Erases buffers and slots that no step is left to touch.
void eraseUnusedBuffers(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H
