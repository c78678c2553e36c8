// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of all pairs of a row's features, side by side in a matrix: the
// outer product of each row with itself, flattened, or a part of it that
// constant indices choose, as a triangle.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_OUTERPRODUCTS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_OUTERPRODUCTS_H

#include "ir/FusecOps.h"

namespace fusec {

struct FlattenedPairs {
  mlir::Value x; // [rows, features]
  int64_t features;
  /// The pair of each column, i * features + j, all different; empty where
  /// column k is that of k.
  std::vector<int64_t> places;
  /// What lies between x and the matrix and nothing else reads, its reader
  /// first.
  llvm::SmallVector<mlir::Operation *> dead;
};

/// The matrix [row, column] as such products, or `transposed`; nothing where it
/// is another one, or others read the outer product.
std::optional<FlattenedPairs> matchFlattenedPairs(mlir::Value matrix,
                                                  bool transposed);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_OUTERPRODUCTS_H
