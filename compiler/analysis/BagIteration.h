// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the operands and the result of embedding bags lie.

#ifndef FUSEC_COMPILER_ANALYSIS_BAGITERATION_H
#define FUSEC_COMPILER_ANALYSIS_BAGITERATION_H

#include "compiler/analysis/TileEpilogue.h"

namespace fusec {

/// Where a value of bag b and place k lies: at first + b * stride + k * step.
/// Of bags with offsets there is one row, and b is 0. A stride of -1 is a bag's
/// number of indices, which is only named.
struct BagValues {
  BufferOp buffer;
  int64_t first, stride, step;
};
struct BagTable {
  BufferOp table;
  /// Of rows that are quantised by blocks of columns.
  BufferOp factors, zeros;
  int64_t blockWidth;
  BagValues ids;
  std::optional<BagValues> offsets, weights, lengths;
  /// Indices of a bag, or with offsets of all.
  Expr count;
  Expr offsetCount;
  int64_t width, column;
  double scale;
  int64_t padding; // -1: none
  BagMode mode;
};
struct BagIteration {
  BagOp op;
  Expr bags;
  llvm::SmallVector<BagTable> tables;
  /// Where the bags are stored; of those with an epilogue its stores say it.
  BufferOp result;
  Expr pitch; // elements from a bag's result to the next
  /// What is computed of the bags, at [bag, column of the result], or, where
  /// rows of several tables are reduced, at [bag, table, column].
  std::optional<TileEpilogue> epilogue = {};
  /// Of a table's elements.
  int64_t getTableBits() const;
  bool reducesRows() const { return epilogue && !epilogue->reductions.empty(); }
};
/// Columns of the rows that an epilogue reduces: a warp holds them in
/// registers. Values of a lane, those that an epilogue reads at its columns
/// among them.
constexpr int64_t mostHeldColumns = 512, mostHeldValues = 64;

mlir::FailureOr<BagIteration> analyzeBag(StepOp step);
/// The same, with the reason where it fails.
mlir::FailureOr<BagIteration> analyzeBag(StepOp step, std::string &reason);

/// Whether indices, so many a bag, lie behind views where constants tell that
/// kernels know, or where bags without gaps do.
bool haveKnownPlaces(const MatrixAccess &indices, Expr count);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_BAGITERATION_H
