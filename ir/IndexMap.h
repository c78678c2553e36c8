// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// IndexMap: the one representation of how an op reads an operand. For each
// dimension of the operand it gives an expression in the iteration indices
// (affine, with sizes as symbols, floordiv, and indirect terms for a gather),
// and for a piecewise read (concat) the condition under which it applies.

#ifndef FUSEC_IR_INDEXMAP_H
#define FUSEC_IR_INDEXMAP_H

#include "ir/Expr.h"

namespace fusec {

/// lower <= value < upper.
struct IndexCondition {
  Expr value, lower, upper;
};

/// How an op may take part in a fusion.
enum class FusionKind : uint32_t {
  Pointwise, // computes at each index, recomputation is possible
  View,      // moves no data by itself
  Gather,    // reads where an operand tells
  Reduce,    // a root: one pass over reduced dimensions
  ArgReduce,
  Scan,   // a root: passes on what it found along a dimension
  Matmul, // a root: tiles
  Pairs,  // a root that makes its left operand
  Bag,    // a root: rows of tables, summed
  None    // constants, terminators
};

struct IndexMap {
  llvm::SmallVector<Expr> results;
  llvm::SmallVector<IndexCondition> conditions;

  /// Reads at the iteration index itself.
  static IndexMap identity(mlir::MLIRContext *context, unsigned rank);
  /// This map after `inner`: iteration -> inner -> this.
  IndexMap compose(llvm::ArrayRef<Expr> inner) const;
  IndexMap simplify(const ExprRanges &ranges) const;
  /// Sum of results times strides.
  Expr getOffset(llvm::ArrayRef<Expr> strides) const;
  void print(llvm::raw_ostream &os) const;
};

/// Row-major strides, in elements, of a dense tensor.
llvm::SmallVector<Expr> getDenseStrides(llvm::ArrayRef<Expr> sizes,
                                        mlir::MLIRContext *context);

/// Row-major linear index of `indices` within `sizes`.
Expr linearize(llvm::ArrayRef<Expr> indices, llvm::ArrayRef<Expr> sizes,
               mlir::MLIRContext *context);
/// The indices within `sizes` of a linear index.
llvm::SmallVector<Expr> delinearize(Expr linear, llvm::ArrayRef<Expr> sizes);

/// The factor of Dim `dim` in `expr` where the expression is affine in it;
/// nothing where the dim occurs inside a division or a product of dims.
std::optional<Expr> getDimCoefficient(Expr expr, unsigned dim);

/// Whether the dim, or any Indirect, occurs anywhere.
bool usesDim(Expr expr, unsigned dim);
bool usesIndirect(Expr expr);

} // namespace fusec

#endif // FUSEC_IR_INDEXMAP_H
