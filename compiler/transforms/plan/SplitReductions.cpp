// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of few and long rows become two steps: of parts of the rows, and
// of what the parts gave. A row is one group of threads, so that few rows leave
// most of a device without work: the sum of a whole tensor would be one block.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/MomentParts.h"
#include "compiler/transforms/plan/OnlineParts.h"
#include "compiler/transforms/plan/StoreApart.h"
#include <fmt/core.h>
#include <map>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// What a split must gain over all sizes of the named dimensions: about what
/// the cost model errs by.
static constexpr double leastSumGain = 1.15;
/// The same where a team is what else reduces rows, whose times are as close as
/// those of parts: softmax of 2 x 1048576 floats took 15.3 us by a team, in
/// parts 12.5.
static constexpr double leastTeamGain = 1;
/// The same of what is stored apart: blocks that walk 64 or 512 columns again
/// to store take 1 to 56% longer than they are said to (those of three columns
/// 16 to 33% less), the three steps 23% less to 6% more.
static constexpr double leastApartGain = 1.05;
/// Of equals the one with more parts is taken: blocks then end at the same
/// time.
static constexpr double equalGain = 0.97;
/// Parts of a row, each of which has at least so many elements: more would
/// only make the second step longer.
static constexpr int64_t mostParts = 16384, leastPart = 256;
/// The longest that a block's registers hold.
static constexpr int64_t mostKeptPart = 16384;

/// Of all that an op reduces.
static Expr getReducedCount(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getReducedCount();
  return cast<ArgReduceOp>(op).getReducedCount();
}

/// So many parts or fewer, of which none is empty: that has no place.
static int64_t countFilled(int64_t length, int64_t parts) {
  constexpr int64_t whole = 64; // as of ReduceOp
  return llvm::divideCeil(length,
                          llvm::divideCeil(length, whole * parts) * whole);
}

static SmallVector<int64_t> getPartCounts(ArrayRef<Operation *> reductions) {
  int64_t length = getSampledValue(getReducedCount(reductions[0]), typicalDim);
  bool findsPlaces = llvm::any_of(reductions, llvm::IsaPred<ArgReduceOp>);
  SmallVector<int64_t> counts;
  for (int64_t parts = 2; parts <= mostParts && length / parts >= leastPart;
       parts *= 2)
    counts.push_back(findsPlaces ? countFilled(length, parts) : parts);
  return counts;
}

/// Parts that a block's registers hold, of which the lengths are powers of two
/// or hardly less.
static SmallVector<int64_t> getKeptPartCounts(ReduceOp reduce) {
  int64_t length = *reduce.getReducedCount().getConstant();
  SmallVector<int64_t> counts;
  for (int64_t part = mostKeptPart; part >= leastPart; part /= 2)
    if (length > part)
      counts.push_back(countFilled(length, llvm::divideCeil(length, part)));
  return counts;
}

/// The reductions of a step that can be split: each reduces what no other one
/// gave, and nothing is stored but results of rows, or what follows from these
/// at every point of rows that no block's registers hold.
static SmallVector<Operation *> getSplittableReductions(StepOp step) {
  Block &body = step.getBody().front();
  if (step.getFamily() != Family::Reduce)
    return {};
  SmallVector<Operation *> reductions;
  llvm::DenseSet<Value> reduced; // what depends on a reduction
  for (Operation &op : body.without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(),
                                [&](Value v) { return reduced.contains(v); }),
         reduces = isa<ReduceOp, ArgReduceOp>(op);
    if (reduces && (depends || getReducedParts(&op)))
      return {};
    // How many parts have something is to be known.
    if (isa<ArgReduceOp>(op) && !getReducedCount(&op).getConstant())
      return {};
    if (reduces)
      reductions.push_back(&op);
    if (reduces || depends)
      reduced.insert(op.getResults().begin(), op.getResults().end());
  }
  auto getCount = [&](Value value) {
    return getElementCount(getSizes(value), step.getContext());
  };
  Expr rows = getCount(reductions[0]->getResult(0)),
       items = getCount(reductions[0]->getOperand(0));
  std::optional<int64_t> length = getReducedCount(reductions[0]).getConstant();
  bool areLong = length > mostKeptPart && reducesLastAxes(reductions[0]);
  bool storesRows =
      llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
        Expr count = getCount(value);
        return count == rows || (areLong && count == items);
      });
  return storesRows ? reductions : SmallVector<Operation *>();
}

namespace {
/// The two steps while reductions are put into them one by one.
class Splitting {
public:
  Splitting(StepOp step, int64_t parts)
      : step(step), parts(parts),
        first(step, Family::Reduce, step.getName() + "_parts"),
        second(step, Family::Reduce, step.getName()) {}

