// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bags whose rows a mask of their own ids weighs, as histories are that end in
// ids of padding: what the mask leaves out is the bag's padding, and a sum over
// the number of ids that are left is a mean.

#include "compiler/Remarks.h"
#include "compiler/kernels/bag/device/bag_config.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include "ir/Constants.h"
#include <cstring>

using namespace mlir;
using namespace fusec;

ViewSource fusec::traceOn(const ViewSource &at, Value operand) {
  ViewSource source = traceViews(operand);
  source.map = source.map.compose(at.map.results);
  return source;
}

ViewSource fusec::skipCasts(ViewSource at, bool withHalves) {
  auto keepsCounts = [&](Value value) {
    Type type = getElementType(value);
    return type.isF32() || type.isInteger(32) || type.isInteger(64) ||
           (withHalves && (type.isF16() || type.isBF16()));
  };
  while (auto cast = at.value.getDefiningOp<CastOp>()) {
    if (!getElementType(cast.getOperand()).isInteger(1) &&
        !(keepsCounts(cast) && keepsCounts(cast.getOperand())))
      break;
    at = traceOn(at, cast.getOperand());
  }
  return at;
}

double fusec::getNumber(TypedAttr value) {
  if (auto number = dyn_cast_if_present<FloatAttr>(value))
    return number.getValueAsDouble();
  auto number = dyn_cast_if_present<IntegerAttr>(value);
  return number ? double(number.getInt()) : 0;
}

static bool areSame(const ViewSource &a, const ViewSource &b,
                    const ExprRanges &ranges) {
  IndexMap left = a.map.simplify(ranges), right = b.map.simplify(ranges);
  return a.value == b.value && left.conditions.empty() &&
         right.conditions.empty() && left.results == right.results;
}

namespace {
/// Whether ids are among those, or are not.
struct Comparison {
  ViewSource ids;
  LeftOut those;
  bool areAmong;
};
} // namespace

/// `lhs` against a number, or a number against `rhs`: of ids below the number,
/// or as far as it.
static std::optional<Comparison> traceOrder(const ViewSource &at, Value lhs,
                                            Value rhs, bool isBelow) {
  auto getNumber = [](Value value) {
    auto number = dyn_cast_if_present<IntegerAttr>(getSplatValue(value));
    return number ? number.getInt() : -1;
  };
  if (int64_t number = getNumber(rhs); number >= 0)
    return Comparison{traceOn(at, lhs),
                      {PadsBy::UpTo, number - isBelow},
                      /*areAmong=*/true};
  // The others are those that the number is not below.
  if (int64_t number = getNumber(lhs); number >= 0)
    return Comparison{traceOn(at, rhs),
                      {PadsBy::UpTo, number - !isBelow},
                      /*areAmong=*/false};
  return std::nullopt;
}

static std::optional<Comparison> traceComparison(ViewSource at) {
  bool isInverse = false;
  while (auto inverse = at.value.getDefiningOp<NotOp>()) {
    at = traceOn(at, inverse.getOperand());
    isInverse = !isInverse;
  }
  std::optional<Comparison> found;
  if (auto less = at.value.getDefiningOp<LessOp>())
    found = traceOrder(at, less.getLhs(), less.getRhs(), /*isBelow=*/true);
  else if (auto less = at.value.getDefiningOp<LessOrEqualOp>())
    found = traceOrder(at, less.getLhs(), less.getRhs(), /*isBelow=*/false);
  else if (auto equal = at.value.getDefiningOp<EqualOp>())
    for (auto [ids, by] : {std::pair(equal.getLhs(), equal.getRhs()),
                           std::pair(equal.getRhs(), equal.getLhs())})
      if (auto number = dyn_cast_if_present<IntegerAttr>(getSplatValue(by)))
        found = Comparison{traceOn(at, ids),
                           {PadsBy::Index, number.getInt()},
                           /*areAmong=*/true};
  if (!found || found->those.number < 0)
    return std::nullopt;
  found->areAmong ^= isInverse;
  return found;
}

/// The ids that a mask, which is 0 or 1, leaves out.
static std::optional<LeftOut> getLeftOut(const ViewSource &mask,
                                         const ViewSource &ids,
                                         const ExprRanges &ranges) {
  ViewSource at = skipCasts(mask);
  auto found = getElementType(at.value).isInteger(1) ? traceComparison(at)
                                                     : std::nullopt;
  if (!found || found->areAmong || !areSame(found->ids, ids, ranges))
    return std::nullopt;
  return found->those;
}

std::optional<LeftOut> fusec::getUnselectedIds(SelectOp op, Value rows,
                                               Value ids) {
  Sizes sizes = getSizes(op.getResult());
  bool isFirst = op.getTrueValue() == rows;
  if (!isSplatOf(isFirst ? op.getFalseValue() : op.getTrueValue(), 0))
    return std::nullopt;
  auto found = traceComparison(traceViews(op.getCondition()));
  if (!found || found->areAmong == isFirst ||
      !areSame(found->ids, traceViews(ids), ExprRanges(sizes)))
    return std::nullopt;
  return found->those;
}

/// Of floats of so many bits, `exponent` of which are their exponents'.
template <class Word>
static bool areFinite(ArrayRef<char> bytes, Word exponent) {
  size_t count = bytes.size() / sizeof(Word);
  bool are = true;
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, bytes.data() + i * sizeof(Word), sizeof(Word));
    are &= (word & exponent) != exponent;
  }
  return are;
}

bool fusec::areRowsFinite(Value matrix, LeftOut ids) {
  auto constant = matrix.getDefiningOp<ConstantOp>();
  Sizes sizes = getSizes(matrix);
  if (!constant || !sizes[0].isConstant() || !sizes[1].isConstant())
    return false;
  Type type = getElementType(matrix);
  if (ids.number >= sizes[0].getValue())
    return false;
  if (isa<IntegerType>(type))
    return true;
  std::string error;
  auto data = getConstantData(constant.getValue(), error);
  if (failed(data))
    return false;
  ArrayRef<char> bytes = data->bytes;
  if (ids.by == PadsBy::Index) {
    int64_t row = sizes[1].getValue() * getElementBytes(type);
    bytes = bytes.slice(ids.number * row, row);
  }
  return type.isF32()    ? areFinite<uint32_t>(bytes, 0x7f800000)
         : type.isF16()  ? areFinite<uint16_t>(bytes, 0x7c00)
         : type.isBF16() ? areFinite<uint16_t>(bytes, 0x7f80)
                         : false;
}

/// Whether each element is that of the same place.
static bool isWhole(const ViewSource &source, Value value) {
  return getSizes(source.value) == getSizes(value) &&
         source.map.conditions.empty() &&
         source.map.results ==
             IndexMap::identity(value.getContext(), getRank(value)).results;
}

std::optional<ViewSource> fusec::traceCount(Value by, bool withHalves) {
  ViewSource at = skipCasts(traceViews(by), withHalves);
  Operation *bound = at.value.getDefiningOp();
  if (!isa_and_present<MaxOp, AddOp>(bound))
    return std::nullopt;
  for (auto [count, other] :
       {std::pair(bound->getOperand(0), bound->getOperand(1)),
        std::pair(bound->getOperand(1), bound->getOperand(0))}) {
    double least = getNumber(getSplatValue(other));
    // What fp32 adds to 1 in vain.
    bool isVain = isa<AddOp>(bound) ? least < 0x1p-25 : least <= 1;
    if (least > 0 && isVain)
      return skipCasts(traceOn(at, count), withHalves);
  }
  return std::nullopt;
}

std::optional<ViewSource> fusec::traceCountedMask(const ViewSource &count,
                                                  BagOp bag) {
  auto sum = count.value.getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != ReduceKind::Sum || sum.getParts() ||
      sum.getAxes().size() != 1)
    return std::nullopt;
  // Halves count as far as this.
  Type type = getElementType(sum.getResult());
  int64_t most = type.isF16() ? 2048 : type.isBF16() ? 256 : 0;
  if (!type.isF32() && !type.isInteger(32) && !type.isInteger(64) &&
      getSizes(bag.getIndices()[0])[1].getConstant().value_or(most + 1) > most)
    return std::nullopt;
  int64_t axis = sum.getAxes()[0];
  if (getSizes(sum.getOperand())[axis] != getSizes(bag.getIndices()[0])[1] ||
      llvm::any_of(count.map.results, [](Expr at) { return usesDim(at, 1); }))
    return std::nullopt;
  // A bag's number and that of its id in place of the sum's.
  SmallVector<Expr> point = count.map.results;
  point.insert(point.begin() + axis, Expr::dim(bag.getContext(), 1));
  ViewSource mask{sum.getOperand(), {point, count.map.conditions}};
  return traceOn(mask, sum.getOperand());
}

