// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that are constants of bytes: a product may make its operand of them
// as it multiplies, so that they stay bytes until the plan knows.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_QUANTIZEDWEIGHTS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_QUANTIZEDWEIGHTS_H

#include "ir/FusecOps.h"

namespace fusec {

/// What dequantises a matrix of bytes for the one product that reads it, by
/// way of `read`, and nothing else: casts, scales and zeros of all elements, a
/// row or a column each, and views. No op where it is not so.
llvm::SmallVector<mlir::Operation *> findDequantization(ConstantOp weights,
                                                        mlir::OpOperand *&read);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_QUANTIZEDWEIGHTS_H