  /// What lies between is fp32 where sums are kept so, and extremes as they
  /// are.
  void add(ReduceOp reduce);
  /// Each part's extreme lies between, and its place in the part.
  void add(ArgReduceOp find);
  CutStep finish() {
    split.first = first.finish(refs, partial);
    split.second = second.finishAll();
    return std::move(split);
  }

private:
  /// Of parts, each with what the second step is to reduce to `sizes`.
  RankedTensorType getPartsType(SmallVector<Expr> sizes, Type element) {
    sizes.insert(sizes.begin(), Expr::constant(step.getContext(), parts));
    return getTensorType(sizes, element);
  }
  IntegerAttr getPartsAttr() { return first.builder.getI64IntegerAttr(parts); }
  Value take(Value operand) {
    first.clone(operand);
    return first.mapping.lookup(operand);
  }
  /// Stored by the first step and read by the second.
  Value pass(Value ofParts) {
    auto type = cast<RankedTensorType>(ofParts.getType());
    partial.push_back(ofParts);
    split.parts.push_back(createSlot(step, "parts", type));
    refs.push_back(FlatSymbolRefAttr::get(split.parts.back()));
    return second.addInput(refs.back(), type);
  }

  /// What parts give, each once: the extremes of one operand are asked for
  /// beside their places, too.
  Value passReduced(ReduceKind kind, Value operand, ArrayRef<int64_t> axes,
                    ArrayRef<Expr> sizes) {
    Value &passed = reduced[{operand.getAsOpaquePointer(), kind}];
    if (!passed)
      passed = pass(ReduceOp::create(
          first.builder, step.getLoc(),
          getPartsType(SmallVector<Expr>(sizes), getElementType(operand)), kind,
          operand, axes, getPartsAttr()));
    return passed;
  }

  StepOp step;
  int64_t parts;
  StepBuilder first, second;
  CutStep split;
  SmallVector<Attribute> refs;
  SmallVector<Value> partial;
  std::map<std::pair<void *, ReduceKind>, Value> reduced;
};
} // namespace

void Splitting::add(ReduceOp reduce) {
  Location loc = step.getLoc();
  Value summed = reduce.getOperand();
  Type element = getElementType(summed);
  // Extremes are some of the items, whatever these are cast to.
  if (auto cast = summed.getDefiningOp<CastOp>();
      cast && reduce.findsExtreme() &&
      isExactCast(getElementType(cast.getOperand()), element))
    summed = cast.getOperand();
  Value operand = take(summed);
  Type kept = getElementType(operand);
  if (isa<FloatType>(kept) && getElementBytes(kept) < 4 &&
      !reduce.findsExtreme()) {
    kept = first.builder.getF32Type();
    operand = CastOp::create(first.builder, loc,
                             getTensorType(getSizes(operand), kept), operand);
  }
  SmallVector<Expr> sizes = getSizes(reduce.getResult());
  Value ofParts =
      passReduced(reduce.getKind(), operand, reduce.getAxes(), sizes);
  Value value =
      ReduceOp::create(second.builder, loc, getTensorType(sizes, kept),
                       reduce.getKind(), ofParts, ArrayRef<int64_t>{0});
  if (kept != element)
    value = CastOp::create(second.builder, loc, reduce.getType(), value);
  second.mapping.map(reduce.getResult(), value);
}

void Splitting::add(ArgReduceOp find) {
  Location loc = step.getLoc();
  OpBuilder &builder = second.builder;
  Value operand = take(find.getOperand());
  SmallVector<Expr> sizes = getSizes(find.getResult());
  RankedTensorType places = getPartsType(sizes, builder.getI64Type()),
                   flags = getPartsType(sizes, builder.getI1Type());
  Value extremes = passReduced(getExtremeKind(find), operand,
                               {int64_t(find.getAxis())}, sizes),
        within = pass(ArgReduceOp::create(
            first.builder, loc, places, find.getKind(), operand, find.getAxis(),
            find.getLast(), getPartsAttr()));
  auto splat = [&](RankedTensorType type, int64_t value) -> Value {
    return SplatOp::create(builder, loc, type,
                           builder.getI64IntegerAttr(value));
  };
  // The part that has it, where that begins, and the place in it.
  RankedTensorType type = find.getType();
  Value part = ArgReduceOp::create(builder, loc, type, find.getKind(), extremes,
                                   /*axis=*/0, find.getLast());
  int64_t length = *cast<ArgReduceOp>(partial.back().getDefiningOp())
                        .getLength()
                        .getConstant();
  Value begin = MulOp::create(builder, loc, type, part, splat(type, length));
  auto behindParts = llvm::to_vector(llvm::seq<int64_t>(1, getRank(within)));
  Value isIt = EqualOp::create(
            builder, loc, flags, IotaOp::create(builder, loc, places, 0),
            BroadcastOp::create(builder, loc, places, part, behindParts)),
        own = SelectOp::create(builder, loc, places, isIt, within,
                               splat(places, 0)),
        place = ReduceOp::create(builder, loc, type, ReduceKind::Sum, own,
                                 ArrayRef<int64_t>{0});
  second.mapping.map(find.getResult(),
                     AddOp::create(builder, loc, type, begin, place));
}

