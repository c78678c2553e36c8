// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums over gathered rows are embedding bags, and all that are put side by side
// are one: all tables of a recommender in one launch.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/kernels/bag/device/bag_config.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_FORMBAGS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Whether rows are gathered whole: [.., row] -> [.., row, width] by indices
/// that are the same along the width.
static bool gathersRows(GatherOp gather) {
  ArrayRef<int64_t> positions = gather.getPositions();
  int64_t last = getRank(gather.getResult()) - 1;
  if (getRank(gather.getSource()) != 2 || positions[0] >= 0 ||
      positions[1] != last)
    return false;
  ViewSource source = traceViews(gather.getIndices()[-1 - positions[0]]);
  return source.map.conditions.empty() &&
         llvm::none_of(source.map.results,
                       [&](Expr at) { return usesDim(at, last); });
}

/// The indices of such a gather without the width.
static Value createRowIndices(GatherOp gather, PatternRewriter &rewriter) {
  Value index = gather.getIndices()[-1 - gather.getPositions()[0]];
  MLIRContext *context = index.getContext();
  Sizes sizes = getSizes(index),
        first(sizes.size(), Expr::constant(context, 0));
  sizes.back() = Expr::constant(context, 1);
  Value column = createSlice(rewriter, gather.getLoc(), index, first, sizes,
                             SmallVector<int64_t>(sizes.size(), 1));
  return dropUnitDim(rewriter, gather.getLoc(), column, sizes.size() - 1);
}

/// Rows of tables that kernels know: 16- and 32-bit floats of a constant width.
static bool isTable(Value table) {
  Type type = getElementType(table);
  return getRank(table) == 2 && getSizes(table)[1].isConstant() &&
         getSizes(table)[1].getValue() > 0 &&
         getSizes(table)[1].getValue() <= mostOfBag &&
         (type.isF16() || type.isBF16() || type.isF32());
}

namespace {
/// A sum over the rows that indices [bag, k] name.
struct BagOfSum : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    // Exporters sum halves in fp32, as bags do.
    Value summed = op.getOperand();
    if (auto cast = summed.getDefiningOp<CastOp>();
        cast && cast->hasOneUse() && getElementType(cast).isF32())
      summed = cast.getOperand();
    auto gather = summed.getDefiningOp<GatherOp>();
    if (op.getKind() != ReduceKind::Sum ||
        op.getAxes() != ArrayRef<int64_t>{1} || op.getParts() || !gather ||
        !gather->hasOneUse() || getRank(gather.getResult()) != 3)
      return rewriter.notifyMatchFailure(op, "sums no gathered rows");
    Expr count = getSizes(gather.getResult())[1];
    if (!isTable(gather.getSource()) || !count.isConstant() ||
        count.getValue() < 1 || count.getValue() > mostOfBag)
      return rewriter.notifyMatchFailure(op, "a size is only named");
    if (!gathersRows(gather))
      return rewriter.notifyMatchFailure(op, "gathers no whole rows");
    Value indices = createRowIndices(gather, rewriter);
    remarkPassed(remarks::formBag, op.getLoc())
        << "a sum of gathered rows became an embedding bag";
    rewriter.replaceOpWithNewOp<BagOp>(op, op.getType(), gather.getSource(),
                                       indices, gather.getPolicyAttr(),
                                       rewriter.getDenseF64ArrayAttr({1.0}));
    return success();
  }
};

/// A mean is a scaled sum. Sums that fp16 rounds are not scaled so where each
/// operation's rounding counts.
template <typename ScaleOp> struct ScaledBag : OpRewritePattern<ScaleOp> {
  using OpRewritePattern<ScaleOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaleOp op,
                                PatternRewriter &rewriter) const override {
    auto bag = op->getOperand(0).template getDefiningOp<BagOp>();
    auto factor =
        dyn_cast_if_present<FloatAttr>(getSplatValue(op->getOperand(1)));
    if (!bag || !bag->hasOneUse() || !factor)
      return rewriter.notifyMatchFailure(op, "scales no bag");
    double scale = factor.getValueAsDouble();
    if (isa<DivOp>(op))
      scale = 1 / scale;
    if (!std::isfinite(scale))
      return rewriter.notifyMatchFailure(op, "the scale is not finite");
    SmallVector<double> scales(bag.getScales());
    for (double &each : scales)
      each *= scale;
    rewriter.replaceOpWithNewOp<BagOp>(op, bag.getType(), bag.getTables(),
                                       bag.getIndices(), bag.getPolicyAttr(),
                                       rewriter.getDenseF64ArrayAttr(scales));
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
    rewriter.replaceOpWithNewOp<BagOp>(op, op.getType(), bag.getTables(),
                                       bag.getIndices(), bag.getPolicyAttr(),
                                       bag.getScalesAttr());
    return success();
  }
};

/// An operand of a concat as a bag: the bag itself, or gathered rows, which are
/// bags of one.
struct Operand {
  BagOp bag;
  GatherOp rows;
  bool isStacked; // [n, 1, width] rather than [n, width]

  Operation *get() { return bag ? bag.getOperation() : rows.getOperation(); }
  IndexPolicy getPolicy() { return bag ? bag.getPolicy() : rows.getPolicy(); }
};

/// Bags along the second dimension of a concat.
struct ConcatOfBags : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override;
};

struct FormBags : fusec::impl::FormBagsBase<FormBags> {
  using FormBagsBase::FormBagsBase;

