// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums and maxima over gathered rows, times weights or not, are embedding bags.
// What is the same for all of a bag's rows, a scale or a cast, is theirs.

#include "compiler/Remarks.h"
#include "compiler/kernels/bag/device/bag_config.h"
#include "compiler/transforms/tensor/BagPatterns.h"

using namespace mlir;
using namespace fusec;

bool fusec::isTable(Value table) {
  Type type = getElementType(table);
  return getRank(table) == 2 && getSizes(table)[1].isConstant() &&
         getSizes(table)[1].getValue() > 0 &&
         getSizes(table)[1].getValue() <= mostOfBag &&
         (type.isF16() || type.isBF16() || type.isF32() || type.isInteger(8));
}

bool fusec::isSameAlongLast(Value value) {
  int64_t last = getRank(value) - 1;
  ViewSource source = traceViews(value);
  return source.map.conditions.empty() &&
         llvm::none_of(source.map.results,
                       [&](Expr at) { return usesDim(at, last); });
}

Value fusec::dropLast(Value value, Location loc, PatternRewriter &rewriter) {
  MLIRContext *context = value.getContext();
  Sizes sizes = getSizes(value),
        first(sizes.size(), Expr::constant(context, 0));
  sizes.back() = Expr::constant(context, 1);
  Value column = createSlice(rewriter, loc, value, first, sizes,
                             SmallVector<int64_t>(sizes.size(), 1));
  return dropUnitDim(rewriter, loc, column, sizes.size() - 1);
}

bool fusec::gathersRows(GatherOp gather) {
  ArrayRef<int64_t> positions = gather.getPositions();
  return getRank(gather.getSource()) == 2 && positions[0] < 0 &&
         positions[1] == getRank(gather.getResult()) - 1 &&
         isSameAlongLast(gather.getIndices()[-1 - positions[0]]);
}

Value fusec::createRowIndices(GatherOp gather, PatternRewriter &rewriter) {
  return dropLast(gather.getIndices()[-1 - gather.getPositions()[0]],
                  gather.getLoc(), rewriter);
}

namespace {
/// Rows that are gathered, and what each is multiplied with.
struct WeightedRows {
  GatherOp gather;
  SmallVector<Value> weights; // [.., width] each, the same along the width
  std::optional<LeftOut> leftOut;
  // Of rows that are left out beyond a bag's length, and what stands for them.
  std::optional<ViewSource> lengths;
  double fill = 0;
  // Of rows that are quantised, matrices of a row for each of the table's.
  Value factors, zeros;
};
} // namespace

/// Halves that only this reads are widened for it.
static Value skipWidening(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  Type from = cast ? getElementType(cast.getOperand()) : Type();
  return cast && cast->hasOneUse() && getElementType(cast).isF32() &&
                 (from.isF16() || from.isBF16())
             ? cast.getOperand()
             : value;
}

/// The matrix whose rows are gathered as `rows` is, and repeated along blocks
/// of columns: null where value is nothing such.
static Value matchBlocks(Value value, GatherOp rows) {
  ViewSource source = traceViews(value);
  auto gather = source.value.getDefiningOp<GatherOp>();
  if (!gather || !gathersRows(gather) || !source.map.conditions.empty() ||
      gather.getPolicy() != rows.getPolicy())
    return {};
  MLIRContext *context = value.getContext();
  SmallVector<Expr> point = IndexMap::identity(context, getRank(value)).results;
  Expr blocks = getSizes(gather.getResult()).back(),
       width = getSizes(value).back();
  if (!blocks.isConstant() || blocks.getValue() < 1 ||
      width.getValue() % blocks.getValue() != 0)
    return {};
  int64_t blockWidth = width.getValue() / blocks.getValue();
  point.back() =
      blocks.isConstant(1)
          ? Expr::constant(context, 0)
          : point.back().floorDiv(Expr::constant(context, blockWidth));
  if (ArrayRef(source.map.results) != ArrayRef(point))
    return {};
  // The same indices.
  auto trace = [](GatherOp each) {
    return traceViews(each.getIndices()[-1 - each.getPositions()[0]]);
  };
  ViewSource a = trace(gather), b = trace(rows);
  return a.value == b.value && a.map.results == b.map.results
             ? gather.getSource()
             : Value();
}

