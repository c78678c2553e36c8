// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles of a matmul root's epilogue move through tensor maps.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_EPILOGUEMAPS_H
#define FUSEC_COMPILER_KERNELS_GEMM_EPILOGUEMAPS_H

#include "compiler/analysis/MappedMatrix.h"

namespace fusec {

/// What is missing is read and written by pointer.
struct EpilogueMaps {
  llvm::SmallVector<TileMapAttr> operands, results;
};

/// Of wgmma's tiles all results or none, and then operands as far as they can;
/// of resident weights' each result that can. `iteration` is as the variant's
/// schedule computes it: swapped, where that is.
EpilogueMaps chooseEpilogueMaps(StepOp step, const MatmulIteration &iteration,
                                VariantAttr variant);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_EPILOGUEMAPS_H
