// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Powers of small constant exponents are products, roots and reciprocals: the
// general power takes some eighty instructions an element, and a kernel that
// squares what it reads is then bound by them instead of by memory.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_EXPANDPOWERS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// What gives x to the power of `exponent`, rounded once; nothing for others.
static Value expandExactly(PowOp op, PatternRewriter &rewriter) {
  Value x = op.getLhs(), exponent = op.getRhs();
  bool isFloat = isa<FloatType>(getElementType(op.getResult()));
  if (isSplatOf(exponent, 1))
    return x;
  if (isSplatOf(exponent, 2))
    return MulOp::create(rewriter, op.getLoc(), x, x);
  if (isFloat && isSplatOf(exponent, -1))
    return ReciprocalOp::create(rewriter, op.getLoc(), x.getType(), x);
  return {};
}

/// A cube, or a root.
static Value expandFast(PowOp op, PatternRewriter &rewriter) {
  Value x = op.getLhs(), exponent = op.getRhs();
  if (isSplatOf(exponent, 3)) {
    Value square = MulOp::create(rewriter, op.getLoc(), x, x);
    return MulOp::create(rewriter, op.getLoc(), square, x);
  }
  if (!isa<FloatType>(getElementType(op.getResult())))
    return {};
  if (isSplatOf(exponent, 0.5))
    return SqrtOp::create(rewriter, op.getLoc(), x.getType(), x);
  if (isSplatOf(exponent, -0.5))
    return RsqrtOp::create(rewriter, op.getLoc(), x.getType(), x);
  return {};
}

namespace {
struct ExpandPower : OpRewritePattern<PowOp> {
  ExpandPower(MLIRContext *context, bool exact)
      : OpRewritePattern(context), exact(exact) {}

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value result = expandExactly(op, rewriter);
    if (!result && !exact)
      result = expandFast(op, rewriter);
    if (!result)
      return rewriter.notifyMatchFailure(op, "has no exponent of a short form");
    remarkPassed(remarks::expandPower, op.getLoc())
        << "a power of a constant exponent became products or a root";
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  bool exact;
};

struct ExpandPowers : fusec::impl::ExpandPowersBase<ExpandPowers> {
  using ExpandPowersBase::ExpandPowersBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandPower>(&getContext(), exact);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
