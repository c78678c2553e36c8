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

/// Bags of reductions over gathered rows, with what scales and casts them.
void populateBagsOfRows(mlir::RewritePatternSet &patterns, bool exact);
/// What of them begins at multiples of a number.
void populateBagsOfSteps(mlir::RewritePatternSet &patterns);
/// What of them is weighted by masks of ids.
void populateBagsOfMasks(mlir::RewritePatternSet &patterns, bool exact);
/// Lookups of dequantised rows, of tables that fit 4 bits, are bags of one.
void populateBagsOfSmallRows(mlir::RewritePatternSet &patterns);
/// Bags that lie side by side become one.
void populateBagsOfConcats(mlir::RewritePatternSet &patterns);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_BAGPATTERNS_H
