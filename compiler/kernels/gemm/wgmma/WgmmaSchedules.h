// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles of wgmma a matmul has room for, in shared memory and registers.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H
#define FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/gemm/GemmTiles.h"
#include "compiler/schedule/Targets.h"

namespace fusec {

/// The schedules with tiles of `tilings` that the matmul fits, each with the
/// stages that there is room for. `splitsFactors`: 3xTF32.
llvm::SmallVector<GemmScheduleAttr>
getWgmmaSchedules(StepOp step, const MatmulIteration &iteration,
                  llvm::ArrayRef<WgmmaTiling> tilings, const Target &target,
                  bool splitsFactors = false);

/// Whether every result, and every matrix that the epilogue reads, has a tensor
/// map.
bool mapsTiles(StepOp step, const MatmulIteration &iteration);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H
