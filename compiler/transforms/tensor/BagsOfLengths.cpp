// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bags whose rows a mask made from lengths weighs, arange(k) < length: a bag
// has its first rows alone, and those beyond are not read. A sum over the
// length, or over the number of ids that the mask leaves, is a mean.

#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/BagPatterns.h"

using namespace mlir;
using namespace fusec;

/// Behind casts between integers that keep all values.
static ViewSource skipWiderIntegers(ViewSource at) {
  while (auto cast = at.value.getDefiningOp<CastOp>()) {
    auto to = dyn_cast<IntegerType>(getElementType(cast)),
         from = dyn_cast<IntegerType>(getElementType(cast.getOperand()));
    if (!to || !from || from.getWidth() == 1 ||
        (from.isUnsigned()
             ? from.getWidth() >= to.getWidth()
             : to.isUnsigned() || from.getWidth() > to.getWidth()))
      break;
    at = traceOn(at, cast.getOperand());
  }
  return at;
}

/// Whether the value is the number of a bag's id, dimension 1.
static bool isPlaceInBag(ViewSource at, const ExprRanges &ranges) {
  at = skipWiderIntegers(at);
  IndexMap map = at.map.simplify(ranges);
  if (!map.conditions.empty())
    return false;
  std::optional<unsigned> axis;
  if (auto iota = at.value.getDefiningOp<IotaOp>())
    axis = iota.getAxis();
  else if (auto constant = at.value.getDefiningOp<ConstantOp>())
    axis = findRangeAxis(constant);
  return axis && map.results[*axis] == Expr::dim(at.value.getContext(), 1);
}

/// Integers of 32 or 64 bits, or fewer, with one value for each bag: the others
/// of its dimensions are read at constants.
static std::optional<ViewSource> traceEachBag(ViewSource at,
                                              const Sizes &bagSizes) {
  at = skipWiderIntegers(at);
  at.map = at.map.simplify(ExprRanges(bagSizes));
  auto type = dyn_cast<IntegerType>(getElementType(at.value));
  if (!type || type.getWidth() == 1 ||
      (type.isUnsigned() && type.getWidth() == 64) ||
      !at.map.conditions.empty())
    return std::nullopt;
  unsigned found = 0;
  for (auto [size, place] : llvm::zip_equal(getSizes(at.value), at.map.results))
    if (place == Expr::dim(at.value.getContext(), 0) && size == bagSizes[0])
      ++found;
    else if (!place.isConstant())
      return std::nullopt;
  return found == 1 ? std::optional(at) : std::nullopt;
}

std::optional<ViewSource> fusec::getMaskLengths(const ViewSource &mask,
                                                const Sizes &sizes,
                                                bool &isInverse) {
  ViewSource at = skipCasts(mask, /*withHalves=*/true);
  isInverse = false;
  if (!getElementType(at.value).isInteger(1))
    return std::nullopt;
  while (auto inverse = at.value.getDefiningOp<NotOp>()) {
    at = traceOn(at, inverse.getOperand());
    isInverse = !isInverse;
  }
  Value place, length;
  if (auto less = at.value.getDefiningOp<LessOp>()) {
    place = less.getLhs();
    length = less.getRhs();
  } else if (auto less = at.value.getDefiningOp<LessOrEqualOp>()) {
    length = less.getLhs();
    place = less.getRhs();
    isInverse = !isInverse;
  }
  if (!place || !isPlaceInBag(traceOn(at, place), ExprRanges(sizes)))
    return std::nullopt;
  return traceEachBag(traceOn(at, length), sizes);
}

std::optional<ViewSource> fusec::getUnselectedLengths(SelectOp op, Value rows,
                                                      double &fill) {
  bool isFirst = op.getTrueValue() == rows, isInverse;
  auto other = dyn_cast_if_present<FloatAttr>(
      getSplatValue(isFirst ? op.getFalseValue() : op.getTrueValue()));
  auto lengths = getMaskLengths(traceViews(op.getCondition()),
                                getSizes(op.getResult()), isInverse);
  if (!other || !lengths || isFirst == isInverse)
    return std::nullopt;
  fill = other.getValueAsDouble();
  return lengths;
}

Value fusec::createLengths(const ViewSource &lengths, Location loc,
                           PatternRewriter &rewriter) {
  MLIRContext *context = rewriter.getContext();
  Expr one = Expr::constant(context, 1), bags;
  Sizes first, sizes;
  for (auto [size, place] :
       llvm::zip_equal(getSizes(lengths.value), lengths.map.results)) {
    bool isBag = !place.isConstant();
    first.push_back(isBag ? Expr::constant(context, 0) : place);
    sizes.push_back(isBag ? size : one);
    bags = isBag ? size : bags;
  }
  Value column = createSlice(rewriter, loc, lengths.value, first, sizes,
                             SmallVector<int64_t>(sizes.size(), 1));
  // All other dimensions are of one element.
  for (unsigned d = sizes.size(); d-- > 0;)
    if (lengths.map.results[d].isConstant())
      column = dropUnitDim(rewriter, loc, column, d);
  return createExpand(rewriter, loc, column, {bags, one}, {{0, 1}});
}

void fusec::setLengths(BagOp bag, Value lengths) {
  bag.getLengthsMutable().assign(lengths);
  int64_t first = 0;
  bag.setMeasured(ArrayRef<int64_t>(first));
}

/// Whether rows beyond a length are numbers that 0 makes 0, of tables that have
/// some.
static bool canLeaveOut(BagOp bag) {
  return llvm::all_of(bag.getRowOperands(), [](Value matrix) {
    Expr rows = getSizes(matrix)[0];
    return rows.isConstant() && rows.getValue() > 0 &&
           areRowsFinite(matrix, {PadsBy::UpTo, rows.getValue() - 1});
  });
}