  void runOnOperation() override {
    // First all bags, so that those of a concat become one at once.
    RewritePatternSet sums(&getContext()), concats(&getContext());
    sums.add<BagOfSum, CastOfBag>(&getContext());
    if (!exact)
      sums.add<ScaledBag<MulOp>, ScaledBag<DivOp>>(&getContext());
    concats.add<ConcatOfBags>(&getContext());
    for (RewritePatternSet *patterns : {&sums, &concats})
      if (failed(applyPatternsGreedily(getOperation(), std::move(*patterns))))
        signalPassFailure();
  }
};
} // namespace

static std::optional<Operand> matchOperand(Value value, ConcatOp concat) {
  int64_t rank = getRank(value);
  if (concat.getAxis() != 1 || !value.hasOneUse() || rank > 3 ||
      (rank == 3 && !getSizes(value)[1].isConstant(1)))
    return std::nullopt;
  Operand operand{{}, {}, rank == 3};
  if (operand.isStacked) {
    auto expand = value.getDefiningOp<ExpandOp>();
    if (!expand || getRank(expand.getOperand()) != 2 ||
        getSizes(expand.getOperand())[0] != getSizes(value)[0] ||
        !expand.getOperand().hasOneUse())
      return std::nullopt;
    value = expand.getOperand();
  }
  operand.bag = value.getDefiningOp<BagOp>();
  operand.rows = value.getDefiningOp<GatherOp>();
  if (operand.bag &&
      (!operand.isStacked || operand.bag.getTables().size() == 1))
    return operand;
  // [n, 1, width] where indices are [n, 1].
  if (auto collapse = value.getDefiningOp<CollapseOp>();
      collapse && collapse.getOperand().hasOneUse() &&
      getRank(collapse.getOperand()) == 3 && getRank(value) == 2 &&
      getSizes(collapse.getOperand())[1].isConstant(1))
    operand.rows = collapse.getOperand().getDefiningOp<GatherOp>();
  if (operand.rows && getRank(value) == 2 && gathersRows(operand.rows) &&
      isTable(operand.rows.getSource()))
    return operand;
  return std::nullopt;
}

namespace {
/// Neighbouring operands that can be one bag.
struct Run {
  SmallVector<Operand> operands;
  size_t tables = 0;
  bool hasBag = false;

  /// False where the operand is of another kind, or one too many.
  bool add(Operand operand);
};
} // namespace

static Value getTable(Operand operand) {
  return operand.bag ? operand.bag.getTables()[0] : operand.rows.getSource();
}
static Type getIndexType(Operand operand) {
  return getElementType(operand.bag ? operand.bag.getIndices()[0]
                                    : operand.rows.getIndices()[0]);
}

bool Run::add(Operand operand) {
  size_t more = operand.bag ? operand.bag.getTables().size() : 1;
  if (tables + more > mostBagTables)
    return false;
  if (!operands.empty()) {
    Operand first = operands[0];
    if (first.isStacked != operand.isStacked ||
        first.getPolicy() != operand.getPolicy() ||
        getIndexType(first) != getIndexType(operand) ||
        getElementType(getTable(first)) != getElementType(getTable(operand)))
      return false;
  }
  operands.push_back(operand);
  tables += more;
  hasBag |= !!operand.bag;
  return true;
}

static Value createBag(const Run &run, Type type, PatternRewriter &rewriter) {
  MLIRContext *context = rewriter.getContext();
  SmallVector<Value> tables, indices;
  SmallVector<double> scales;
  SmallVector<Location> locations;
  for (Operand operand : run.operands) {
    locations.push_back(operand.get()->getLoc());
    if (operand.bag) {
      llvm::append_range(tables, operand.bag.getTables());
      llvm::append_range(indices, operand.bag.getIndices());
      llvm::append_range(scales, operand.bag.getScales());
      continue;
    }
    Value rows = createRowIndices(operand.rows, rewriter);
    if (getRank(rows) == 1)
      rows = createExpand(rewriter, locations.back(), rows,
                          {getSizes(rows)[0], Expr::constant(context, 1)},
                          {{0, 1}});
    tables.push_back(operand.rows.getSource());
    indices.push_back(rows);
    scales.push_back(1);
  }
  Location loc = rewriter.getFusedLoc(locations);
  Expr bags = getSizes(indices[0])[0], columns = Expr::constant(context, 0);
  for (Value table : tables)
    columns = columns + getSizes(table)[1];
  auto policy =
      IndexPolicyAttr::get(context, Operand(run.operands[0]).getPolicy());
  Value bag =
      BagOp::create(rewriter, loc, getTensorType({bags, columns}, type), tables,
                    indices, policy, rewriter.getDenseF64ArrayAttr(scales));
  remarkPassed(remarks::formBag, loc)
      << fmt::format("{} embedding bags became one", tables.size());
  if (!run.operands[0].isStacked)
    return bag;
  return createExpand(
      rewriter, loc, bag,
      {bags, Expr::constant(context, tables.size()), getSizes(tables[0])[1]},
      {{0}, {1, 2}});
}

LogicalResult ConcatOfBags::matchAndRewrite(ConcatOp op,
                                            PatternRewriter &rewriter) const {
  SmallVector<std::optional<Operand>> operands;
  for (Value value : op.getValues())
    operands.push_back(matchOperand(value, op));
  SmallVector<Value> values;
  for (size_t i = 0; i < operands.size();) {
    Run run;
    size_t end = i;
    while (end < operands.size() && operands[end] && run.add(*operands[end]))
      ++end;
    // Lookups alone have kernels that compute what follows them.
    if (run.hasBag && run.operands.size() >= 2) {
      values.push_back(
          createBag(run, getElementType(op.getResult()), rewriter));
      i = end;
    } else {
      values.push_back(op.getValues()[i++]);
    }
  }
  if (values.size() == operands.size())
    return rewriter.notifyMatchFailure(op, "has no bags that are neighbours");
  replaceConcat(rewriter, op, values);
  return success();
}
