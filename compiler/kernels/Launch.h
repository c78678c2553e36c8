// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a variant's kernel is launched: computed here from its schedule, once,
// and kept in the plan. Emitters and the manifest read it there.

#ifndef FUSEC_COMPILER_KERNELS_LAUNCH_H
#define FUSEC_COMPILER_KERNELS_LAUNCH_H

#include "ir/FusecOps.h"

namespace fusec {

/// What a block takes of a multiprocessor.
struct BlockShape {
  int64_t threads, sharedBytes;
};
/// Of the units whose blocks compute one tile: simt, mma and tf32x3. `element`:
/// bytes of the matrices' elements.
BlockShape getTileBlock(GemmScheduleAttr schedule, int64_t accumulators,
                        int64_t element);

// One function a family. Null where the region is not of its form.
LaunchAttr getPointwiseLaunch(StepOp step, PointwiseScheduleAttr schedule);
LaunchAttr getReduceLaunch(StepOp step, ReduceScheduleAttr schedule);
LaunchAttr getGemmLaunch(StepOp step, VariantAttr variant, bool startsEarly);
LaunchAttr getChainLaunch(StepOp step, ChainScheduleAttr schedule);

/// The variant with its launch; without one where it has none, of which its
/// emitter says why.
VariantAttr withLaunch(StepOp step, VariantAttr variant);

/// Gives launches to the variants of a plan's steps that have none yet.
void planLaunches(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_LAUNCH_H