/// Rows as they are, or (rows - zeros) * factors of 8-bit integers.
static FailureOr<WeightedRows> matchUnweighted(Value value, bool exact) {
  WeightedRows rows;
  // What is rounded to halves before it is summed.
  auto isFloat = [](Value each) {
    return isa<FloatType>(getElementType(each));
  };
  if (auto cast = value.getDefiningOp<CastOp>(); cast && cast->hasOneUse() &&
                                                 !exact && isFloat(cast) &&
                                                 isFloat(cast.getOperand()))
    value = cast.getOperand();
  if (auto product = value.getDefiningOp<MulOp>()) {
    Value wide = product.getLhs(), factors = product.getRhs(), zeros;
    auto isWide = [](Value side) {
      return isa_and_present<SubOp, CastOp>(side.getDefiningOp());
    };
    if (!isWide(wide))
      std::swap(wide, factors);
    if (auto difference = wide.getDefiningOp<SubOp>()) {
      wide = difference.getLhs();
      zeros = difference.getRhs();
    }
    auto cast = wide.getDefiningOp<CastOp>();
    rows.gather = cast ? cast.getOperand().getDefiningOp<GatherOp>() : nullptr;
    if (!rows.gather || !getElementType(rows.gather).isInteger(8) ||
        !getSizes(rows.gather.getResult()).back().isConstant())
      return failure();
    rows.factors = matchBlocks(factors, rows.gather);
    rows.zeros = zeros ? matchBlocks(zeros, rows.gather) : Value();
    if (!rows.factors || !!rows.zeros != !!zeros ||
        (zeros && rows.zeros.getType() != rows.factors.getType()))
      return failure();
  } else {
    rows.gather = value.getDefiningOp<GatherOp>();
  }
  if (!rows.gather || !rows.gather->hasOneUse() || !gathersRows(rows.gather) ||
      !isTable(rows.gather.getSource()) ||
      getElementType(rows.gather).isInteger(8) != !!rows.factors)
    return failure();
  return rows;
}

static FailureOr<WeightedRows> matchRows(Value value, bool exact);

/// Rows, but 0 where their ids are a number, or at most one; or a number beyond
/// a length.
static FailureOr<WeightedRows> matchSelected(SelectOp select, bool exact) {
  for (Value side : {select.getTrueValue(), select.getFalseValue()}) {
    auto rows = matchRows(side, exact);
    if (failed(rows) || rows->leftOut || rows->lengths)
      continue;
    rows->leftOut = getUnselectedIds(
        select, side,
        rows->gather.getIndices()[-1 - rows->gather.getPositions()[0]]);
    if (!rows->leftOut)
      rows->lengths = getUnselectedLengths(select, side, rows->fill);
    if (rows->leftOut || rows->lengths)
      return rows;
  }
  return failure();
}

/// Fails where products would not be rounded as `exact` asks for.
static FailureOr<WeightedRows> matchRows(Value value, bool exact) {
  value = skipWidening(value);
  auto rows = matchUnweighted(value, exact);
  if (auto select = value.getDefiningOp<SelectOp>();
      select && select->hasOneUse())
    return matchSelected(select, exact);
  auto product = value.getDefiningOp<MulOp>();
  if (succeeded(rows) || !product || !product->hasOneUse() ||
      (exact && !getElementType(value).isF32()))
    return rows;
  for (auto [a, b] : {std::pair(product.getLhs(), product.getRhs()),
                      std::pair(product.getRhs(), product.getLhs())}) {
    if (!isSameAlongLast(b))
      continue;
    rows = matchRows(a, exact);
    if (failed(rows) || rows->fill != 0 ||
        (!rows->weights.empty() &&
         (exact || getElementType(rows->weights[0]) != getElementType(b))))
      continue;
    rows->weights.push_back(b);
    return rows;
  }
  return failure();
}

