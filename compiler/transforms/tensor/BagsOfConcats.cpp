// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding bags that a concat puts side by side are one, and rows that are
// gathered beside them are bags of one: all tables of a recommender in one
// launch.

#include "compiler/Remarks.h"
#include "compiler/kernels/bag/device/bag_config.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

namespace {
/// An operand of a concat as a bag: the bag itself, or gathered rows, which are
/// bags of one.
struct Operand {
  BagOp bag;
  GatherOp rows;
  bool isStacked = false; // [n, 1, width] rather than [n, width]

  Operation *get() { return bag ? bag.getOperation() : rows.getOperation(); }
  IndexPolicy getPolicy() { return bag ? bag.getPolicy() : rows.getPolicy(); }
};

/// Bags along the second dimension of a concat.
struct ConcatOfBags : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override;
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
  if (operand.bag && !operand.bag.getPacked() &&
      (!operand.isStacked || operand.bag.getTables().size() == 1))
    return operand;
  // [n, 1, width] where indices are [n, 1].
  if (auto collapse = value.getDefiningOp<CollapseOp>();
      collapse && collapse.getOperand().hasOneUse() &&
      getRank(collapse.getOperand()) == 3 && getRank(value) == 2 &&
      getSizes(collapse.getOperand())[1].isConstant(1))
    operand.rows = collapse.getOperand().getDefiningOp<GatherOp>();
  if (operand.rows && getRank(value) == 2 && gathersRows(operand.rows) &&
      isTable(operand.rows.getSource()) &&
      isa<FloatType>(getElementType(operand.rows.getSource())))
    return operand;
  return std::nullopt;
}

static Type getTypeOfFirst(ValueRange values) {
  return values.empty() ? Type() : getElementType(values[0]);
}

/// What a kernel of bags computes in another's place: a lookup is a sum, a mean
/// and a maximum of one row, and a sum of a constant number of rows is a mean
/// times this number.
enum class Freedom { Lookup, CountedSum, None };

static Freedom getFreedom(Operand operand) {
  if (!operand.bag)
    return Freedom::Lookup;
  bool isCounted = llvm::all_of(operand.bag.getIndices(), [](Value indices) {
    return getSizes(indices)[1].isConstant();
  });
  return operand.bag.isPlain() && isCounted ? Freedom::CountedSum
                                            : Freedom::None;
}

/// Maxima lie beside sums or means, but with offsets.
static bool canJoinModes(BagOp lead, BagOp next, Freedom freedom) {
  BagMode mode = lead.getMode(), other = next.getMode();
  return mode == other ||
         (mode == BagMode::Mean && freedom == Freedom::CountedSum) ||
         (lead.getOffsets().empty() &&
          (mode == BagMode::Max || other == BagMode::Max));
}

/// Whether `next` can be of one op with `lead`, which is no freer.
static bool canJoinBag(Operand lead, Operand next) {
  BagOp bag = lead.bag;
  if (!next.bag || !bag) {
    bag = bag ? bag : next.bag;
    return !bag || (bag.getOffsets().empty() && bag.getWeights().empty() &&
                    bag.getFactors().empty());
  }
  return canJoinModes(bag, next.bag, getFreedom(next)) &&
         getTypeOfFirst(bag.getOffsets()) ==
             getTypeOfFirst(next.bag.getOffsets()) &&
         getTypeOfFirst(bag.getWeights()) ==
             getTypeOfFirst(next.bag.getWeights()) &&
         getTypeOfFirst(bag.getFactors()) ==
             getTypeOfFirst(next.bag.getFactors()) &&
         bag.getZeros().empty() == next.bag.getZeros().empty();
}

/// Whether both can be bags of one op; `lead` is no freer.
static bool areAlike(Operand lead, Operand next) {
  auto getTable = [](Operand each) {
    return each.bag ? each.bag.getTables()[0] : each.rows.getSource();
  };
  auto getIndices = [](Operand each) {
    return each.bag ? each.bag.getIndices()[0] : each.rows.getIndices()[0];
  };
  return lead.isStacked == next.isStacked &&
         lead.getPolicy() == next.getPolicy() && canJoinBag(lead, next) &&
         getElementType(getTable(lead)) == getElementType(getTable(next)) &&
         getElementType(getIndices(lead)) == getElementType(getIndices(next));
}

