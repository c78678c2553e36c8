// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// flatten(x x^T) W with constant weights becomes a product of pairs. The outer
// product is a matmul of a column and a row, or a multiplication of two
// broadcasts; views may lie anywhere between.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/kernels/pairs/device/pairs_config.h"
#include "compiler/transforms/tensor/PairWeights.h"
#include "compiler/transforms/tensor/Rewrites.h"
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
/// What parts are to fill: about the multiprocessors of a large device, times
/// the widest tile's columns. Plans for smaller ones have some parts too many.
static constexpr int64_t blocksToFill = 132, widestTile = 256;

namespace {
/// Where an operand of the outer product is read: x, at [row, dimension 1 or 2
/// of the outer product].
struct Features {
  Value x;
  unsigned dim;
};

struct OuterProduct {
  Value x;
  int64_t features;
};
} // namespace

/// `value` at `indices`, which are over the sizes of the outer product: the
/// matrix behind views that has a row's features along one dimension.
static std::optional<Features>
traceFeatures(Value value, SmallVector<Expr> indices, ArrayRef<Expr> sizes) {
  MLIRContext *context = value.getContext();
  ExprRanges ranges(sizes);
  while (true) {
    if (getRank(value) == 2 && indices[0] == Expr::dim(context, 0))
      for (unsigned dim : {1, 2})
        if (indices[1] == Expr::dim(context, dim) &&
            getSizes(value)[1] == sizes[dim])
          return Features{value, dim};
    Operation *op = value.getDefiningOp();
    if (!op || !isa<CollapseOp, ExpandOp, TransposeOp, BroadcastOp>(op))
      return std::nullopt;
    IndexMap map =
        cast<IndexedOpInterface>(op).getOperandMap(0).compose(indices).simplify(
            ranges);
    indices = map.results;
    value = op->getOperand(0);
  }
}

/// The value is [row, i, j] of x_i x_j.
static std::optional<OuterProduct> matchOuterProduct(Value value) {
  SmallVector<Expr> sizes = getSizes(value);
  MLIRContext *context = value.getContext();
  if (sizes.size() != 3 || !sizes[1].isConstant() || sizes[1] != sizes[2])
    return std::nullopt;
  SmallVector<Expr> places = IndexMap::identity(context, 3).results, left,
                    right;
  Operation *op = value.getDefiningOp();
  if (auto matmul = dyn_cast_if_present<MatmulOp>(op)) {
    Expr zero = Expr::constant(context, 0);
    left = {places[0], places[1], zero};
    right = {places[0], zero, places[2]};
    if (matmul.getTransposeLhs())
      std::swap(left[1], left[2]);
    if (matmul.getTransposeRhs())
      std::swap(right[1], right[2]);
    if (!getSizes(matmul.getLhs())[matmul.getTransposeLhs() ? 1 : 2].isConstant(
            1))
      return std::nullopt;
  } else if (isa_and_present<MulOp>(op)) {
    left = right = places;
  } else {
    return std::nullopt;
  }
  auto a = traceFeatures(op->getOperand(0), left, sizes),
       b = traceFeatures(op->getOperand(1), right, sizes);
  if (!a || !b || a->x != b->x || a->dim == b->dim)
    return std::nullopt;
  return OuterProduct{a->x, sizes[1].getValue()};
}

/// [row, i * features + j] of an outer product that nothing else reads.
static std::optional<OuterProduct> matchFlattened(Value value) {
  ViewSource source = traceViews(value);
  auto outer = matchOuterProduct(source.value);
  if (!outer || getRank(value) != 2 || !source.map.conditions.empty())
    return std::nullopt;
  MLIRContext *context = value.getContext();
  Expr k = Expr::dim(context, 1),
       features = Expr::constant(context, outer->features);
  Expr expected[] = {Expr::dim(context, 0), k.floorDiv(features),
                     k.mod(features)};
  if (source.map.results != ArrayRef<Expr>(expected) ||
      !getSizes(value)[1].isConstant(outer->features * outer->features))
    return std::nullopt;
  for (Value read = value; read != source.value;
       read = read.getDefiningOp()->getOperand(0))
    if (!read.hasOneUse())
      return std::nullopt;
  return source.value.hasOneUse() ? outer : std::nullopt;
}

