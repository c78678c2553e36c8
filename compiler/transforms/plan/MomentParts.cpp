// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/MomentParts.h"
#include "compiler/transforms/plan/RowParts.h"

using namespace mlir;
using namespace fusec;

std::optional<Moments> fusec::getMoments(StepOp step) {
  if (step.getFamily() != Family::Reduce)
    return std::nullopt;
  FailureOr<RowIteration> rows = analyzeRows(step);
  return succeeded(rows) ? findMoments(*rows) : std::nullopt;
}

namespace {
/// How many items parts have, of which the last may have fewer.
struct PartCounts : RowParts {
  int64_t length, last;

  /// A number of parts, as of the count of each.
  Value perPart(RankedTensorType type,
                llvm::function_ref<double(int64_t)> number) {
    Value usual = splat(type, number(length));
    if (last == length)
      return usual;
    SmallVector<Expr> sizes = getSizes(usual);
    RankedTensorType places = getTensorType(sizes, builder.getI64Type()),
                     flags = getTensorType(sizes, builder.getI1Type());
    int64_t parts = *sizes[0].getConstant();
    Value isLast = EqualOp::create(
        builder, loc, flags, IotaOp::create(builder, loc, places, 0),
        SplatOp::create(builder, loc, places,
                        builder.getI64IntegerAttr(parts - 1)));
    return SelectOp::create(builder, loc, type, isLast,
                            splat(type, number(last)), usual);
  }
  Value getCounts(RankedTensorType type) {
    return perPart(type, [](int64_t count) { return double(count); });
  }
  Value getInverses(RankedTensorType type) {
    return perPart(type, [](int64_t count) { return 1 / double(count); });
  }
  Value round(Value value, Type to) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!to)
      return value;
    value =
        CastOp::create(builder, loc, getTensorType(getSizes(value), to), value);
    return CastOp::create(builder, loc, type, value);
  }
  template <class Op> Value compute(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }
};
} // namespace

CutStep fusec::splitMoments(StepOp step, const Moments &moments,
                            int64_t parts) {
  CutStep split;
  ReduceOp sum = moments.sum, sumOfSquares = moments.squares;
  StepBuilder first(step, Family::Reduce, step.getName() + "_parts"),
      second(step, Family::Reduce, step.getName());
  SmallVector<Expr> sizes = getSizes(sum.getOperand()),
                    own = getSizes(sum.getResult());
  own.insert(own.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType type = getTensorType(own, first.builder.getF32Type());
  first.clone(sum.getOperand());
  Value row = first.mapping.lookup(sum.getOperand()),
        partSum = RowParts{first.builder, step.getLoc()}.reduce(
            ReduceKind::Sum, row, sum.getAxes(), type, parts);
  int64_t count = *sum.getReducedCount().getConstant(),
          length = *partSum.getDefiningOp<ReduceOp>().getLength().getConstant(),
          last = count - (parts - 1) * length;
  PartCounts ofParts{{first.builder, step.getLoc()}, length, last},
      ofRows{{second.builder, step.getLoc()}, length, last};
  Value partMean = ofParts.compute<MulOp>(partSum, ofParts.getInverses(type)),
        spread = ofParts.spread(partMean, sizes, getReducedAxes(sum),
                                Expr::constant(step.getContext(), length)),
        apart = ofParts.compute<SubOp>(row, spread),
        partSquares = ofParts.reduce(ReduceKind::Sum,
                                     ofParts.compute<MulOp>(apart, apart),
                                     sum.getAxes(), type, parts);
  SmallVector<Value> read =
      passParts(split, step, first, second,
                {{"sums", partSum}, {"squares", partSquares}});

  auto whole = cast<RankedTensorType>(sum.getType());
  Value sums = read[0], squares = read[1],
        rowSum = ofRows.reduce(ReduceKind::Sum, sums, {0}, whole),
        mean = ofRows.compute<MulOp>(rowSum,
                                     ofRows.splat(whole, 1 / double(count))),
        // What a part's items have more than so many times the mean.
      more = ofRows.compute<SubOp>(
          sums, ofRows.compute<MulOp>(ofRows.repeat(mean, type),
                                      ofRows.getCounts(type))),
        between = ofRows.compute<MulOp>(ofRows.compute<MulOp>(more, more),
                                        ofRows.getInverses(type));
  second.mapping.map(sum.getResult(), rowSum);
  second.mapping.map(sumOfSquares.getResult(),
                     ofRows.reduce(ReduceKind::Sum,
                                   ofRows.compute<AddOp>(squares, between), {0},
                                   whole));
  split.second = second.finishAll();
  return split;
}
