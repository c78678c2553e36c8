// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of buffers that are ours and that matmuls read as matrices: rows
// begin at lines of L2, or at least at multiples of 16 bytes, which is what
// wide copies and tensor maps ask for. What lies between two rows is never
// read.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPITCH_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPITCH_H

#include "ir/FusecOps.h"

namespace fusec {

/// Elements from one row of a value to the next, of those whose rows should not
/// lie one after another: they are matrices of some fusion, their rows are of
/// constant size, and padding costs at most an eighth to lines, a quarter to 16
/// bytes. With all of them, every matmul is still one.
llvm::DenseMap<mlir::Value, int64_t> chooseRowPitches(ModelOp model);

/// Row-major strides of the sizes, of which the last takes `pitch` elements.
llvm::SmallVector<Expr> getPitchedStrides(llvm::ArrayRef<Expr> sizes,
                                          int64_t pitch,
                                          mlir::MLIRContext *context);

/// The constant with rows of `pitch` elements, zeros behind each.
mlir::FailureOr<mlir::ElementsAttr> padRows(mlir::ElementsAttr value,
                                            int64_t pitch, std::string &error);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPITCH_H
