// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a variant's kernel is launched: computed here from its schedule, once,
// and kept in the plan. Emitters and the manifest read it there.

#ifndef FUSEC_COMPILER_KERNELS_LAUNCH_H
#define FUSEC_COMPILER_KERNELS_LAUNCH_H

#include "ir/FusecOps.h"

namespace fusec {

/// The variant with its launch; without one where it has none, of which its
/// emitter says why.
VariantAttr withLaunch(StepOp step, VariantAttr variant);

/// Gives launches to the variants of a plan's steps that have none yet.
void planLaunches(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_LAUNCH_H
