// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured schedules in the place of the cost model's.

#ifndef FUSEC_COMPILER_SCHEDULE_TUNEDSCHEDULES_H
#define FUSEC_COMPILER_SCHEDULE_TUNEDSCHEDULES_H

#include "compiler/schedule/Schedules.h"

namespace fusec {

/// Puts measured schedules first in the variants that they are for. `variants`
/// hold all candidates: a schedule that is not among them may not be legal for
/// the step, and is not taken.
///
/// Where sizes are named, a measured one is for the first variant whose guards
/// hold at its sizes, with tensors aligned: the launch that would have run.
/// Several may be for one variant; the one nearest, as a ratio, to the size
/// that the variant was estimated at wins, of two as near the larger.
void takeTunedSchedules(StepOp step, const Target &target, Products products,
                        const TuningFile &tuning,
                        llvm::MutableArrayRef<VariantAttr> variants);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TUNEDSCHEDULES_H
