// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What analyses of regions with one root have in common: the epilogue that the
// kernel computes of accumulators in registers.

#ifndef FUSEC_COMPILER_ANALYSIS_TILEEPILOGUE_H
#define FUSEC_COMPILER_ANALYSIS_TILEEPILOGUE_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

/// An op whose values a kernel has at points of `sizes`, [batch.., row,
/// column], of which rows may be reduced along columns.
struct EpilogueRoot {
  mlir::Operation *op;
  llvm::SmallVector<Expr> sizes;
  unsigned batchRank;
  /// Of the op's result at a point; those of the point where there are none.
  llvm::SmallVector<Expr> indices = {};
};

/// Splits an offset into the strides along two dims and the rest.
mlir::FailureOr<TileAccess> splitOffset(Expr offset, unsigned first,
                                        unsigned second);

/// What a program reads beside the root's values; fails where it has leaves or
/// a structure that no epilogue has.
mlir::LogicalResult
collectOperands(const ScalarProgram &program, const EpilogueRoot &root,
                InputStrides inputStrides,
                llvm::SmallVectorImpl<TileOperand> &operands);

/// Fails where an output is computed at other points than the root's values, or
/// reads anything but scalars, rows, columns and tiles.
mlir::FailureOr<TileEpilogue>
analyzeEpilogue(const EpilogueRoot &root, llvm::ArrayRef<mlir::Value> outputs,
                ScalarProgram::Inside isInside, InputStrides inputStrides,
                OutputStrides outputStrides);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_TILEEPILOGUE_H
