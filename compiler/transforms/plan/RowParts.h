// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What two steps compute that reduce rows in parts: the first each part's own
// results, [parts, rows..], the second those of rows.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPARTS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPARTS_H

#include "compiler/transforms/plan/CutStep.h"

namespace fusec {

/// Ops on tensors of floats, in one place.
struct RowParts {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  /// In so many parts, if any.
  mlir::Value reduce(ReduceKind kind, mlir::Value operand,
                     llvm::ArrayRef<int64_t> axes, mlir::RankedTensorType type,
                     int64_t parts = 0);
  mlir::Value splat(mlir::RankedTensorType type, double value);
  /// What each row has, for each of its parts.
  mlir::Value repeat(mlir::Value ofRows, mlir::RankedTensorType parts);
  /// What each part has, for each item of the sizes, which are reduced along
  /// the axes, in ascending order.
  mlir::Value spread(mlir::Value ofParts, llvm::ArrayRef<Expr> sizes,
                     llvm::ArrayRef<int64_t> axes, Expr partLength);
};

/// Ends the first step with what it has of parts, each in a slot of the name,
/// and returns what the second one reads of them.
llvm::SmallVector<mlir::Value>
passParts(CutStep &split, StepOp step, StepBuilder &first, StepBuilder &second,
          llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Value>> ofParts);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_ROWPARTS_H
