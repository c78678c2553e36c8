// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// flatten(x x^T) W with constant weights becomes a product of pairs, and so
// does a triangle of the outer product. That is a matmul of a column and a row,
// or a multiplication of two broadcasts; views may lie anywhere between.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/kernels/pairs/Pairs.h"
#include "compiler/kernels/pairs/device/pairs_config.h"
#include "compiler/transforms/tensor/OuterProducts.h"
#include "compiler/transforms/tensor/PairWeights.h"
#include "compiler/transforms/tensor/QuantizedWeights.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/FoldConstants.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_FORMPAIRS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Fewer make an outer product that is soon stored, and squares of features
/// that are half empty.
static constexpr int64_t fewestFeatures = 48;
/// Half of a triangle: the weights of all pairs of one are read, those of pairs
/// that the model leaves out as zeros.
static constexpr int64_t fewestOfSquare = 4;
/// Multiprocessors that parts are to fill, those of a large device. A plan has
/// as many parts as suit its own target (CountPairParts.cpp).
static constexpr int64_t typicalBlocks = 132;

namespace {
struct FormPairs : fusec::impl::FormPairsBase<FormPairs> {
  using FormPairsBase::FormPairsBase;

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (auto product : llvm::make_early_inc_range(block.getOps<MatmulOp>()))
      if (getRank(product.getLhs()) == 2)
        if (auto pairs = matchFlattenedPairs(product.getLhs(),
                                             product.getTransposeLhs()))
          rewrite(product, *pairs);
  }

  void rewrite(MatmulOp product, const FlattenedPairs &pairs);
  std::string findReason(MatmulOp product, const FlattenedPairs &pairs) const;
};
} // namespace

/// Why the product stays as it is; empty where it does not.
std::string FormPairs::findReason(MatmulOp product,
                                  const FlattenedPairs &pairs) const {
  if (pairs.features < fewestFeatures)
    return fmt::format("it has {} features, products of pairs have {} or "
                       "more",
                       pairs.features, fewestFeatures);
  if (int64_t all = pairs.features * pairs.features, own = pairs.places.size();
      own && own * fewestOfSquare < all)
    return fmt::format("it has {} of {} pairs", own, all);
  if (!isPairCountable(pairs.features,
                       getSizes(product.getType())[1].getValue()))
    return "it has no columns, or more of them or of features than kernels "
           "count";
  Type element = getElementType(product.getLhs());
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return "products of pairs are of f16, bf16 or f32";
  return "";
}

/// The constant that the product multiplies, or null. Weights that are bytes,
/// which folding leaves to products that make an operand of them, are
/// dequantised here: products of pairs make the other one.
static ConstantOp foldWeights(MatmulOp product, std::string &reason) {
  auto weights = product.getRhs().getDefiningOp<ConstantOp>();
  if (weights)
    return weights;
  reason = "its weights are no constants of the model";
  reference::FoldLimits limits;
  limits.growth = 8; // a byte that becomes a double
  reference::FoldBudget budget;
  budget.open(product->getParentOfType<ModelOp>());
  OpOperand *read = nullptr;
  for (auto constant : product->getBlock()->getOps<ConstantOp>()) {
    SmallVector<Operation *> ops = findDequantization(constant, read);
    if (ops.empty() || read != &product.getRhsMutable())
      continue;
    for (Operation *op : ops) {
      auto values = reference::foldConstants(op, budget, reason, limits);
      if (failed(values))
        return {};
      OpBuilder builder(op);
      weights = ConstantOp::create(builder, op->getLoc(),
                                   op->getResult(0).getType(), values->front());
      op->getResult(0).replaceAllUsesWith(weights);
      op->erase();
    }
    return weights;
  }
  return {};
}

void FormPairs::rewrite(MatmulOp product, const FlattenedPairs &pairs) {
  Location loc = product.getLoc();
  std::string reason = findReason(product, pairs);
  ConstantOp weights;
  if (reason.empty())
    weights = foldWeights(product, reason);
  if (!weights) {
    remarkMissed(remarks::formPairs, loc)
        << "the outer product is stored: " + reason;
    return;
  }
  bool exact =
      getElementType(product.getLhs()).isF32() && precision == Precision::Ieee;
  auto folded = foldPairWeights(
      weights.getValue(), {pairs.features, pairs.places},
      product.getTransposeRhs(), exact, getNodeName(weights.getLoc()), reason);
  if (failed(folded)) {
    remarkMissed(remarks::formPairs, loc)
        << "the outer product is stored: " + reason;
    return;
  }
  OpBuilder builder(product);
  SmallVector<Expr> sizes = getSizes(product.getType());
  Expr parts = countPairParts(sizes[0], pairs.features, sizes[1].getValue(),
                              typicalBlocks);
  Type f32 = builder.getF32Type();
  Value packed = ConstantOp::create(builder, weights.getLoc(),
                                    folded->packed.getType(), folded->packed);
  Value sums = PairProductOp::create(
      builder, loc, getTensorType({parts, sizes[0], sizes[1]}, f32), pairs.x,
      packed);
  Value result = ReduceOp::create(builder, loc, getTensorType(sizes, f32),
                                  ReduceKind::Sum, sums, ArrayRef<int64_t>{0});
  if (!folded->scales.empty()) {
    auto type = RankedTensorType::get(int64_t(folded->scales.size()), f32);
    Value scales = ConstantOp::create(
        builder, weights.getLoc(), type,
        DenseElementsAttr::get(type, ArrayRef<float>(folded->scales)));
    result = MulOp::create(builder, loc, result,
                           createBroadcast(builder, loc, scales, sizes, {1}));
  }
  if (result.getType() != product.getType())
    result = CastOp::create(builder, loc, product.getType(), result);
  remarkPassed(remarks::formPairs, loc)
      << fmt::format("{} features' pairs are multiplied as they are made, "
                     "by the {} of {} weights that symmetry leaves",
                     pairs.features, pairDepth(pairs.features),
                     pairs.features * pairs.features);
  product.replaceAllUsesWith(result);
  product.erase();
  for (Operation *op : pairs.dead)
    op->erase();
  if (weights.use_empty())
    weights.erase();
}
