// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scale by rows commutes with a product: (r x) . W -> r (x . W), where r has
// one value a row. A norm before a linear layer then computes r alone, the
// product's epilogue applies it, and the scaled x is never stored. Of 16-bit
// operands the product stays fp32 until it is scaled.
//
// So does a scale of the weights' columns, which quantised weights have: what
// is left of these, small integers, 16 bits hold exactly, and a kernel that
// makes its operand converts bytes and does nothing else.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/Elements.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <cmath>

namespace fusec {
#define GEN_PASS_DEF_MOVEROWSCALES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// The broadcast that spreads one value over each row of `value`, or null.
static BroadcastOp getRowBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return nullptr;
  int64_t last = getRank(value) - 1;
  Sizes sizes = getSizes(broadcast.getOperand());
  for (auto [i, dim] : llvm::enumerate(broadcast.getDimensions()))
    if (dim == last && !sizes[i].isConstant(1))
      return nullptr;
  return broadcast;
}

static bool isOnlyLeftOperand(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    auto product = dyn_cast<ContractionOp>(use.getOwner());
    return product && product.getNumSegments() == 1 &&
           use.getOperandNumber() == 0;
  });
}

static Value convert(OpBuilder &builder, Location loc, Value value,
                     Type element) {
  if (getElementType(value) == element)
    return value;
  return CastOp::create(builder, loc, getTensorType(getSizes(value), element),
                        value);
}

/// The product of other operands, times what `scale` has at the dimensions of
/// the product.
static void replaceByScaled(ContractionOp product, Value lhs, ValueRange rhs,
                            Value scale, ArrayRef<int64_t> dimensions) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  Type element = getElementType(lhs);
  Type wide = element.isF64() ? element : Type(builder.getF32Type());
  SmallVector<Type> types =
      llvm::map_to_vector(product.getResults(), [&](Value v) {
        return Type(getTensorType(getSizes(v), wide));
      });
  auto unscaled = ContractionOp::create(builder, loc, types, lhs, rhs);
  Value values = convert(builder, loc, scale, wide);
  for (auto [from, to] :
       llvm::zip_equal(unscaled.getResults(), product.getResults())) {
    Value spread =
        createBroadcast(builder, loc, values, getSizes(from), dimensions);
    Value scaled = MulOp::create(builder, loc, from, spread);
    to.replaceAllUsesWith(convert(builder, loc, scaled, getElementType(to)));
  }
  product.erase();
}

/// Where the left operand is scaled by rows.
static bool moveLeftScale(ContractionOp product) {
  auto mul = product.getLhs()[0].getDefiningOp<MulOp>();
  if (!mul || !isa<FloatType>(getElementType(mul)) || !isOnlyLeftOperand(mul))
    return false;
  for (auto [x, scale] : {std::pair(mul.getLhs(), mul.getRhs()),
                          std::pair(mul.getRhs(), mul.getLhs())}) {
    BroadcastOp rows = getRowBroadcast(scale);
    if (!rows)
      continue;
    remarkPassed(remarks::moveRowScale, mul.getLoc())
        << "a scale by rows is applied to the product";
    replaceByScaled(product, x, product.getRhs(), rows.getOperand(),
                    rows.getDimensions());
    return true;
  }
  return false;
}

namespace {
/// Whole numbers from `low` to `high`.
struct Integers {
  double low, high;
};
} // namespace

/// What constants, bytes and their differences are; nothing where it may be no
/// whole number.
static std::optional<Integers> getIntegers(Value value) {
  auto within = [](ArrayRef<double> values) -> std::optional<Integers> {
    if (!llvm::all_of(values, [](double v) { return v == std::nearbyint(v); }))
      return std::nullopt;
    auto [low, high] = std::minmax_element(values.begin(), values.end());
    return Integers{*low, *high};
  };
  if (auto splat = dyn_cast_if_present<FloatAttr>(getSplatValue(value)))
    return within(splat.getValueAsDouble());
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getIntegers(broadcast.getOperand());
  if (auto constant = value.getDefiningOp<ConstantOp>()) {
    std::string error;
    auto tensor = reference::Tensor::fromConstant(constant.getValue(), error);
    if (failed(tensor) || tensor->getElementCount() == 0)
      return std::nullopt;
    return within(reference::loadAll<double>(*tensor));
  }
  if (auto difference = value.getDefiningOp<SubOp>()) {
    auto a = getIntegers(difference.getLhs()),
         b = getIntegers(difference.getRhs());
    if (!a || !b)
      return std::nullopt;
    return Integers{a->low - b->high, a->high - b->low};
  }
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast || !getElementType(cast.getOperand()).isInteger(8))
    return std::nullopt;
  return getElementType(cast.getOperand()).isUnsignedInteger()
             ? Integers{0, 255}
             : Integers{-128, 127};
}

/// Whether values of the type are all of them.
static bool holds(Type type, const Integers &integers) {
  double most = std::ldexp(
      1, cast<FloatType>(type).getFPMantissaWidth()); // with the leading bit
  return -most <= integers.low && integers.high <= most;
}

namespace {
/// Weights, and what they are to be scaled by: a value for each column.
struct ScaledWeights {
  Value weights, scale;
};
} // namespace

/// The whole numbers that the right operand is, but for a scale of its columns.
static std::optional<ScaledWeights> splitWeights(OpBuilder &builder,
                                                 Value operand) {
  if (getRank(operand) != 2 || !operand.hasOneUse())
    return std::nullopt;
  Value matrix = operand;
  int64_t k = 0;
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (transpose) {
    matrix = transpose.getOperand();
    k = transpose.getPermutation()[0];
  }
  Value product = matrix;
  if (auto cast = product.getDefiningOp<CastOp>())
    product = cast.getOperand();
  auto mul = product.getDefiningOp<MulOp>();
  Type type = getElementType(operand);
  if (!mul || !isa<FloatType>(type) || !matrix.hasOneUse() || !mul->hasOneUse())
    return std::nullopt;
  for (auto [numbers, scale] : {std::pair(mul.getLhs(), mul.getRhs()),
                                std::pair(mul.getRhs(), mul.getLhs())}) {
    auto spread = scale.getDefiningOp<BroadcastOp>();
    if (!spread || getRank(spread.getOperand()) != 1 ||
        spread.getDimensions()[0] == k)
      continue;
    auto integers = getIntegers(numbers);
    if (!integers || !holds(type, *integers))
      continue;
    Location loc = mul.getLoc();
    Value narrow = convert(builder, loc, numbers, type);
    if (transpose)
      narrow =
          createTranspose(builder, loc, narrow, transpose.getPermutation());
    return ScaledWeights{narrow, spread.getOperand()};
  }
  return std::nullopt;
}

/// Where the weights are scaled by columns.
static bool moveRightScale(ContractionOp product) {
  if (product.getNumAccumulators() != 1)
    return false;
  OpBuilder builder(product);
  Value rhs = product.getRhs()[0];
  auto split = splitWeights(builder, rhs);
  if (!split)
    return false;
  int64_t column = getRank(product.getResult(0)) - 1;
  remarkPassed(remarks::moveRowScale, rhs.getLoc())
      << "a scale of the weights' columns is applied to the product";
  replaceByScaled(product, product.getLhs()[0], split->weights, split->scale,
                  column);
  return true;
}

namespace {
struct MoveRowScales : fusec::impl::MoveRowScalesBase<MoveRowScales> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (auto product :
         llvm::make_early_inc_range(block.getOps<ContractionOp>()))
      if (product.getNumSegments() == 1 && !moveLeftScale(product))
        moveRightScale(product);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace
