// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant scales and shifts around a product with constant weights move into
// the weights and the bias: batch norm after a linear layer, the weight of a
// norm before one. Computed in fp64, rounded once.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/Elements.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_FOLDSCALES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

using Vector = std::vector<double>;

/// The elements of a constant that depends on one dimension only, behind views;
/// nothing where it is no such constant. Floats only.
static std::optional<Vector> getConstantAlong(Value value, unsigned dim) {
  auto size = getSizes(value)[dim].getConstant();
  if (!size || !isa<FloatType>(getElementType(value)))
    return std::nullopt;
  if (auto splat = dyn_cast_if_present<FloatAttr>(getSplatValue(value)))
    return Vector(*size, splat.getValueAsDouble());
  ViewSource source = traceViews(value);
  auto constant = source.value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  std::string error;
  auto tensor = reference::Tensor::fromConstant(constant.getValue(), error);
  if (failed(tensor))
    return std::nullopt;
  Expr offset = Expr::constant(value.getContext(), 0);
  auto strides = reference::getDenseStrides(tensor->getSizes());
  for (auto [index, stride] : llvm::zip_equal(source.map.results, strides))
    offset = offset + index * stride;
  Vector all = reference::loadAll<double>(*tensor), values;
  for (int64_t i = 0; i < *size; ++i) {
    auto at = offset.evaluate([&](Expr leaf) -> std::optional<int64_t> {
      if (leaf.getKind() == ExprKind::Dim && leaf.getIndex() == dim)
        return i;
      return std::nullopt;
    });
    if (!at || *at < 0 || *at >= static_cast<int64_t>(all.size()))
      return std::nullopt;
    values.push_back(all[*at]);
  }
  return values;
}

/// A constant of the given type; nothing where rounding loses finite values.
static Value createConstant(OpBuilder &builder, Location loc, Type elementType,
                            ArrayRef<int64_t> sizes, const Vector &values) {
  auto tensor = reference::Tensor::allocate(elementType, sizes);
  reference::store<double>(tensor, 0, values);
  for (auto [stored, exact] :
       llvm::zip_equal(reference::loadAll<double>(tensor), values))
    if (!std::isfinite(stored) && std::isfinite(exact))
      return {};
  std::string name = "scaled";
  if (auto named = loc->findInstanceOf<NameLoc>())
    name = named.getName().str();
  return ConstantOp::create(builder, loc, tensor.toConstant(name));
}

static bool isMatrix(Value value) { return getRank(value) == 2; }

/// The product of rank 2 with constant weights that `value` is, used only
/// there.
static MatmulOp getWeightedProduct(Value value) {
  auto matmul = value.getDefiningOp<MatmulOp>();
  return matmul && value.hasOneUse() && isMatrix(value) &&
                 matmul.getRhs().getDefiningOp<ConstantOp>() &&
                 isa<FloatType>(getElementType(value))
             ? matmul
             : MatmulOp();
}

static std::optional<Vector> getWeights(MatmulOp op) {
  std::string error;
  auto tensor = reference::Tensor::fromConstant(
      op.getRhs().getDefiningOp<ConstantOp>().getValue(), error);
  if (failed(tensor))
    return std::nullopt;
  return reference::loadAll<double>(*tensor);
}

/// Weights times factors along K (`alongK`) or along N.
static Value scaleWeights(OpBuilder &builder, MatmulOp op,
                          const Vector &factors, bool alongK) {
  auto weights = getWeights(op);
  if (!weights)
    return {};
  auto sizes = cast<RankedTensorType>(op.getRhs().getType()).getShape();
  // K is the first dimension as stored, unless the weights are transposed.
  bool byRow = alongK != static_cast<bool>(op.getTransposeRhs());
  for (int64_t row = 0; row < sizes[0]; ++row)
    for (int64_t column = 0; column < sizes[1]; ++column)
      (*weights)[row * sizes[1] + column] *= factors[byRow ? row : column];
  return createConstant(builder, op.getRhs().getLoc(),
                        getElementType(op.getRhs()), sizes, *weights);
}

static void noteRewrite(RemarkKind kind, Operation *op, const Twine &text) {
  remarkPassed(kind, op->getLoc()) << text.str();
}

namespace {
/// (x . W) * s  ->  x . (W s).
struct ScaleOfProduct : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [product, scale] :
         {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
          std::pair<Value, Value>(op.getRhs(), op.getLhs())}) {
      MatmulOp matmul = getWeightedProduct(product);
      auto factors = matmul ? getConstantAlong(scale, 1) : std::nullopt;
      if (!factors)
        continue;
      Value weights =
          scaleWeights(rewriter, matmul, *factors, /*alongK=*/false);
      if (!weights)
        return rewriter.notifyMatchFailure(op, "the scaled weights overflow");
      noteRewrite(remarks::foldScale, op,
                  "a scale by columns became part of the weights");
      rewriter.replaceOpWithNewOp<MatmulOp>(
          op, op.getType(), matmul.getLhs(), weights,
          matmul.getTransposeLhsAttr(), matmul.getTransposeRhsAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "no operand is a product with constant weights of one use, "
            "or the other is no constant by columns");
  }
};

