// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations and reciprocal square roots behind the expansions that exporters
// write; the named op is faster and at least as accurate.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_RECOGNIZEACTIVATIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Replaces `op` by the named op of `x`, and says so.
template <typename NamedOp>
static LogicalResult replaceBy(Operation *op, Value x, RemarkKind kind,
                               PatternRewriter &rewriter) {
  remarkPassed(kind, op->getLoc())
      << fmt::format("an expansion became '{}'", NamedOp::getOperationName());
  rewriter.replaceOpWithNewOp<NamedOp>(op, x.getType(), x);
  return success();
}

/// The other operand of a commutative op one operand of which is a splat.
template <typename BinaryOp>
static Value matchWithSplat(Value value, double number) {
  auto op = value ? value.getDefiningOp<BinaryOp>() : BinaryOp();
  if (!op)
    return {};
  if (isSplatNear(op.getRhs(), number))
    return op.getLhs();
  return isSplatNear(op.getLhs(), number) ? op.getRhs() : Value();
}

template <typename UnaryOp> static Value matchUnary(Value value) {
  auto op = value ? value.getDefiningOp<UnaryOp>() : UnaryOp();
  return op ? op.getOperand() : Value();
}

/// The x of 1 + exp(-x).
static Value matchLogisticDenominator(Value value) {
  Value exponential = matchWithSplat<AddOp>(value, 1);
  return exponential ? matchUnary<NegOp>(matchUnary<ExpOp>(exponential))
                     : Value();
}

/// Factors of a product, left to right; `stop` is not divided further.
static void collectFactors(Value value, Value stop,
                           SmallVectorImpl<Value> &factors) {
  auto mul = value.getDefiningOp<MulOp>();
  if (value == stop || !mul || factors.size() > 4)
    return factors.push_back(value);
  collectFactors(mul.getLhs(), stop, factors);
  collectFactors(mul.getRhs(), stop, factors);
}

/// The x of tanh's argument sqrt(2/pi) (x + 0.044715 x^3).
static Value matchTanhArgument(Value value) {
  Value sum = matchWithSplat<MulOp>(value, 0.7978845608028654);
  auto add = sum ? sum.getDefiningOp<AddOp>() : AddOp();
  if (!add)
    return {};
  for (auto [x, cubic] :
       {std::pair<Value, Value>(add.getLhs(), add.getRhs()),
        std::pair<Value, Value>(add.getRhs(), add.getLhs())}) {
    SmallVector<Value> factors;
    collectFactors(cubic, x, factors);
    unsigned power = 0, coefficients = 0, others = 0;
    for (Value factor : factors) {
      auto pow = factor.getDefiningOp<PowOp>();
      if (factor == x)
        ++power;
      else if (pow && pow.getLhs() == x && isSplatOf(pow.getRhs(), 3))
        power += 3;
      else if (isSplatNear(factor, 0.044715))
        ++coefficients;
      else
        ++others;
    }
    if (power == 3 && coefficients == 1 && others == 0)
      return x;
  }
  return {};
}

/// The x of erf's argument x / sqrt(2).
static Value matchErfArgument(Value value) {
  if (Value x = matchWithSplat<MulOp>(value, 0.7071067811865476))
    return x;
  auto div = value.getDefiningOp<DivOp>();
  return div && isSplatNear(div.getRhs(), 1.4142135623730951) ? div.getLhs()
                                                              : Value();
}

namespace {
struct RecognizeSilu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, gate] : {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
                           std::pair<Value, Value>(op.getRhs(), op.getLhs())})
      if (matchUnary<SigmoidOp>(gate) == x)
        return replaceBy<SiluOp>(op, x, remarks::recognizeSilu, rewriter);
    return rewriter.notifyMatchFailure(
        op, "no operand is the sigmoid of the other");
  }
};