namespace {
/// Neighbouring operands that can be one bag.
struct Run {
  SmallVector<Operand> operands;
  Operand lead;                 // the least free of them
  std::optional<PadsBy> padsBy; // where there is padding
  // The first ones with lengths of each mode.
  SmallVector<Operand, 3> measured = {};
  size_t tables = 0;

  bool hasBag() const { return !!lead.bag; }
  /// Of tables whose rows are not compared, where there are some.
  BagMode getMode() const;
  /// False where the operand is of another kind, or one too many.
  bool add(Operand operand);
};
} // namespace

BagMode Run::getMode() const {
  if (!lead.bag || BagOp(lead.bag).getMode() != BagMode::Max)
    return lead.bag ? BagOp(lead.bag).getMode() : BagMode::Sum;
  bool hasSum = llvm::any_of(operands, [](Operand operand) {
    return operand.bag && operand.bag.getMode() == BagMode::Sum;
  });
  return hasSum ? BagMode::Sum : BagMode::Max;
}

/// Whether some table has lengths and this mode.
static bool hasLengths(BagOp bag, BagMode mode) {
  for (unsigned t = 0; t < bag.getTables().size(); ++t)
    if (bag.getMeasureOf(t) >= 0 && bag.getModeOf(t) == mode)
      return true;
  return false;
}

/// Whether both can have what an op says of all lengths.
static bool canShareLengths(Operand a, Operand b) {
  if (!a.bag || !b.bag || a.bag.getLengths().empty() ||
      b.bag.getLengths().empty())
    return true;
  auto bothHave = [&](BagMode mode) {
    return hasLengths(a.bag, mode) && hasLengths(b.bag, mode);
  };
  return getTypeOfFirst(a.bag.getLengths()) ==
             getTypeOfFirst(b.bag.getLengths()) &&
         (!bothHave(BagMode::Mean) ||
          a.bag.getLeastAttr() == b.bag.getLeastAttr()) &&
         (!bothHave(BagMode::Max) ||
          a.bag.getFillAttr() == b.bag.getFillAttr());
}

/// Whether it has lengths of a mode that none of the others has.
static bool saysMoreOfLengths(Operand operand, ArrayRef<Operand> others) {
  if (!operand.bag || operand.bag.getLengths().empty())
    return false;
  constexpr BagMode modes[] = {BagMode::Sum, BagMode::Mean, BagMode::Max};
  return llvm::any_of(modes, [&](BagMode mode) {
    auto has = [&](Operand each) { return hasLengths(each.bag, mode); };
    return has(operand) && llvm::none_of(others, has);
  });
}

/// Maxima leave the lead to what is added.
static bool isFreer(Operand a, Operand b) {
  if (getFreedom(a) != getFreedom(b) || !a.bag || !b.bag)
    return getFreedom(a) < getFreedom(b);
  return a.bag.getMode() == BagMode::Max && b.bag.getMode() != BagMode::Max;
}

bool Run::add(Operand operand) {
  size_t more = operand.bag ? operand.bag.getTables().size() : 1;
  if (tables + more > mostBagTables)
    return false;
  bool leads = operands.empty() || isFreer(lead, operand);
  if (!operands.empty() &&
      !(leads ? areAlike(operand, lead) : areAlike(lead, operand)))
    return false;
  if (!llvm::all_of(measured, [&](Operand before) {
        return canShareLengths(before, operand);
      }))
    return false;
  if (operand.bag && operand.bag.getPadding()) {
    PadsBy by = operand.bag.getPadsBy();
    if (padsBy && *padsBy != by)
      return false;
    padsBy = by;
  }
  if (leads)
    lead = operand;
  if (saysMoreOfLengths(operand, measured))
    measured.push_back(operand);
  operands.push_back(operand);
  tables += more;
  return true;
}

namespace {
/// What says which rows bags have by their lengths, and what of them is
/// compared: one table's after another's.
struct JoinedLengths {
  SmallVector<Value> values;
  SmallVector<int64_t> measured, maxima;
  FloatAttr least, fill;

  void add(BagOp bag, unsigned table, BagMode mode);
  void addLookup() { measured.push_back(-1); }
  void set(BagOp joined) const;
};
} // namespace