namespace {
/// Rows beyond a length, which a mask multiplies with 0, are not read.
struct BagOfLengths : OpRewritePattern<BagOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BagOp op,
                                PatternRewriter &rewriter) const override {
    bool isMax = op.getMode() == BagMode::Max;
    if (op.getTables().size() != 1 || op.getWeights().empty() ||
        !op.getOffsets().empty() || op.getPadding() || !op.getLengths().empty())
      return rewriter.notifyMatchFailure(op, "has no weights of its own");
    Value weights = op.getWeights()[0];
    Sizes sizes = getSizes(weights);
    if (sizes[1].isConstant(1))
      return rewriter.notifyMatchFailure(op, "bags have one id");
    ViewSource at = traceViews(weights);
    bool isInverse;
    auto lengths = getMaskLengths(at, sizes, isInverse);
    Value others;
    if (auto product = at.value.getDefiningOp<MulOp>();
        product && !lengths && !isMax && getRank(product.getResult()) == 2 &&
        at.map.results ==
            IndexMap::identity(op.getContext(), getRank(weights)).results)
      for (auto [mask, other] : {std::pair(product.getLhs(), product.getRhs()),
                                 std::pair(product.getRhs(), product.getLhs())})
        if (!lengths &&
            (lengths = getMaskLengths(traceOn(at, mask), sizes, isInverse)))
          others = other;
    if (!lengths || isInverse || !canLeaveOut(op))
      return rewriter.notifyMatchFailure(
          op,
          "weights are no mask of lengths, or leave out what is not finite");
    remarkPassed(remarks::formBag, op.getLoc())
        << "a mask of lengths became the bag's";
    Value values = createLengths(*lengths, op.getLoc(), rewriter);
    rewriter.modifyOpInPlace(op, [&] {
      if (others)
        op.getWeightsMutable().assign(others);
      else
        op.getWeightsMutable().clear();
      setLengths(op, values);
      if (isMax)
        op.setFillAttr(rewriter.getF64FloatAttr(0));
    });
    return success();
  }
};

/// A sum over its length, or over the number of ids that its mask leaves.
struct MeanOfLengths : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    auto bag = op.getLhs().getDefiningOp<BagOp>();
    if (!bag || !bag->hasOneUse() || bag.getMode() != BagMode::Sum ||
        bag.getTables().size() != 1 || bag.getLengths().empty() ||
        bag.getPadding() || bag.getPacked() ||
        getSizes(op.getRhs()) != getSizes(bag.getResult()))
      return rewriter.notifyMatchFailure(op, "divides no sums of lengths");
    std::optional<double> least;
    bool withHalves = !getElementType(op.getResult()).isF32(),
         divides = dividesByLength(op.getRhs(), bag, withHalves, least);
    auto count = divides ? std::nullopt : traceCount(op.getRhs(), withHalves);
    if (!divides && (!count || !countsIds(*count, bag)))
      return rewriter.notifyMatchFailure(op, "divides by no length");
    remarkPassed(remarks::formBag, op.getLoc())
        << "a sum over its length became a mean";
    rewriter.modifyOpInPlace(bag, [&] {
      bag.setMode(BagMode::Mean);
      if (divides)
        bag.setLeastAttr(rewriter.getF64FloatAttr(
            least.value_or(-std::numeric_limits<double>::infinity())));
    });
    rewriter.replaceOp(op, bag);
    return success();
  }

private:
  /// Whether `at`, of bag and column, is the bag's own lengths, behind casts.
  static bool isLength(const ViewSource &at, BagOp bag, bool withHalves) {
    auto given =
        traceEachBag(skipCasts(at, withHalves), getSizes(bag.getResult()));
    if (!given)
      return false;
    ViewSource own = skipWiderIntegers(traceViews(bag.getLengths()[0]));
    ExprRanges ranges(getSizes(bag.getLengths()[0]));
    return own.value == given->value && own.map.simplify(ranges).results ==
                                            given->map.simplify(ranges).results;
  }

  /// Whether `by` is the length, or with `least` this where it is more.
  static bool dividesByLength(Value by, BagOp bag, bool withHalves,
                              std::optional<double> &least) {
    ViewSource at = skipCasts(traceViews(by), withHalves);
    if (isLength(at, bag, withHalves))
      return true;
    Operation *bound = at.value.getDefiningOp();
    if (!isa_and_present<MaxOp, AddOp>(bound))
      return false;
    for (auto [length, other] :
         {std::pair(bound->getOperand(0), bound->getOperand(1)),
          std::pair(bound->getOperand(1), bound->getOperand(0))}) {
      double number = getNumber(getSplatValue(other));
      // What fp32 adds to 1 in vain; sums without rows are 0.
      if (number > 0 && (isa<MaxOp>(bound) || number < 0x1p-25) &&
          isLength(traceOn(at, length), bag, withHalves)) {
        least = number;
        return true;
      }
    }
    return false;
  }

  /// Whether a sum adds 1 for each id of a bag within its length.
  static bool countsIds(const ViewSource &count, BagOp bag) {
    auto mask = traceCountedMask(count, bag);
    bool isInverse;
    Sizes sizes = getSizes(bag.getIndices()[0]);
    auto lengths =
        mask ? getMaskLengths(*mask, sizes, isInverse) : std::nullopt;
    return lengths && !isInverse &&
           isLength(*lengths, bag, /*withHalves=*/false);
  }
};
} // namespace

void fusec::populateBagsOfLengths(RewritePatternSet &patterns, bool exact) {
  patterns.add<BagOfLengths>(patterns.getContext());
  if (!exact)
    patterns.add<MeanOfLengths>(patterns.getContext());
}
