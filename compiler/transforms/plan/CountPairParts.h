// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_COUNTPAIRPARTS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_COUNTPAIRPARTS_H

#include "compiler/schedule/Targets.h"
#include "ir/FusecOps.h"

namespace fusec {

/// Gives each product of pairs as many parts as fill the target, in a plan
/// whose buffers have slots of their own.
void countPairParts(PlanOp plan, const Target &target);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_COUNTPAIRPARTS_H
