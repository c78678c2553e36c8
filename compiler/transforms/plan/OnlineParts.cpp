// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/OnlineParts.h"
#include "compiler/kernels/reduce/Reduce.h"

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
  Value operand = most.getOperand();
  bool isLast = most.getAxes().size() == 1 &&
                most.getAxes()[0] == int64_t(getRank(operand)) - 1;
  if (!isLast || most.getParts() || !most.getReducedCount().getConstant() ||
      !isa<Float32Type>(getElementType(operand)))
    return std::nullopt;
  return OnlineReductions{most, sum, pair->isFinite};
}

namespace {
/// Ops on tensors of floats, in one place.
struct Ops {
  OpBuilder &builder;
  Location loc;

  Value reduce(ReduceKind kind, Value operand, int64_t axis,
               RankedTensorType type, int64_t parts = 0) {
    auto attr = parts ? builder.getI64IntegerAttr(parts) : IntegerAttr();
    return ReduceOp::create(builder, loc, type, kind, operand,
                            ArrayRef<int64_t>{axis}, attr);
  }
  Value splat(Value like, double value) {
    auto type = cast<RankedTensorType>(like.getType());
    return SplatOp::create(builder, loc, type,
                           builder.getF32FloatAttr(float(value)));
  }
  /// The value where it is finite, else 0: infinite items then have
  /// exponentials that are no NaN.
  Value finiteOrZero(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    auto flags = RankedTensorType::get(type.getShape(), builder.getI1Type(),
                                       type.getEncoding());
    Value absolute = AbsOp::create(builder, loc, type, value),
          infinity = splat(value, std::numeric_limits<double>::infinity()),
          isFinite = LessOp::create(builder, loc, flags, absolute, infinity);
    return SelectOp::create(builder, loc, type, isFinite, value,
                            splat(value, 0));
  }
  Value broadcast(Value value, ArrayRef<Expr> sizes,
                  ArrayRef<int64_t> dimensions) {
    return BroadcastOp::create(builder, loc,
                               getTensorType(sizes, getElementType(value)),
                               value, dimensions);
  }
  /// exp(value - most).
  Value expBelow(Value value, Value most) {
    Type type = value.getType();
    Value below = SubOp::create(builder, loc, type, value, most);
    return ExpOp::create(builder, loc, type, below);
  }
};
} // namespace

/// What each part has, for each item of the row: [parts, rows..] to [rows..,
/// length].
static Value spreadOverRows(Ops ops, Value ofPart, ArrayRef<Expr> sizes,
                            Expr partLength) {
  SmallVector<Expr> own = getSizes(ofPart), order(own);
  size_t rank = own.size();
  std::rotate(order.begin(), order.begin() + 1, order.end());
  Type element = getElementType(ofPart);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  permutation.push_back(0);
  Value value = TransposeOp::create(
      ops.builder, ops.loc, getTensorType(order, element), ofPart, permutation);
  order.push_back(partLength);
  value =
      ops.broadcast(value, order, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  SmallVector<Attribute> groups;
  for (int64_t i = 0; i + 1 < int64_t(rank); ++i)
    groups.push_back(ops.builder.getI64ArrayAttr({i}));
  groups.push_back(
      ops.builder.getI64ArrayAttr({int64_t(rank) - 1, int64_t(rank)}));
  SmallVector<Expr> whole(sizes);
  whole.back() = own[0] * partLength;
  value =
      CollapseOp::create(ops.builder, ops.loc, getTensorType(whole, element),
                         value, ops.builder.getArrayAttr(groups));
  if (whole.back() == sizes.back())
    return value;
  Attribute zero = Expr::constant(ops.builder.getContext(), 0).getAttr();
  return SliceOp::create(
      ops.builder, ops.loc, getTensorType(sizes, element), value,
      ops.builder.getArrayAttr(SmallVector<Attribute>(sizes.size(), zero)),
      SmallVector<int64_t>(sizes.size(), 1));
}

CutStep fusec::splitOnline(StepOp step, const OnlineReductions &reductions,
                           int64_t parts) {
  CutStep split;
  ReduceOp most = reductions.most, sum = reductions.sum;
  StepBuilder first(step, Family::Reduce, step.getName() + "_parts"),
      second(step, Family::Reduce, step.getName());
  Ops ofParts{first.builder, step.getLoc()},
      ofRows{second.builder, step.getLoc()};
  SmallVector<Expr> sizes = getSizes(most.getOperand()),
                    kept = getSizes(most.getResult());
  int64_t axis = most.getAxes()[0];
  SmallVector<Expr> own = kept;
  own.insert(own.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType type = getTensorType(own, first.builder.getF32Type());
  first.clone(most.getOperand());
  Value row = first.mapping.lookup(most.getOperand()),
        partMost = ofParts.reduce(ReduceKind::Max, row, axis, type, parts);
  Expr partLength = partMost.getDefiningOp<ReduceOp>().getLength();
  Value spread = spreadOverRows(ofParts, ofParts.finiteOrZero(partMost), sizes,
                                partLength),
        partSum = ofParts.reduce(ReduceKind::Sum, ofParts.expBelow(row, spread),
                                 axis, type, parts);
  for (StringRef name : {"mosts", "sums"})
    split.parts.push_back(createSlot(step, name, type));
  SmallVector<Attribute> refs =
      llvm::map_to_vector(split.parts, [](BufferOp buffer) -> Attribute {
        return FlatSymbolRefAttr::get(buffer);
      });
  split.first = first.finish(refs, {partMost, partSum});

  auto whole = cast<RankedTensorType>(most.getType());
  Value mosts = second.addInput(refs[0], type),
        sums = second.addInput(refs[1], type),
        rowMost = ofRows.reduce(ReduceKind::Max, mosts, 0, whole);
  auto behindParts = llvm::to_vector(llvm::seq<int64_t>(1, own.size()));
  Value scale = ofRows.expBelow(
            mosts,
            ofRows.broadcast(ofRows.finiteOrZero(rowMost), own, behindParts)),
        scaled =
            MulOp::create(second.builder, step.getLoc(), type, sums, scale),
        rowSum = ofRows.reduce(ReduceKind::Sum, scaled, 0, whole);
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
