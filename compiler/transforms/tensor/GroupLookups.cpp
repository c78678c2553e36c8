// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers of rows by columns of one index tensor, put side by side, are one
// lookup: all tables of a recommender in one launch.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_GROUPLOOKUPS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
/// What one operand of the concat gathers.
struct Column {
  GatherOp gather;
  Value ids;      // [n, columns]
  int64_t column; // which one selects the row
  bool stacked;   // whether the operand is [n, 1, width] rather than [n, width]
};
} // namespace

/// The column of a rank-2 tensor that an index operand holds, whatever views
/// lead to it.
static std::optional<std::pair<Value, int64_t>> matchColumn(Value index) {
  ViewSource source = traceViews(index);
  if (source.map.results.size() != 2)
    return std::nullopt;
  Sizes sizes = getSizes(index);
  Expr zero = Expr::constant(index.getContext(), 0);
  // An index along a dimension of size 1 is 0.
  auto [row, column] = std::pair(source.map.results[0], source.map.results[1]);
  auto isUnitDim = [&](Expr leaf) {
    return leaf.getKind() == ExprKind::Dim &&
           sizes[leaf.getIndex()].isConstant(1);
  };
  auto withoutUnits = [&](Expr expr) {
    return expr.replace(
        [&](Expr leaf) { return isUnitDim(leaf) ? zero : leaf; });
  };
  auto constant = withoutUnits(column).getConstant();
  bool isRow =
      withoutUnits(row) == withoutUnits(Expr::dim(index.getContext(), 0)) &&
      getSizes(source.value)[0] == sizes[0];
  if (!constant || !isRow)
    return std::nullopt;
  return std::pair(source.value, *constant);
}

/// `axis` is that of the concat.
static std::optional<Column> matchOperand(Value value, int64_t axis) {
  if (axis != 1 || !value.hasOneUse())
    return std::nullopt;
  unsigned rank = getRank(value);
  Value rows = value;
  if (auto expand = value.getDefiningOp<ExpandOp>())
    rows = expand.getOperand();
  else if (auto collapse = value.getDefiningOp<CollapseOp>())
    rows = collapse.getOperand();
  auto gather = rows.getDefiningOp<GatherOp>();
  if (!gather || !rows.hasOneUse() || rank > 3 ||
      (rank == 3 && !getSizes(value)[1].isConstant(1)) ||
      getRank(gather.getSource()) != 2)
    return std::nullopt;
  // Row by an index, all of the row: [n, width], with or without a 1 between.
  Sizes sizes = getSizes(value), gathered = getSizes(rows);
  ArrayRef<int64_t> positions = gather.getPositions();
  if (positions[0] >= 0 ||
      positions[1] != static_cast<int64_t>(gathered.size()) - 1 ||
      gathered.front() != sizes.front() || gathered.back() != sizes.back() ||
      (gathered.size() == 3 && !gathered[1].isConstant(1)) ||
      gathered.size() < 2 || gathered.size() > 3)
    return std::nullopt;
  auto column = matchColumn(gather.getIndices()[-1 - positions[0]]);
  if (!column)
    return std::nullopt;
  return Column{gather, column->first, column->second, rank == 3};
}

/// A lookup's tables are parameters of its kernel, of 16 bytes each out of
/// 32,764.
static constexpr size_t mostTables = 1024;

/// Whether `next` continues a run whose columns advance by `step` (0: unknown).
static bool continues(const Column &last, const Column &next, int64_t step) {
  GatherOp a = last.gather, b = next.gather;
  int64_t advance = next.column - last.column;
  return last.ids == next.ids && last.stacked == next.stacked && advance != 0 &&
         (step == 0 || advance == step) && a.getPolicy() == b.getPolicy() &&
         getSizes(a.getSource())[1] == getSizes(b.getSource())[1] &&
         getElementType(a.getSource()) == getElementType(b.getSource());
}

static Value createLookup(ArrayRef<Column> run, PatternRewriter &rewriter) {
  SmallVector<Value> tables;
  SmallVector<Location> locs;
  for (Column column : run) {
    tables.push_back(column.gather.getSource());
    locs.push_back(column.gather.getLoc());
  }
  Location loc = rewriter.getFusedLoc(locs);
  MLIRContext *context = rewriter.getContext();
  Value ids = run[0].ids;
  Expr rows = getSizes(ids)[0], count = Expr::constant(context, tables.size());
  ids = createSlice(
      rewriter, loc, ids,
      {Expr::constant(context, 0), Expr::constant(context, run[0].column)},
      {rows, count}, {1, run[1].column - run[0].column});
  GatherOp first = run[0].gather;
  Sizes sizes = {rows, count, getSizes(tables[0])[1]};
  Value lookup = LookupOp::create(
      rewriter, loc, getTensorType(sizes, getElementType(tables[0])), tables,
      ids, first.getPolicyAttr());
  remarkPassed(remarks::groupLookups, loc) << fmt::format(
      "{} gathers by columns of one index tensor became one lookup",
      tables.size());
  if (run[0].stacked)
    return lookup;
  Groups groups = {{0}, {1, 2}};
  return createCollapse(rewriter, loc, lookup, groups);
}

namespace {
struct GroupConcatOperands : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<std::optional<Column>> columns;
    for (Value value : op.getValues())
      columns.push_back(matchOperand(value, op.getAxis()));

    SmallVector<Value> values;
    for (size_t i = 0; i < columns.size();) {
      SmallVector<Column> run;
      size_t end = i;
      for (; end < columns.size() && columns[end]; ++end) {
        int64_t step = run.size() < 2 ? 0 : run[1].column - run[0].column;
        if (run.size() == mostTables ||
            (!run.empty() && !continues(run.back(), *columns[end], step)))
          break;
        run.push_back(*columns[end]);
      }
      if (run.size() >= 2) {
        values.push_back(createLookup(run, rewriter));
        i = end;
      } else {
        values.push_back(op.getValues()[i++]);
      }
    }
    if (values.size() == columns.size())
      return rewriter.notifyMatchFailure(
          op, "no two neighbours gather by columns of one index tensor");
    replaceConcat(rewriter, op, values);
    return success();
  }
};

struct GroupLookups : fusec::impl::GroupLookupsBase<GroupLookups> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<GroupConcatOperands>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
