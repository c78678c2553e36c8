// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two planned steps, of which the later reads what the earlier computes, as
// one step.

#ifndef FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H
#define FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H

#include "ir/FusecOps.h"

namespace fusec {

/// What two steps become.
struct JoinedStep {
  llvm::StringRef rewrite; // that the remark names
  Family family;
  std::string name;
  /// Why the new step, which then stands beside the two, is not wanted; or
  /// nothing.
  llvm::function_ref<std::string(StepOp)> check;
};
/// One step of both regions in place of the two, with a remark. Null, and the
/// reason, where a step between them needs the one's results for the other's
/// operands, or where it is not wanted. Values that only pass from one to the
/// other are no results of it.
StepOp joinSteps(StepOp producer, StepOp consumer, const JoinedStep &joined,
                 std::string &reason);
/// "'producer' and 'consumer'", as the remarks call them.
std::string nameBoth(StepOp producer, StepOp consumer);

/// Erases buffers and slots that no step is left to touch.
void eraseUnusedBuffers(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_JOINSTEPS_H
