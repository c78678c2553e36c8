// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of few and long rows become two steps: of parts of the rows, and
// of what the parts gave. A row is one group of threads, so that few rows leave
// most of a device without work: the sum of a whole tensor would be one block.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/OnlineParts.h"
#include "ir/PlanBuffers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// What a split must gain over all sizes of the named dimensions: about what
/// the cost model errs by.
static constexpr double leastSumGain = 1.15;
/// Of equals the one with more parts is taken: blocks then end at the same
/// time.
static constexpr double equalGain = 0.97;
/// Parts of a row, each of which has at least so many elements: more would
/// only make the second step longer.
static constexpr int64_t mostParts = 16384, leastPart = 256;
/// The longest that a block's registers hold.
static constexpr int64_t mostKeptPart = 16384;

static SmallVector<int64_t> getPartCounts(ReduceOp reduce) {
  int64_t length = getSampledValue(reduce.getReducedCount(), typicalDim);
  SmallVector<int64_t> counts;
  for (int64_t parts = 2; parts <= mostParts && length / parts >= leastPart;
       parts *= 2)
    counts.push_back(parts);
  return counts;
}

/// Parts that a block's registers hold, of which the lengths are powers of two
/// or hardly less.
static SmallVector<int64_t> getKeptPartCounts(ReduceOp most) {
  int64_t length = *most.getReducedCount().getConstant();
  SmallVector<int64_t> counts;
  for (int64_t part = mostKeptPart; part >= leastPart; part /= 2)
    if (length > part)
      counts.push_back(llvm::divideCeil(length, part));
  return counts;
}

/// The reductions of a step that can be split: each reduces what no other one
/// gave, and nothing is stored but results of rows.
static SmallVector<ReduceOp> getSplittableReductions(StepOp step) {
  Block &body = step.getBody().front();
  if (step.getFamily() != Family::Reduce || !body.getOps<ArgReduceOp>().empty())
    return {};
  SmallVector<ReduceOp> reductions = llvm::to_vector(body.getOps<ReduceOp>());
  llvm::DenseSet<Value> reduced; // what depends on a reduction
  for (Operation &op : body.without_terminator()) {
    bool depends = llvm::any_of(op.getOperands(),
                                [&](Value v) { return reduced.contains(v); });
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && (depends || reduce.getParts()))
      return {};
    if (reduce || depends)
      reduced.insert(op.getResults().begin(), op.getResults().end());
  }
  Expr rows =
      getElementCount(getSizes(reductions[0].getResult()), step.getContext());
  bool storesRows =
      llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
        return getElementCount(getSizes(value), step.getContext()) == rows;
      });
  return storesRows ? reductions : SmallVector<ReduceOp>();
}

/// The step as two, which stand before it. What lies between is fp32 where
/// sums are kept so.
static CutStep splitReductions(StepOp step, ArrayRef<ReduceOp> reductions,
                               int64_t parts) {
  CutStep split;
  Location loc = step.getLoc();
  StepBuilder first(step, Family::Reduce, step.getName() + "_parts"),
      second(step, Family::Reduce, step.getName());
  OpBuilder &builder = first.builder;
  SmallVector<Attribute> refs;
  SmallVector<Value> partial;
  for (ReduceOp reduce : reductions) {
    first.clone(reduce.getOperand());
    Value operand = first.mapping.lookup(reduce.getOperand());
    Type element = getElementType(operand), kept = element;
    if (isa<FloatType>(element) && getElementBytes(element) < 4)
      kept = builder.getF32Type();
    SmallVector<Expr> sizes = getSizes(reduce.getResult());
    if (kept != element)
      operand = CastOp::create(builder, loc,
                               getTensorType(getSizes(operand), kept), operand);
    RankedTensorType whole = getTensorType(sizes, kept);
    sizes.insert(sizes.begin(), Expr::constant(step.getContext(), parts));
    RankedTensorType type = getTensorType(sizes, kept);
    partial.push_back(ReduceOp::create(builder, loc, type, reduce.getKind(),
                                       operand, reduce.getAxes(),
                                       builder.getI64IntegerAttr(parts)));
    split.parts.push_back(createSlot(step, "parts", type));
    refs.push_back(FlatSymbolRefAttr::get(split.parts.back()));
    Value value = ReduceOp::create(second.builder, loc, whole, reduce.getKind(),
                                   second.addInput(refs.back(), type),
                                   ArrayRef<int64_t>{0});
    if (kept != element)
      value = CastOp::create(second.builder, loc, reduce.getType(), value);
    second.mapping.map(reduce.getResult(), value);
  }
  split.first = first.finish(refs, partial);
  split.second = second.finishAll();
  return split;
}

namespace {
struct SplitReductions : fusec::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PlanBuffers buffers(plan);
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (SmallVector<ReduceOp> reductions = getSplittableReductions(step);
          !reductions.empty())
        trySplit(step, getPartCounts(reductions[0]), equalGain,
                 [&](int64_t parts) {
                   return splitReductions(step, reductions, parts);
                 });
      else if (auto online = getOnlineReductions(step))
        trySplit(step, getKeptPartCounts(online->most), 1, [&](int64_t parts) {
          return splitOnline(step, *online, parts);
        });
  }

  /// In one of these numbers of parts, in increasing order; of some that gain
  /// as much but for this factor, the last.
  void trySplit(StepOp step, ArrayRef<int64_t> counts, double equal,
                llvm::function_ref<CutStep(int64_t)> split);

  const Target *target = nullptr;
};
} // namespace

void SplitReductions::trySplit(StepOp step, ArrayRef<int64_t> counts,
                               double equal,
                               llvm::function_ref<CutStep(int64_t)> split) {
  SmallVector<int64_t> dims = getDecisiveDims(step);
  Estimates whole = estimateStep(step, *target, {}, dims);
  CutGain best;
  int64_t bestParts = 0;
  for (int64_t parts : counts) {
    CutStep cut = split(parts);
    CutGain gain = getGain(cut, whole, *target, {}, dims, always);
    if (gain.factor > best.factor * equal) {
      best = gain;
      bestParts = parts;
    }
    cut.erase();
  }
  if (!bestParts || (best.factor < leastSumGain && !always))
    return;
  split(bestParts);
  remarkPassed(remarks::splitReduction, step.getLoc())
      << fmt::format("'{}' reduces {} parts of each row: {:.1f} us instead "
                     "of {:.1f} us, at dimensions of {}",
                     step.getName(), bestParts, best.cut, best.whole, best.dim);
  step.erase();
}
