// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the operands and the result of embedding bags lie.

#ifndef FUSEC_COMPILER_ANALYSIS_BAGITERATION_H
#define FUSEC_COMPILER_ANALYSIS_BAGITERATION_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

/// A table's indices: that of bag b and place k is element
/// first + b * stride + k * step of the buffer.
struct BagTable {
  BufferOp table, ids;
  int64_t first, stride, step;
  int64_t count; // indices of a bag
  int64_t width, column;
  double scale;
};
struct BagIteration {
  BagOp op;
  Expr bags;
  llvm::SmallVector<BagTable> tables;
  BufferOp result;
  Expr pitch; // elements from a bag's result to the next
};
mlir::FailureOr<BagIteration> analyzeBag(StepOp step);

/// Whether indices lie, behind views, where constants tell that kernels know.
bool haveConstantPlaces(const MatrixAccess &indices);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_BAGITERATION_H
