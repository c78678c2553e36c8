// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements a matmul's kernel reads and writes at once: of matrices
// along their rows, of the epilogue along the tile's.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMACCESSES_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMACCESSES_H

#include "compiler/analysis/AccessWidths.h"

namespace fusec {

/// Of A and B of each segment, then of the operands, those that an operand is
/// made with, and of the results.
/// `iteration` is as the variant's schedule computes it.
AccessesAttr getGemmAccesses(StepOp step, VariantAttr variant,
                             const MatmulIteration &iteration);

/// As loop `index` of the variant's launch; null, with an error, where that
/// lists others.
AccessesAttr takeGemmAccesses(StepOp step, VariantAttr variant, size_t index,
                              const MatmulIteration &iteration);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMACCESSES_H
