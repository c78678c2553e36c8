// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles of wgmma a matmul has room for, in shared memory and registers,
// and what they take.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H
#define FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"

namespace fusec {

/// The schedules with tiles of `tilings` that the matmul fits, each with the
/// stages that there is room for. `splitsFactors`: 3xTF32.
llvm::SmallVector<WgmmaScheduleAttr>
getWgmmaSchedules(StepOp step, const MatmulIteration &iteration,
                  llvm::ArrayRef<WgmmaTiling> tilings, const Target &target,
                  bool splitsFactors = false);

/// Whether every result, and every matrix that the epilogue reads, has a tensor
/// map.
bool mapsTiles(StepOp step, const MatmulIteration &iteration);

/// Bytes of A's rows in a stage: of what it is made of, where it is made.
int64_t getRowBytesA(const MatmulIteration &iteration);

Estimate estimateWgmma(const Target &target, const GemmSizes &sizes,
                       GemmScheduleAttr schedule);
/// Microseconds by which a leading product makes the launch longer.
double estimateLead(const Target &target, const GemmSizes &sizes,
                    const GemmSizes &lead, WgmmaScheduleAttr schedule);

// What moves by tensor maps: all results or none, and then operands as far as
// they can.
llvm::SmallVector<mlir::Attribute> chooseWgmmaCopies(const UnitStep &at);
EpilogueMaps chooseWgmmaMaps(const UnitStep &at);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_WGMMA_WGMMASCHEDULES_H