/// The step as two, which stand before it.
static CutStep splitReductions(StepOp step, ArrayRef<Operation *> reductions,
                               int64_t parts) {
  Splitting splitting(step, parts);
  for (Operation *op : reductions) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      splitting.add(reduce);
    else
      splitting.add(cast<ArgReduceOp>(op));
  }
  return splitting.finish();
}

namespace {
/// How a step may be split.
struct Way {
  SmallVector<int64_t> counts; // of parts, in increasing order
  double equal; // of counts that gain as much but for this factor, the last
  std::function<CutStep(int64_t parts)> split;
};
} // namespace

static std::optional<Way> findWay(StepOp step) {
  if (SmallVector<Operation *> reductions = getSplittableReductions(step);
      !reductions.empty())
    return Way{getPartCounts(reductions), equalGain, [=](int64_t parts) {
                 return splitReductions(step, reductions, parts);
               }};
  if (auto online = getOnlineReductions(step))
    return Way{getKeptPartCounts(online->most), 1, [=](int64_t parts) {
                 return splitOnline(step, *online, parts);
               }};
  if (auto moments = getMoments(step))
    return Way{getKeptPartCounts(moments->sum), 1, [=](int64_t parts) {
                 return splitMoments(step, *moments, parts);
               }};
  return std::nullopt;
}

namespace {
struct SplitReductions : fusec::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (!trySplit(step))
        tryApart(step);
  }

  /// In the number of parts that gains most.
  bool trySplit(StepOp step);
  /// What is stored at every point in a step of its own, and the others in
  /// parts, or not.
  void tryApart(StepOp step);
  /// Whether it is enough; says so.
  bool accept(StepOp step, const CutGain &gain, double least, StringRef what);

  const Target *target = nullptr;
};
} // namespace

bool SplitReductions::accept(StepOp step, const CutGain &gain, double least,
                             StringRef what) {
  if (gain.factor == 0 || (gain.factor < least && !always))
    return false;
  remarkPassed(remarks::splitReduction, step.getLoc())
      << fmt::format("'{}' {}: {:.1f} us instead of {:.1f} us, at dimensions "
                     "of {}",
                     step.getName(), what, gain.cut, gain.whole, gain.dim);
  return true;
}

/// Whether the first of the step's schedules is one of teams.
static bool isOfTeam(StepOp step, const Target &target) {
  auto schedule = dyn_cast<ReduceScheduleAttr>(
      chooseVariants(step, target, {})[0].getSchedule());
  return schedule && schedule.isOfTeam();
}

bool SplitReductions::trySplit(StepOp step) {
  std::optional<Way> way = findWay(step);
  if (!way)
    return false;
  SmallVector<int64_t> dims = getDecisiveDims(step);
  Estimates whole = estimateStep(step, *target, {}, dims);
  CutGain best;
  int64_t bestParts = 0;
  for (int64_t parts : way->counts) {
    CutStep cut = way->split(parts);
    CutGain gain =
        getGain({cut.first, cut.second}, whole, *target, {}, dims, always);
    if (gain.factor > best.factor * way->equal) {
      best = gain;
      bestParts = parts;
    }
    cut.erase();
  }
  double least = best.factor < leastSumGain && isOfTeam(step, *target)
                     ? leastTeamGain
                     : leastSumGain;
  if (!accept(step, best, least,
              fmt::format("reduces {} parts of each row", bestParts)))
    return false;
  way->split(bestParts);
  step.erase();
  return true;
}

void SplitReductions::tryApart(StepOp step) {
  std::optional<CutStep> cut = storeApart(step);
  if (!cut)
    return;
  SmallVector<int64_t> dims = getDecisiveDims(step);
  Estimates whole = estimateStep(step, *target, {}, dims);
  CutGain best =
      getGain({cut->first, cut->second}, whole, *target, {}, dims, always);
  int64_t bestParts = 1;
  std::optional<Way> way = findWay(cut->first);
  for (int64_t parts : way ? way->counts : SmallVector<int64_t>()) {
    CutStep split = way->split(parts);
    CutGain gain = getGain({split.first, split.second, cut->second}, whole,
                           *target, {}, dims, always);
    if (gain.factor > best.factor * way->equal) {
      best = gain;
      bestParts = parts;
    }
    split.erase();
  }
  if (!accept(step, best, leastApartGain,
              fmt::format("stores apart from what it reduces, of which each "
                          "row has {} parts",
                          bestParts)))
    return cut->erase();
  if (bestParts > 1) {
    way->split(bestParts);
    cut->first.erase();
  }
  step.erase();
}
