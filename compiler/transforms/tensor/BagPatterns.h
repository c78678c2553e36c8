// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the patterns that form embedding bags share.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_BAGPATTERNS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_BAGPATTERNS_H

#include "compiler/transforms/tensor/Rewrites.h"

namespace fusec {

/// Rows of tables that kernels know: 16- and 32-bit floats, or 8-bit integers
/// with factors, of a constant width.
bool isTable(mlir::Value table);

/// Whether a value is the same along its last dimension, which may have no
/// elements; and the value without it.
bool isSameAlongLast(mlir::Value value);
mlir::Value dropLast(mlir::Value value, mlir::Location loc,
                     mlir::PatternRewriter &rewriter);

/// Whether rows are gathered whole: [.., row] -> [.., row, width] by indices
/// that are the same along the width; and these without it.
bool gathersRows(GatherOp gather);
mlir::Value createRowIndices(GatherOp gather, mlir::PatternRewriter &rewriter);

/// Whether it is a constant table of bytes whose values take 4 bits.
bool fitsFourBits(mlir::Value table);

/// Ids that a bag has and does not add: one, or all up to one.
struct LeftOut {
  PadsBy by;
  int64_t number;
  bool operator==(const LeftOut &other) const {
    return by == other.by && number == other.number;
  }
};

/// The ids whose rows a select leaves out of [bag, k, width] by zeros: `rows`
/// is what it takes of others, and `ids` are theirs, of its sizes.
std::optional<LeftOut> getUnselectedIds(SelectOp op, mlir::Value rows,
                                        mlir::Value ids);

/// What is read at `at` where `operand` is of the op that computes its value
/// element by element.
ViewSource traceOn(const ViewSource &at, mlir::Value operand);
/// Behind casts that change neither 0 and 1 nor a number of ids; `withHalves`
/// behind those that round large ones, too.
ViewSource skipCasts(ViewSource at, bool withHalves = false);
/// A number, 0 of what is none.
double getNumber(mlir::TypedAttr value);
/// Whether the rows of a constant matrix that such ids name are of finite
/// numbers: those times 0 are 0. Ids below 0 name any.
bool areRowsFinite(mlir::Value matrix, LeftOut ids);
/// The sum of ones that a divisor is, but for what makes none of them more than
/// 0; and the mask that it adds, by bag and id.
std::optional<ViewSource> traceCount(mlir::Value by, bool withHalves);
std::optional<ViewSource> traceCountedMask(const ViewSource &count, BagOp bag);

/// The lengths in a mask of bag, id and maybe column that tells whether the
/// id's place is below its bag's length, or, inverse, is not.
std::optional<ViewSource> getMaskLengths(const ViewSource &mask,
                                         const Sizes &sizes, bool &isInverse);
/// The same of a select that takes `rows` below it, and `fill` elsewhere.
std::optional<ViewSource> getUnselectedLengths(SelectOp op, mlir::Value rows,
                                               double &fill);
/// Those as [bags, 1]; and makes them the lengths of a bag of one table.
mlir::Value createLengths(const ViewSource &lengths, mlir::Location loc,
                          mlir::PatternRewriter &rewriter);
void setLengths(BagOp bag, mlir::Value lengths);

/// Bags of reductions over gathered rows, with what scales and casts them.
void populateBagsOfRows(mlir::RewritePatternSet &patterns, bool exact);
/// What of them begins at multiples of a number.
void populateBagsOfSteps(mlir::RewritePatternSet &patterns);
/// What of them is weighted by masks of ids.
void populateBagsOfMasks(mlir::RewritePatternSet &patterns, bool exact);
/// What of them is weighted by masks of lengths.
void populateBagsOfLengths(mlir::RewritePatternSet &patterns, bool exact);
/// Lookups of dequantised rows, of tables that fit 4 bits, are bags of one.
void populateBagsOfSmallRows(mlir::RewritePatternSet &patterns);
/// Bags as one, in whose columns they lie in this order.
struct JoinedBags {
  mlir::Value bag;
  llvm::SmallVector<BagOp> parts;
};
/// Those of each kind, of which there are several.
llvm::SmallVector<JoinedBags> joinBags(llvm::ArrayRef<BagOp> bags,
                                       mlir::PatternRewriter &rewriter);
/// Bags that are added become one.
void populateBagsOfSums(mlir::RewritePatternSet &patterns);
/// Bags that lie side by side become one.
void populateBagsOfConcats(mlir::RewritePatternSet &patterns);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_BAGPATTERNS_H
