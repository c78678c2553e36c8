// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tensor rewrites share: views built from the sizes they lead to, and
// questions about constants behind views.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_REWRITES_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_REWRITES_H

#include "compiler/analysis/Views.h"
#include "ir/ShapeRules.h"
#include "mlir/IR/PatternMatch.h"

namespace fusec {

using Groups = llvm::SmallVector<llvm::SmallVector<int64_t>>;

/// The groups of a collapse or expand that passed its verifier.
Groups getGroups(CollapseOp op);
Groups getGroups(ExpandOp op);

// Each returns its operand where the view would change nothing.
mlir::Value createTranspose(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value,
                            llvm::ArrayRef<int64_t> permutation);
mlir::Value createCollapse(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, const Groups &groups);
/// `groups` are over `sizes`, the result's.
mlir::Value createExpand(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, llvm::ArrayRef<Expr> sizes,
                         const Groups &groups);
mlir::Value createBroadcast(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value value, llvm::ArrayRef<Expr> sizes,
                            llvm::ArrayRef<int64_t> dimensions);
mlir::Value createSlice(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, llvm::ArrayRef<Expr> offsets,
                        llvm::ArrayRef<Expr> sizes,
                        llvm::ArrayRef<int64_t> steps);

/// Replaces the concat by that of other values along its axis, or by the only
/// one.
void replaceConcat(mlir::PatternRewriter &rewriter, ConcatOp op,
                   llvm::ArrayRef<mlir::Value> values);

/// Exchanges the last two dimensions.
mlir::Value createMatrixTranspose(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value value);

/// Removes the dimension, whose size is 1.
mlir::Value dropUnitDim(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, unsigned dim);

/// How a reshape is written: collapse by `source`, then expand by `target`;
/// the groups are the finest whose sizes multiply to the same.
struct ReshapeGroups {
  Groups source, target;
};
/// Nothing where the sizes cannot be paired (a size 0 among them).
std::optional<ReshapeGroups> getReshapeGroups(llvm::ArrayRef<Expr> source,
                                              llvm::ArrayRef<Expr> target);
/// Number of collapse and expand ops that `createReshape` makes.
unsigned countReshapeOps(const ReshapeGroups &groups);
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<Expr> sizes,
                          const ReshapeGroups &groups);

/// The value of every element where all are equal and known, behind any views;
/// an IntegerAttr or a FloatAttr of the element type.
mlir::TypedAttr getSplatValue(mlir::Value value);
/// The axis along which the elements of a constant are their index.
std::optional<unsigned> findRangeAxis(ConstantOp constant);
/// Whether all elements are this number; false where they are unknown.
bool isSplatOf(mlir::Value value, double number);
/// Same, within what exporters and the element type round off.
bool isSplatNear(mlir::Value value, double number);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_REWRITES_H