namespace {
/// A sum or maximum over the rows that indices [bag, k] name.
struct BagOfReduce : OpRewritePattern<ReduceOp> {
  BagOfReduce(MLIRContext *context, bool exact)
      : OpRewritePattern(context), exact(exact) {}

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    bool isSum = op.getKind() == ReduceKind::Sum;
    // Exporters sum halves in fp32, as bags do.
    if ((!isSum && op.getKind() != ReduceKind::Max) ||
        op.getAxes() != ArrayRef<int64_t>{1} || op.getParts() ||
        getRank(op.getOperand()) != 3)
      return rewriter.notifyMatchFailure(op, "reduces no gathered rows");
    Expr count = getSizes(op.getOperand())[1];
    // What has only a name may be 0, of which a maximum is no bag's zero.
    if (!count.isConstant()
            ? !isSum
            : count.getValue() < 1 || count.getValue() > mostOfBag)
      return rewriter.notifyMatchFailure(op, "a bag's rows are too many, or of "
                                             "a maximum only named");
    auto rows = matchRows(op.getOperand(), exact);
    // What is left out of a sum is 0 to a maximum.
    if (failed(rows) || (!isSum && rows->leftOut) ||
        (rows->lengths && !canHaveLengths(*rows, count, isSum)))
      return rewriter.notifyMatchFailure(op, "reduces no gathered rows");
    SmallVector<Value> weights, factors, zeros;
    for (Value each : rows->weights) {
      Value factor = dropLast(each, op.getLoc(), rewriter);
      if (weights.empty())
        weights.push_back(factor);
      else
        weights[0] = MulOp::create(rewriter, op.getLoc(), weights[0], factor);
    }
    if (rows->factors)
      factors.push_back(rows->factors);
    if (rows->zeros)
      zeros.push_back(rows->zeros);
    remarkPassed(remarks::formBag, op.getLoc())
        << (isSum ? "a sum" : "a maximum")
        << " of gathered rows became an embedding bag";
    Value lengths;
    if (rows->lengths)
      lengths = createLengths(*rows->lengths, op.getLoc(), rewriter);
    auto bag = BagOp::create(
        rewriter, op.getLoc(), op.getType(),
        isSum ? BagMode::Sum : BagMode::Max, rows->gather.getSource(),
        createRowIndices(rows->gather, rewriter), ValueRange(), weights,
        factors, zeros, rows->gather.getPolicy(), ArrayRef<double>(1.0),
        rows->leftOut ? rewriter.getDenseI64ArrayAttr(rows->leftOut->number)
                      : DenseI64ArrayAttr(),
        rows->leftOut ? rows->leftOut->by : PadsBy::Row);
    if (lengths) {
      setLengths(bag, lengths);
      if (!isSum)
        bag.setFillAttr(rewriter.getF64FloatAttr(rows->fill));
    }
    rewriter.replaceOp(op, bag);
    return success();
  }

  /// Of bags of several rows, of a table that has some; a sum leaves out zeros.
  static bool canHaveLengths(WeightedRows &rows, Expr count, bool isSum) {
    Expr tableRows = getSizes(rows.gather.getSource())[0];
    return tableRows.isConstant() && tableRows.getValue() > 0 &&
           !count.isConstant(1) && (!isSum || rows.fill == 0);
  }

  bool exact;
};

/// Kernels of bags read what others would as bytes.
struct BagOfSmallRows : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    auto rows = matchUnweighted(op, /*exact=*/false);
    if (failed(rows) || !rows->factors ||
        !fitsFourBits(rows->gather.getSource()))
      return rewriter.notifyMatchFailure(op, "dequantises no rows of 4 bits");
    Location loc = op.getLoc();
    Value index = createRowIndices(rows->gather, rewriter);
    Expr count = getElementCount(getSizes(index), op.getContext()),
         width = getSizes(op.getResult()).back();
    Sizes from = getSizes(index),
          column = {count, Expr::constant(op.getContext(), 1)};
    auto toColumn = getReshapeGroups(from, column),
         toRows = getReshapeGroups({count, width}, getSizes(op.getResult()));
    if (!toColumn || !toRows)
      return rewriter.notifyMatchFailure(op, "indices are no column");
    SmallVector<Value> zeros;
    if (rows->zeros)
      zeros.push_back(rows->zeros);
    Value bag = BagOp::create(
        rewriter, loc,
        getTensorType({count, width}, getElementType(op.getResult())),
        BagMode::Sum, rows->gather.getSource(),
        createReshape(rewriter, loc, index, column, *toColumn), ValueRange(),
        ValueRange(), rows->factors, zeros, rows->gather.getPolicy(),
        ArrayRef<double>(1.0), nullptr);
    remarkPassed(remarks::formBag, loc)
        << "rows of 4 bits an element became an embedding bag";
    rewriter.replaceOp(op, createReshape(rewriter, loc, bag,
                                         getSizes(op.getResult()), *toRows));
    return success();
  }
};

