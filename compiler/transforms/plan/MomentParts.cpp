// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/MomentParts.h"
#include "compiler/kernels/reduce/Reduce.h"
#include "compiler/transforms/plan/RowParts.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// The operands of a node that is such an op.
template <class Op>
static ArrayRef<unsigned> getOperandsOf(const ScalarProgram &program,
                                        unsigned node) {
  const ScalarNode &own = program[node];
  return own.kind == ScalarNode::Kind::Compute && isa<Op>(own.op)
             ? ArrayRef<unsigned>(own.operands)
             : ArrayRef<unsigned>();
}

static std::optional<double> getNumber(const ScalarProgram &program,
                                       unsigned node) {
  auto value = dyn_cast_or_null<FloatAttr>(program[node].constant);
  if (program[node].kind != ScalarNode::Kind::Splat || !value)
    return std::nullopt;
  return value.getValueAsDouble();
}

/// Whether the node is the sum divided by the count, or that by its inverse.
static bool isMean(const ScalarProgram &program, unsigned node, Value sum,
                   double count) {
  auto isScaled = [&](ArrayRef<unsigned> operands, double expected) {
    if (operands.empty() ||
        program[operands[0]].kind != ScalarNode::Kind::Root ||
        program[operands[0]].value != sum)
      return false;
    constexpr double rounding = 1e-6;
    std::optional<double> number = getNumber(program, operands[1]);
    return number && std::abs(*number / expected - 1) < rounding;
  };
  return isScaled(getOperandsOf<DivOp>(program, node), count) ||
         isScaled(getOperandsOf<MulOp>(program, node), 1 / count);
}

/// What a node rounds to a narrower type and back, and that type; null where it
/// does not.
static std::pair<unsigned, Type> skipRounding(const ScalarProgram &program,
                                              unsigned node) {
  ArrayRef<unsigned> wide = getOperandsOf<CastOp>(program, node);
  if (wide.empty())
    return {node, Type()};
  ArrayRef<unsigned> narrow = getOperandsOf<CastOp>(program, wide[0]);
  if (narrow.empty())
    return {node, Type()};
  return {narrow[0], program[wide[0]].type};
}

std::optional<Moments> fusec::getMoments(StepOp step) {
  if (step.getFamily() != Family::Reduce)
    return std::nullopt;
  FailureOr<RowIteration> rows = analyzeRows(step);
  if (failed(rows) || rows->reductions.size() != 2)
    return std::nullopt;
  auto sum = dyn_cast<ReduceOp>(rows->reductions[0].op),
       squares = dyn_cast<ReduceOp>(rows->reductions[1].op);
  if (!sum || !squares || sum.getKind() != ReduceKind::Sum ||
      squares.getKind() != ReduceKind::Sum || sum.getParts() ||
      !isa<Float32Type>(getElementType(sum)))
    return std::nullopt;
  std::optional<int64_t> count = sum.getReducedCount().getConstant();
  const ScalarProgram &program = rows->program;
  ArrayRef<unsigned> factors =
      getOperandsOf<MulOp>(program, rows->reductions[1].operand);
  if (!count || factors.empty() || factors[0] != factors[1])
    return std::nullopt;
  ArrayRef<unsigned> apart = getOperandsOf<SubOp>(program, factors[0]);
  if (apart.empty() || skipExactCast(program, apart[0]) !=
                           skipExactCast(program, rows->reductions[0].operand))
    return std::nullopt;
  auto [mean, rounded] = skipRounding(program, apart[1]);
  if (!isMean(program, mean, sum.getResult(), double(*count)))
    return std::nullopt;
  return Moments{sum, squares, rounded};
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
