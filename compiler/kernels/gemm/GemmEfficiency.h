// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMEFFICIENCY_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMEFFICIENCY_H

#include "compiler/kernels/gemm/Gemm.h"

namespace fusec {

/// The part of the unit's peak that the inner loop of a tile reaches.
double getEfficiency(const Costs &costs, GemmScheduleAttr schedule,
                     const GemmSizes &sizes);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMEFFICIENCY_H