/// A sum of one table's bags, of as many ids each.
static bool isSumOfOne(BagOp bag) {
  return bag.getMode() == BagMode::Sum && bag.getTables().size() == 1 &&
         bag.getOffsets().empty() && bag.getLengths().empty() &&
         !bag.getPacked();
}

namespace {
/// A row that a mask multiplies with 0 is left out.
struct BagOfMask : OpRewritePattern<BagOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BagOp op,
                                PatternRewriter &rewriter) const override {
    if (!isSumOfOne(op) || op.getWeights().empty() || op.getPadding())
      return rewriter.notifyMatchFailure(op, "is no sum of weighted rows");
    Value weights = op.getWeights()[0];
    Sizes sizes = getSizes(weights);
    ExprRanges ranges(sizes);
    ViewSource at = traceViews(weights), ids = traceViews(op.getIndices()[0]);
    auto leftOut = getLeftOut(at, ids, ranges);
    SmallVector<Value> others;
    if (auto product = at.value.getDefiningOp<MulOp>();
        product && !leftOut && isWhole(at, weights))
      for (auto [mask, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())})
        if (!leftOut && (leftOut = getLeftOut(traceOn(at, mask), ids, ranges)))
          others.push_back(other);
    if (!leftOut || !llvm::all_of(op.getRowOperands(), [&](Value matrix) {
          return areRowsFinite(matrix, *leftOut);
        }))
      return rewriter.notifyMatchFailure(
          op, "weights are no mask of ids, or leave out what is not finite");
    remarkPassed(remarks::formBag, op.getLoc())
        << "a mask of ids became the bag's padding";
    rewriter.replaceOpWithNewOp<BagOp>(
        op, op.getType(), op.getMode(), op.getTables(), op.getIndices(),
        ValueRange(), others, op.getFactors(), op.getZeros(), op.getPolicy(),
        op.getScales(), rewriter.getDenseI64ArrayAttr(leftOut->number),
        leftOut->by);
    return success();
  }
};

/// A sum over the number of ids that a mask leaves, or 1 where it leaves none.
struct MeanOfMask : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto bag = op.getLhs().getDefiningOp<BagOp>();
    if (!bag || !bag->hasOneUse() || !isSumOfOne(bag) ||
        bag.getPadsBy() == PadsBy::Row || !bag.getWeights().empty() ||
        !getElementType(op.getResult()).isF32())
      return rewriter.notifyMatchFailure(op, "divides no sums without padding");
    auto count = traceCount(op.getRhs(), /*withHalves=*/false);
    if (!count || !countsIds(*count, bag))
      return rewriter.notifyMatchFailure(op, "divides by no number of ids");
    remarkPassed(remarks::formBag, op.getLoc())
        << "a sum over the number of ids that a mask leaves became a mean";
    rewriter.modifyOpInPlace(bag, [&] { bag.setMode(BagMode::Mean); });
    rewriter.replaceOp(op, bag);
    return success();
  }

private:
  /// Whether a sum adds 1 for each id of a bag that is no padding.
  static bool countsIds(const ViewSource &count, BagOp bag) {
    auto mask = traceCountedMask(count, bag);
    Value ids = bag.getIndices()[0];
    return mask &&
           getLeftOut(*mask, traceViews(ids), ExprRanges(getSizes(ids))) ==
               LeftOut{bag.getPadsBy(), bag.getPaddingOf(0)};
  }
};
} // namespace

void fusec::populateBagsOfMasks(RewritePatternSet &patterns, bool exact) {
  patterns.add<BagOfMask>(patterns.getContext());
  if (!exact)
    patterns.add<MeanOfMask>(patterns.getContext());
}
