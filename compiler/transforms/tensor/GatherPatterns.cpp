// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers at constant indices, and transposes that a gather's positions can
// say.

#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"

using namespace mlir;
using namespace fusec;

namespace {
/// A gather at constant indices, each the same everywhere, is a slice.
struct ConstantGatherToSlice : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    Sizes source = getSizes(op.getSource()), result = getSizes(op.getResult());
    SmallVector<Expr> offsets;
    SmallVector<int64_t> dims;
    Sizes sizes;
    for (auto [i, position] : llvm::enumerate(op.getPositions())) {
      if (position >= 0) {
        if (!dims.empty() && position <= dims.back())
          return rewriter.notifyMatchFailure(op, "transposes the source");
        dims.push_back(position);
        offsets.push_back(Expr::constant(getContext(), 0));
        sizes.push_back(source[i]);
        continue;
      }
      auto index = dyn_cast_if_present<IntegerAttr>(
          getSplatValue(op.getIndices()[-1 - position]));
      auto size = source[i].getConstant();
      if (!index || !size)
        return rewriter.notifyMatchFailure(
            op, "an index or the size it counts in is not known");
      int64_t at = index.getValue().getSExtValue();
      if (at < 0)
        at += *size;
      if (at < 0 || at >= *size)
        return rewriter.notifyMatchFailure(op, "an index is out of range");
      offsets.push_back(Expr::constant(getContext(), at));
      sizes.push_back(Expr::constant(getContext(), 1));
    }
    Value value = createSlice(rewriter, op.getLoc(), op.getSource(), offsets,
                              sizes, SmallVector<int64_t>(source.size(), 1));
    for (size_t i = source.size(); i-- > 0;)
      if (op.getPositions()[i] < 0)
        value = dropUnitDim(rewriter, op.getLoc(), value, i);
    remarkPassed(remarks::gatherToSlice, op.getLoc())
        << "a gather at constant indices is a slice";
    rewriter.replaceOp(
        op, createBroadcast(rewriter, op.getLoc(), value, result, dims));
    return success();
  }
};

/// Positions name the dimensions of the source in any order.
struct GatherOfTranspose : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSource().getDefiningOp<TransposeOp>();
    if (!transpose)
      return rewriter.notifyMatchFailure(op, "the source is no transpose");
    SmallVector<int64_t> positions(op.getPositions().size());
    for (auto [i, p] : llvm::enumerate(transpose.getPermutation()))
      positions[p] = op.getPositions()[i];
    rewriter.replaceOpWithNewOp<GatherOp>(
        op, op.getType(), transpose.getOperand(),
        rewriter.getDenseI64ArrayAttr(positions), op.getIndices(),
        op.getPolicyAttr());
    return success();
  }
};

/// A transposed result is gathered in that order; indices that are repeated, as
/// those of rows are, need no transpose of their own.
struct TransposeOfGather : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getOperand().getDefiningOp<GatherOp>();
    if (!gather || !op.getOperand().hasOneUse())
      return rewriter.notifyMatchFailure(
          op, "follows no gather, or one that others use");
    SmallVector<int64_t> place(op.getPermutation().size());
    for (auto [i, p] : llvm::enumerate(op.getPermutation()))
      place[p] = i;
    SmallVector<Value> indices;
    for (Value index : gather.getIndices()) {
      auto broadcast = index.getDefiningOp<BroadcastOp>();
      if (!getSplatValue(index) &&
          (!broadcast || getRank(broadcast.getOperand()) > 1))
        return rewriter.notifyMatchFailure(
            op, "an index operand would be transposed instead");
      indices.push_back(
          createTranspose(rewriter, op.getLoc(), index, op.getPermutation()));
    }
    auto positions = llvm::map_to_vector(
        gather.getPositions(), [&](int64_t p) { return p < 0 ? p : place[p]; });
    rewriter.replaceOpWithNewOp<GatherOp>(
        op, op.getType(), gather.getSource(),
        rewriter.getDenseI64ArrayAttr(positions), indices,
        gather.getPolicyAttr());
    return success();
  }
};
} // namespace

void fusec::populateGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<ConstantGatherToSlice, GatherOfTranspose, TransposeOfGather>(
      patterns.getContext());
}
