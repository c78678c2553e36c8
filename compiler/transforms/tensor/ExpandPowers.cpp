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

namespace {
struct ExpandPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), exponent = op.getRhs();
    Value result;
    if (isSplatOf(exponent, 1))
      result = x;
    else if (isSplatOf(exponent, 2))
      result = MulOp::create(rewriter, op.getLoc(), x, x);
    else if (isSplatOf(exponent, 3))
      result = MulOp::create(rewriter, op.getLoc(),
                             MulOp::create(rewriter, op.getLoc(), x, x), x);
    else if (isa<FloatType>(getElementType(op.getResult())))
      result = expandFraction(op, rewriter);
    if (!result)
      return rewriter.notifyMatchFailure(
          op, "the exponent is none of -1, -0.5, 0.5, 1, 2 and 3");
    remarkPassed(remarks::expandPower, op.getLoc())
        << "a power of a constant exponent became products or a root";
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static Value expandFraction(PowOp op, PatternRewriter &rewriter) {
    Value x = op.getLhs(), exponent = op.getRhs();
    if (isSplatOf(exponent, -1))
      return ReciprocalOp::create(rewriter, op.getLoc(), x.getType(), x);
    if (isSplatOf(exponent, 0.5))
      return SqrtOp::create(rewriter, op.getLoc(), x.getType(), x);
    if (isSplatOf(exponent, -0.5))
      return RsqrtOp::create(rewriter, op.getLoc(), x.getType(), x);
    return {};
  }
};

struct ExpandPowers : fusec::impl::ExpandPowersBase<ExpandPowers> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandPower>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
