// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices and concats that undo or contain each other.

#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"

using namespace mlir;
using namespace fusec;

static SmallVector<Expr> getOffsets(SliceOp op) {
  return llvm::map_to_vector(op.getOffsets().getAsRange<ExprAttr>(),
                             [](ExprAttr attr) { return Expr(attr); });
}

namespace {
struct MergeSlices : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<SliceOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "follows no other slice");
    SmallVector<Expr> offsets = getOffsets(inner);
    auto steps = llvm::to_vector(inner.getSteps());
    for (auto [i, offset] : llvm::enumerate(getOffsets(op))) {
      offsets[i] = offsets[i] + offset * steps[i];
      if (llvm::MulOverflow(steps[i], op.getSteps()[i], steps[i]))
        return rewriter.notifyMatchFailure(op, "the step overflows");
    }
    rewriter.replaceOp(op,
                       createSlice(rewriter, op.getLoc(), inner.getOperand(),
                                   offsets, getSizes(op.getResult()), steps));
    return success();
  }
};

/// A slice within one operand of a concat needs that operand only.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getOperand().getDefiningOp<ConcatOp>();
    if (!concat)
      return rewriter.notifyMatchFailure(op, "follows no concat");
    unsigned axis = concat.getAxis();
    SmallVector<Expr> offsets = getOffsets(op);
    int64_t step = op.getSteps()[axis];
    Expr first = offsets[axis];
    Expr last = first + (getSizes(op.getResult())[axis] - 1) * step;
    if (step < 0)
      std::swap(first, last);
    ExprRanges ranges({});
    Expr start = Expr::constant(getContext(), 0);
    for (Value value : concat.getValues()) {
      Expr end = start + getSizes(value)[axis];
      if (ranges.isNonNegative(first - start) &&
          ranges.isNonNegative(end - last - 1)) {
        offsets[axis] = offsets[axis] - start;
        rewriter.replaceOp(op, createSlice(rewriter, op.getLoc(), value,
                                           offsets, getSizes(op.getResult()),
                                           op.getSteps()));
        return success();
      }
      start = end;
    }
    return rewriter.notifyMatchFailure(
        op, "reads more than one operand of the concat");
  }
};

/// Slicing a repeated dimension repeats less.
struct SliceOfBroadcast : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "follows no broadcast");
    Sizes source = getSizes(broadcast.getOperand()),
          full = getSizes(op.getOperand());
    Sizes result = getSizes(op.getResult()), sizes;
    SmallVector<Expr> all = getOffsets(op), offsets;
    SmallVector<int64_t> steps;
    for (auto [i, d] : llvm::enumerate(broadcast.getDimensions())) {
      bool carries = source[i] == full[d] && !source[i].isConstant(1);
      offsets.push_back(carries ? all[d] : Expr::constant(getContext(), 0));
      sizes.push_back(carries ? result[d] : source[i]);
      steps.push_back(carries ? op.getSteps()[d] : 1);
    }
    Value operand = createSlice(rewriter, op.getLoc(), broadcast.getOperand(),
                                offsets, sizes, steps);
    rewriter.replaceOp(op, createBroadcast(rewriter, op.getLoc(), operand,
                                           result, broadcast.getDimensions()));
    return success();
  }
};

/// Concats of one axis inside each other are one; empty operands go. One that
/// is read in several places stays where that would repeat it: of x + x, twice
/// that, and so on, n of them would be one of 2^n operands.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  static constexpr size_t mostRepeated = 32;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto getInner = [&](Value value) {
      auto inner = value.getDefiningOp<ConcatOp>();
      return inner && inner.getAxis() == op.getAxis() ? inner : ConcatOp();
    };
    size_t repeated = 0;
    for (Value value : op.getValues())
      if (ConcatOp inner = getInner(value); inner && !inner->hasOneUse())
        repeated += inner.getValues().size();
    SmallVector<Value> values;
    for (Value value : op.getValues()) {
      ConcatOp inner = getInner(value);
      if (inner && (inner->hasOneUse() || repeated <= mostRepeated))
        llvm::append_range(values, inner.getValues());
      else if (!getSizes(value)[op.getAxis()].isConstant(0))
        values.push_back(value);
    }
    if (values.size() == op.getValues().size() || values.empty())
      return rewriter.notifyMatchFailure(op, "no operand is a concat or empty");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), values,
                                          op.getAxisAttr());
    return success();
  }
};

/// Neighbouring parts of one tensor are one slice of it.
struct ConcatOfSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    unsigned axis = op.getAxis();
    SmallVector<Value> values;
    for (Value value : op.getValues()) {
      if (!values.empty())
        if (Value joined = join(values.back(), value, axis, rewriter)) {
          values.back() = joined;
          continue;
        }
      values.push_back(value);
    }
    if (values.size() == op.getValues().size())
      return rewriter.notifyMatchFailure(
          op, "no operands are neighbours in one tensor");
    replaceConcat(rewriter, op, values);
    return success();
  }

private:
  static Value join(Value before, Value after, unsigned axis,
                    PatternRewriter &rewriter) {
    auto a = before.getDefiningOp<SliceOp>(),
         b = after.getDefiningOp<SliceOp>();
    if (!a || !b || a.getOperand() != b.getOperand() ||
        a.getSteps() != b.getSteps())
      return {};
    SmallVector<Expr> offsets = getOffsets(a), next = getOffsets(b);
    Sizes sizes = getSizes(before);
    for (unsigned i = 0; i < sizes.size(); ++i)
      if (next[i] !=
          (i == axis ? offsets[i] + sizes[i] * a.getSteps()[i] : offsets[i]))
        return {};
    sizes[axis] = sizes[axis] + getSizes(after)[axis];
    return createSlice(rewriter, rewriter.getFusedLoc({a.getLoc(), b.getLoc()}),
                       a.getOperand(), offsets, sizes, a.getSteps());
  }
};
} // namespace

void fusec::populateSlicePatterns(RewritePatternSet &patterns) {
  patterns.add<MergeSlices, SliceOfConcat, SliceOfBroadcast, FlattenConcat,
               ConcatOfSlices>(patterns.getContext());
}