/// Weights that are all the same are a scale.
struct BagOfOneWeight : OpRewritePattern<BagOp> {
  BagOfOneWeight(MLIRContext *context, bool exact)
      : OpRewritePattern(context), exact(exact) {}

  LogicalResult matchAndRewrite(BagOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getWeights().size() != 1)
      return rewriter.notifyMatchFailure(op, "has no weights of its own");
    auto weight =
        dyn_cast_if_present<FloatAttr>(getSplatValue(op.getWeights()[0]));
    double scale = weight ? weight.getValueAsDouble() : 0;
    // The larger of products is not the product of the larger.
    if (!weight || !std::isfinite(scale) || (exact && scale != 1) ||
        (op.getMode() == BagMode::Max && scale < 0))
      return rewriter.notifyMatchFailure(op, "weights are no one scale");
    scale *= op.getScales()[0];
    rewriter.modifyOpInPlace(op, [&] {
      op.getWeightsMutable().clear();
      op.setScales(ArrayRef<double>(scale));
    });
    return success();
  }

  bool exact;
};

/// A mean is a scaled sum. Sums that fp16 rounds are not scaled so where each
/// operation's rounding counts.
template <typename ScaleOp> struct ScaledBag : OpRewritePattern<ScaleOp> {
  using OpRewritePattern<ScaleOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaleOp op,
                                PatternRewriter &rewriter) const override {
    constexpr bool isDivision = std::is_same_v<ScaleOp, DivOp>;
    auto bag = op->getOperand(0).template getDefiningOp<BagOp>();
    Value by = op->getOperand(1);
    if (!bag && !isDivision) {
      bag = by.getDefiningOp<BagOp>();
      by = op->getOperand(0);
    }
    auto factor = dyn_cast_if_present<FloatAttr>(getSplatValue(by));
    if (!bag || !bag->hasOneUse() || !factor)
      return rewriter.notifyMatchFailure(op, "scales no bag");
    double scale = factor.getValueAsDouble();
    if (isDivision)
      scale = 1 / scale;
    if (!std::isfinite(scale))
      return rewriter.notifyMatchFailure(op, "the scale is not finite");
    SmallVector<double> scales(bag.getScales());
    for (double &each : scales)
      each *= scale;
    rewriter.modifyOpInPlace(bag, [&] { bag.setScales(scales); });
    rewriter.replaceOp(op, bag);
    return success();
  }
};

/// Sums are rounded once.
struct CastOfBag : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    auto bag = op.getOperand().getDefiningOp<BagOp>();
    Type type = getElementType(op);
    if (!bag || !bag->hasOneUse() || !getElementType(bag).isF32() ||
        (!type.isF16() && !type.isBF16()))
      return rewriter.notifyMatchFailure(op, "casts no sums of fp32");
    rewriter.modifyOpInPlace(bag,
                             [&] { bag.getResult().setType(op.getType()); });
    rewriter.replaceOp(op, bag);
    return success();
  }
};
} // namespace

void fusec::populateBagsOfSmallRows(RewritePatternSet &patterns) {
  patterns.add<BagOfSmallRows, CastOfBag>(patterns.getContext());
}

void fusec::populateBagsOfRows(RewritePatternSet &patterns, bool exact) {
  MLIRContext *context = patterns.getContext();
  patterns.add<BagOfReduce, BagOfOneWeight>(context, exact);
  patterns.add<CastOfBag>(context);
  populateBagsOfSteps(patterns);
  populateBagsOfLengths(patterns, exact);
  populateBagsOfMasks(patterns, exact);
  if (!exact)
    patterns.add<ScaledBag<MulOp>, ScaledBag<DivOp>>(context);
}