/// `mode` is that of what is not compared, or of all.
void JoinedLengths::add(BagOp bag, unsigned table, BagMode mode) {
  if (bag.getModeOf(table) == BagMode::Max && mode != BagMode::Max)
    maxima.push_back(measured.size());
  int64_t number = bag.getMeasureOf(table);
  if (number < 0)
    return addLookup();
  ViewSource own = traceViews(bag.getLengths()[number]);
  auto known = llvm::find_if(values, [&](Value value) {
    ViewSource other = traceViews(value);
    return other.value == own.value && other.map.results == own.map.results;
  });
  measured.push_back(known - values.begin());
  if (known == values.end())
    values.push_back(bag.getLengths()[number]);
  least = least ? least : bag.getLeastAttr();
  fill = fill ? fill : bag.getFillAttr();
}

void JoinedLengths::set(BagOp joined) const {
  if (!maxima.empty())
    joined.setMaxima(maxima);
  if (values.empty())
    return;
  joined.getLengthsMutable().assign(values);
  joined.setMeasured(measured);
  joined.setLeastAttr(least);
  joined.setFillAttr(fill);
}

static Value createBag(const Run &run, Expr bags, Type type,
                       PatternRewriter &rewriter) {
  MLIRContext *context = rewriter.getContext();
  SmallVector<Value> tables, indices, offsets, weights, factors, zeros;
  SmallVector<double> scales;
  SmallVector<int64_t> padding;
  BagMode mode = run.getMode();
  JoinedLengths lengths;
  SmallVector<Location> locations;
  for (Operand operand : run.operands) {
    locations.push_back(operand.get()->getLoc());
    if (operand.bag) {
      llvm::append_range(tables, operand.bag.getTables());
      llvm::append_range(indices, operand.bag.getIndices());
      llvm::append_range(offsets, operand.bag.getOffsets());
      llvm::append_range(weights, operand.bag.getWeights());
      llvm::append_range(factors, operand.bag.getFactors());
      llvm::append_range(zeros, operand.bag.getZeros());
      for (unsigned t = 0; t < operand.bag.getTables().size(); ++t) {
        // A sum beside means is the mean times the number of its rows.
        bool isSum =
            mode == BagMode::Mean && operand.bag.getModeOf(t) == BagMode::Sum;
        lengths.add(operand.bag, t, mode);
        scales.push_back(
            operand.bag.getScales()[t] *
            (isSum ? getSizes(operand.bag.getIndices()[t])[1].getValue() : 1));
        padding.push_back(operand.bag.getPaddingOf(t));
      }
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
    padding.push_back(-1);
    lengths.addLookup();
  }
  Location loc = rewriter.getFusedLoc(locations);
  Expr columns = Expr::constant(context, 0);
  for (Value table : tables)
    columns = columns + getSizes(table)[1];
  auto policy =
      IndexPolicyAttr::get(context, Operand(run.operands[0]).getPolicy());
  bool hasPadding = llvm::any_of(padding, [](int64_t row) { return row >= 0; });
  auto bag = BagOp::create(
      rewriter, loc, getTensorType({bags, columns}, type), mode, tables,
      indices, offsets, weights, factors, zeros, policy.getValue(), scales,
      hasPadding ? rewriter.getDenseI64ArrayAttr(padding) : DenseI64ArrayAttr(),
      run.padsBy.value_or(PadsBy::Row));
  lengths.set(bag);
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
    if (run.hasBag() && run.operands.size() >= 2) {
      values.push_back(createBag(run, getSizes(op.getResult())[0],
                                 getElementType(op.getResult()), rewriter));
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

SmallVector<JoinedBags> fusec::joinBags(ArrayRef<BagOp> bags,
                                        PatternRewriter &rewriter) {
  std::vector<Run> runs;
  for (BagOp bag : bags) {
    Operand operand{bag, {}};
    if (!bag.getPacked() &&
        llvm::none_of(runs, [&](Run &run) { return run.add(operand); }))
      runs.emplace_back().add(operand);
  }
  SmallVector<JoinedBags> joined;
  for (const Run &run : runs) {
    if (run.operands.size() < 2)
      continue;
    Value first = BagOp(run.operands[0].bag).getResult();
    JoinedBags &each = joined.emplace_back();
    each.bag =
        createBag(run, getSizes(first)[0], getElementType(first), rewriter);
    for (const Operand &operand : run.operands)
      each.parts.push_back(operand.bag);
  }
  return joined;
}

void fusec::populateBagsOfConcats(RewritePatternSet &patterns) {
  patterns.add<ConcatOfBags>(patterns.getContext());
}
