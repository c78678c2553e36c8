// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/OnlineParts.h"
#include "compiler/kernels/reduce/Reduce.h"
#include "compiler/transforms/plan/RowParts.h"

using namespace mlir;
using namespace fusec;

std::optional<OnlineReductions> fusec::getOnlineReductions(StepOp step) {
  if (step.getFamily() != Family::Reduce)
    return std::nullopt;
  FailureOr<RowIteration> rows = analyzeRows(step);
  if (failed(rows) || rows->reductions.size() != 2)
    return std::nullopt;
  std::optional<OnlinePair> pair = findOnlinePair(*rows);
  if (!pair)
    return std::nullopt;
  auto most = cast<ReduceOp>(rows->reductions[0].op),
       sum = cast<ReduceOp>(rows->reductions[1].op);
  if (most.getParts() || !most.getReducedCount().getConstant() ||
      !isa<Float32Type>(getElementType(most.getOperand())))
    return std::nullopt;
  return OnlineReductions{most, sum, pair->isFinite};
}

namespace {
struct OnlineOps : RowParts {
  /// The value where it is finite, else 0: infinite items then have
  /// exponentials that are no NaN.
  Value finiteOrZero(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    auto flags = RankedTensorType::get(type.getShape(), builder.getI1Type(),
                                       type.getEncoding());
    Value absolute = AbsOp::create(builder, loc, type, value),
          infinity = splat(type, std::numeric_limits<double>::infinity()),
          isFinite = LessOp::create(builder, loc, flags, absolute, infinity);
    return SelectOp::create(builder, loc, type, isFinite, value,
                            splat(type, 0));
  }
  /// exp(value - most).
  Value expBelow(Value value, Value most) {
    Type type = value.getType();
    Value below = SubOp::create(builder, loc, type, value, most);
    return ExpOp::create(builder, loc, type, below);
  }
};
} // namespace

CutStep fusec::splitOnline(StepOp step, const OnlineReductions &reductions,
                           int64_t parts) {
  CutStep split;
  ReduceOp most = reductions.most, sum = reductions.sum;
  StepBuilder first(step, Family::Reduce, step.getName() + "_parts"),
      second(step, Family::Reduce, step.getName());
  OnlineOps ofParts{{first.builder, step.getLoc()}},
      ofRows{{second.builder, step.getLoc()}};
  SmallVector<Expr> sizes = getSizes(most.getOperand()),
                    kept = getSizes(most.getResult());
  SmallVector<int64_t> axes = getReducedAxes(most);
  SmallVector<Expr> own = kept;
  own.insert(own.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType type = getTensorType(own, first.builder.getF32Type());
  first.clone(most.getOperand());
  Value row = first.mapping.lookup(most.getOperand()),
        partMost = ofParts.reduce(ReduceKind::Max, row, axes, type, parts);
  Expr partLength = partMost.getDefiningOp<ReduceOp>().getLength();
  Value spread = ofParts.spread(ofParts.finiteOrZero(partMost), sizes, axes,
                                partLength),
        partSum = ofParts.reduce(ReduceKind::Sum, ofParts.expBelow(row, spread),
                                 axes, type, parts);
  SmallVector<Value> read = passParts(split, step, first, second,
                                      {{"mosts", partMost}, {"sums", partSum}});

  auto whole = cast<RankedTensorType>(most.getType());
  Value mosts = read[0], sums = read[1],
        rowMost = ofRows.reduce(ReduceKind::Max, mosts, {0}, whole);
  Value scale = ofRows.expBelow(
            mosts, ofRows.repeat(ofRows.finiteOrZero(rowMost), type)),
        scaled =
            MulOp::create(second.builder, step.getLoc(), type, sums, scale),
        rowSum = ofRows.reduce(ReduceKind::Sum, scaled, {0}, whole);
  // NaN where the largest is infinite.
  if (!reductions.isFinite)
    rowSum = AddOp::create(
        second.builder, step.getLoc(), whole, rowSum,
        SubOp::create(second.builder, step.getLoc(), whole, rowMost, rowMost));
  second.mapping.map(most.getResult(), rowMost);
  second.mapping.map(sum.getResult(), rowSum);
  split.second = second.finishAll();
  return split;
}
