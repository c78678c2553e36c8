// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of what others gave, along an inner axis: sums over fields whose
// squares are summed over the width. Each item of a row is found by reductions
// of its own, whose rows lie side by side in memory.

#ifndef FUSEC_COMPILER_ANALYSIS_NESTEDITERATION_H
#define FUSEC_COMPILER_ANALYSIS_NESTEDITERATION_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

struct NestedIteration {
  /// As of analyzeRows; results of the items' reductions are roots of it.
  RowIteration rows;
  /// As of analyzeColumns: dim 2 is the item's place in its row. What it stores
  /// are the results, in the order of its reductions; there are no outputs.
  RowIteration items;
  int64_t columns; // items of a row
};

/// Items of a row that a block finds together.
constexpr int64_t mostNestedColumns = 1024;

/// Fails where a step has no such reductions, or where rows are of more items
/// than a block finds.
mlir::FailureOr<NestedIteration> analyzeNested(StepOp step);

/// analyzeRows of what is computed behind the results of `items`, each of which
/// is asked for at its place in the row. `areWide`: rows may be wide.
mlir::FailureOr<RowIteration>
analyzeRowsOf(llvm::ArrayRef<mlir::Operation *> items,
              llvm::ArrayRef<mlir::Value> outputs,
              ScalarProgram::Inside isInside, OutputStrides outputStrides,
              bool areWide = false);

/// The iteration with every `columns` rows as one outer index: dim 2 is the
/// column.
RowIteration splitRows(const RowIteration &rows, Expr outer, Expr columns);
/// Whether what it loads lies along dim 2 rather than along dim 1.
bool liesAcrossRows(StepOp step, const RowIteration &columns);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_NESTEDITERATION_H