/// 0.5 x (1 + erf(x / sqrt 2)) and 0.5 x (1 + tanh(..)), in any order.
struct RecognizeGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> candidates;
    collectFactors(op, {}, candidates);
    for (Value candidate : candidates) {
      Value curve = matchWithSplat<AddOp>(candidate, 1);
      if (!curve)
        continue;
      Value byErf = matchUnary<ErfOp>(curve),
            byTanh = matchUnary<TanhOp>(curve);
      Value x = byErf    ? matchErfArgument(byErf)
                : byTanh ? matchTanhArgument(byTanh)
                         : Value();
      if (!x || !isHalfOf(op, x, candidate))
        continue;
      return byErf ? replaceBy<GeluOp>(op, x, remarks::recognizeGelu, rewriter)
                   : replaceBy<GeluTanhOp>(op, x, remarks::recognizeGelu,
                                           rewriter);
    }
    return rewriter.notifyMatchFailure(
        op, "is no product of 0.5, x and 1 + erf or tanh of x");
  }

private:
  /// Whether the product is 0.5, x and `curve`, each once.
  static bool isHalfOf(Value product, Value x, Value curve) {
    SmallVector<Value> factors;
    collectFactors(product, x, factors);
    return factors.size() == 3 && llvm::is_contained(factors, x) &&
           llvm::is_contained(factors, curve) &&
           llvm::any_of(factors,
                        [](Value factor) { return isSplatNear(factor, 0.5); });
  }
};

/// 1 / (1 + exp(-x)), 1 / sqrt(x) and x / (1 + exp(-x)).
struct RecognizeQuotient : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(getElementType(op.getResult())))
      return rewriter.notifyMatchFailure(op, "is a quotient of integers");
    Value x = matchLogisticDenominator(op.getRhs());
    if (x && x == op.getLhs())
      return replaceBy<SiluOp>(op, x, remarks::recognizeSilu, rewriter);
    if (!isSplatOf(op.getLhs(), 1))
      return rewriter.notifyMatchFailure(op, "is no reciprocal");
    if (x)
      return replaceBy<SigmoidOp>(op, x, remarks::recognizeSigmoid, rewriter);
    if (Value radicand = matchUnary<SqrtOp>(op.getRhs()))
      return replaceBy<RsqrtOp>(op, radicand, remarks::recognizeRsqrt,
                                rewriter);
    return rewriter.notifyMatchFailure(
        op, "divides by neither a root nor 1 + exp(-x)");
  }
};

struct RecognizeReciprocal : OpRewritePattern<ReciprocalOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReciprocalOp op,
                                PatternRewriter &rewriter) const override {
    if (Value radicand = matchUnary<SqrtOp>(op.getOperand()))
      return replaceBy<RsqrtOp>(op, radicand, remarks::recognizeRsqrt,
                                rewriter);
    if (Value x = matchLogisticDenominator(op.getOperand()))
      return replaceBy<SigmoidOp>(op, x, remarks::recognizeSigmoid, rewriter);
    return rewriter.notifyMatchFailure(
        op, "inverts neither a root nor 1 + exp(-x)");
  }
};

/// log(1 + exp(x)), which overflows where softplus does not.
struct RecognizeSoftplus : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LogOp op,
                                PatternRewriter &rewriter) const override {
    if (Value x = matchUnary<ExpOp>(matchWithSplat<AddOp>(op.getOperand(), 1)))
      return replaceBy<SoftplusOp>(op, x, remarks::recognizeSoftplus, rewriter);
    return rewriter.notifyMatchFailure(op, "is not of 1 + exp(x)");
  }
};

struct RecognizeSoftplusOfLog1p : OpRewritePattern<Log1pOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(Log1pOp op,
                                PatternRewriter &rewriter) const override {
    if (Value x = matchUnary<ExpOp>(op.getOperand()))
      return replaceBy<SoftplusOp>(op, x, remarks::recognizeSoftplus, rewriter);
    return rewriter.notifyMatchFailure(op, "is not of exp(x)");
  }
};

struct RecognizeRelu : OpRewritePattern<MaxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaxOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, zero] : {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
                           std::pair<Value, Value>(op.getRhs(), op.getLhs())})
      if (isSplatOf(zero, 0))
        return replaceBy<ReluOp>(op, x, remarks::recognizeRelu, rewriter);
    return rewriter.notifyMatchFailure(op, "no operand is 0");
  }
};

struct RecognizeActivations
    : fusec::impl::RecognizeActivationsBase<RecognizeActivations> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeSilu, RecognizeGelu, RecognizeQuotient,
                 RecognizeReciprocal, RecognizeSoftplus,
                 RecognizeSoftplusOfLog1p, RecognizeRelu>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