/// (x . W + b) * s  ->  (x . W) * s + b s.
struct ScaleOfBiasedProduct : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [sum, scale] :
         {std::pair<Value, Value>(op.getLhs(), op.getRhs()),
          std::pair<Value, Value>(op.getRhs(), op.getLhs())}) {
      auto add = sum.getDefiningOp<AddOp>();
      auto factors = add && sum.hasOneUse() && isMatrix(sum)
                         ? getConstantAlong(scale, 1)
                         : std::nullopt;
      if (!factors)
        continue;
      for (auto [product, shift] :
           {std::pair<Value, Value>(add.getLhs(), add.getRhs()),
            std::pair<Value, Value>(add.getRhs(), add.getLhs())}) {
        auto bias = getWeightedProduct(product) ? getConstantAlong(shift, 1)
                                                : std::nullopt;
        if (!bias)
          continue;
        for (size_t i = 0; i < bias->size(); ++i)
          (*bias)[i] *= (*factors)[i];
        Value scaled = createBias(rewriter, op, *bias);
        if (!scaled)
          return rewriter.notifyMatchFailure(op, "the scaled bias overflows");
        Value left = MulOp::create(rewriter, op.getLoc(), product, scale);
        rewriter.replaceOpWithNewOp<AddOp>(op, left, scaled);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(
        op, "is no constant scale of a product and a constant bias");
  }

  /// A row of constants, for each row of the op's result.
  static Value createBias(OpBuilder &builder, Operation *op,
                          const Vector &values) {
    Value result = op->getResult(0);
    Value row = createConstant(builder, op->getLoc(), getElementType(result),
                               {static_cast<int64_t>(values.size())}, values);
    return row ? createBroadcast(builder, op->getLoc(), row, getSizes(result),
                                 {1})
               : Value();
  }
};

/// (x . W + b) + c and (x . W + b) - c  ->  x . W + (b + c).
template <typename SumOp> struct SumOfBiases : OpRewritePattern<SumOp> {
  using OpRewritePattern<SumOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp op,
                                PatternRewriter &rewriter) const override {
    double sign = std::is_same_v<SumOp, SubOp> ? -1 : 1;
    auto inner = op.getLhs().template getDefiningOp<AddOp>();
    auto second = inner && op.getLhs().hasOneUse() && isMatrix(op.getLhs())
                      ? getConstantAlong(op.getRhs(), 1)
                      : std::nullopt;
    if (!second)
      return rewriter.notifyMatchFailure(
          op, "is no sum of a sum of one use and a constant by columns");
    for (auto [product, shift] :
         {std::pair<Value, Value>(inner.getLhs(), inner.getRhs()),
          std::pair<Value, Value>(inner.getRhs(), inner.getLhs())}) {
      auto first = getWeightedProduct(product) ? getConstantAlong(shift, 1)
                                               : std::nullopt;
      if (!first)
        continue;
      for (size_t i = 0; i < first->size(); ++i)
        (*first)[i] += sign * (*second)[i];
      Value bias = ScaleOfBiasedProduct::createBias(rewriter, op, *first);
      if (!bias)
        return rewriter.notifyMatchFailure(op,
                                           "the sum of the biases overflows");
      noteRewrite(remarks::foldShift, op, "two constant biases became one");
      rewriter.replaceOpWithNewOp<AddOp>(op, product, bias);
      return success();
    }
    return rewriter.notifyMatchFailure(op,
                                       "the inner sum has no constant bias");
  }
};

/// (x * s) . W  ->  x . (s W), where every use of the scaled operand allows it.
struct ScaleOfOperand : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool allows(OpOperand &use) {
    auto matmul = dyn_cast<MatmulOp>(use.getOwner());
    return matmul && use.getOperandNumber() == 0 && !matmul.getTransposeLhs() &&
           isMatrix(matmul.getResult()) &&
           matmul.getRhs().getDefiningOp<ConstantOp>();
  }

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto mul = op.getLhs().getDefiningOp<MulOp>();
    if (!mul || !isa<FloatType>(getElementType(op.getResult())))
      return rewriter.notifyMatchFailure(
          op, "the left operand is no product of floats");
    if (!llvm::all_of(mul->getUses(), allows))
      return rewriter.notifyMatchFailure(
          op, "the scaled operand is used elsewhere");
    for (auto [x, scale] :
         {std::pair<Value, Value>(mul.getLhs(), mul.getRhs()),
          std::pair<Value, Value>(mul.getRhs(), mul.getLhs())}) {
      auto factors = getConstantAlong(scale, 1);
      if (!factors)
        continue;
      Value weights = scaleWeights(rewriter, op, *factors, /*alongK=*/true);
      if (!weights)
        return rewriter.notifyMatchFailure(op, "the scaled weights overflow");
      noteRewrite(remarks::foldScale, mul,
                  "a scale of the left operand became part of the weights");
      rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), x, weights,
                                            op.getTransposeLhsAttr(),
                                            op.getTransposeRhsAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "the left operand has no constant scale along K");
  }
};

struct FoldScales : fusec::impl::FoldScalesBase<FoldScales> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ScaleOfProduct, ScaleOfBiasedProduct, SumOfBiases<AddOp>,
                 SumOfBiases<SubOp>, ScaleOfOperand>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