/// So many that blocks fill a device, of one tile of columns where that is
/// enough for all of them.
static Expr countParts(Expr rows, int64_t features, int64_t columns) {
  MLIRContext *context = rows.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr tiles = Expr::max(rows.ceilDiv(number(pairTileM)), number(1)) *
               int64_t(llvm::divideCeil(columns, widestTile));
  Expr parts = number(blocksToFill).floorDiv(tiles);
  return Expr::max(Expr::min(parts, number(pairSquares(features))), number(1));
}

namespace {
struct FormPairs : fusec::impl::FormPairsBase<FormPairs> {
  using FormPairsBase::FormPairsBase;

  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (auto product : llvm::make_early_inc_range(block.getOps<MatmulOp>()))
      if (auto outer = matchFlattened(product.getLhs());
          outer && !product.getTransposeLhs())
        rewrite(product, *outer);
  }

  void rewrite(MatmulOp product, const OuterProduct &outer);
  std::string findReason(MatmulOp product, const OuterProduct &outer) const;
};
} // namespace

/// Why the product stays as it is; empty where it does not.
std::string FormPairs::findReason(MatmulOp product,
                                  const OuterProduct &outer) const {
  if (!product.getRhs().getDefiningOp<ConstantOp>())
    return "its weights are no constants of the model";
  if (outer.features < fewestFeatures)
    return fmt::format("it has {} features, products of pairs have {} or "
                       "more",
                       outer.features, fewestFeatures);
  if (!isPairCountable(outer.features,
                       getSizes(product.getType())[1].getValue()))
    return "it has no columns, or more of them or of features than kernels "
           "count";
  Type element = getElementType(product.getLhs());
  if (element.isF32() && precision == Precision::Ieee)
    return "its products are exact (--precision=ieee)";
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return "products of pairs are of f16, bf16 or f32";
  return "";
}

void FormPairs::rewrite(MatmulOp product, const OuterProduct &outer) {
  Location loc = product.getLoc();
  std::string reason = findReason(product, outer);
  if (!reason.empty()) {
    remarkMissed(remarks::formPairs, loc)
        << "the outer product is stored: " + reason;
    return;
  }
  auto weights = product.getRhs().getDefiningOp<ConstantOp>();
  auto folded = foldPairWeights(weights.getValue(), outer.features,
                                product.getTransposeRhs(),
                                getNodeName(weights.getLoc()), reason);
  if (failed(folded)) {
    remarkMissed(remarks::formPairs, loc)
        << "the outer product is stored: " + reason;
    return;
  }
  OpBuilder builder(product);
  SmallVector<Expr> sizes = getSizes(product.getType());
  Expr parts = countParts(sizes[0], outer.features, sizes[1].getValue());
  Type f32 = builder.getF32Type();
  Value packed = ConstantOp::create(builder, weights.getLoc(),
                                    folded->packed.getType(), folded->packed);
  Value sums = PairProductOp::create(
      builder, loc, getTensorType({parts, sizes[0], sizes[1]}, f32), outer.x,
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
                     outer.features, pairDepth(outer.features),
                     outer.features * outer.features);
  Value outerProduct = traceViews(product.getLhs()).value;
  SmallVector<Operation *> dead;
  for (Value read = product.getLhs(); read != outerProduct;
       read = read.getDefiningOp()->getOperand(0))
    dead.push_back(read.getDefiningOp());
  dead.push_back(outerProduct.getDefiningOp());
  product.replaceAllUsesWith(result);
  product.erase();
  for (Operation *op : dead)
    op->erase();
  if (weights.use_empty())
    weights.erase();
}
