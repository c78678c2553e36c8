// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, ArgMax and ArgMin, and CumSum. What is more than one op is
// computed in fp32 for 16-bit floats and in fp64 for integers and rounded once.

#include "frontends/onnx/handlers/Handlers.h"
#include <limits>

using namespace mlir;

namespace fusec::onnx {

namespace {
struct Reduction {
  SmallVector<int64_t> axes;
  bool keepDims;
};
} // namespace

// Until opset 17 an attribute, from 18 on (13 for ReduceSum) an input.
static FailureOr<Reduction> getReduction(Node &node) {
  int64_t rank = node.getInputRank(0);
  bool axesAreInput = node.opset >= (node.getOpType() == "ReduceSum" ? 13 : 18);
  std::optional<SmallVector<int64_t>> given;
  if (!axesAreInput) {
    if (node.hasInput(1))
      return node.malformed("expected 1 input before opset 18, got 2");
    given = node.getInts("axes");
  } else if (node.hasInput(1)) {
    auto values = node.getIntsInput(1, "the axes");
    if (failed(values))
      return failure();
    given = *values;
  }
  bool emptyIsNone =
      axesAreInput && node.getBool("noop_with_empty_axes", false);
  Reduction result;
  result.keepDims = node.getBool("keepdims", true);
  if (!given || given->empty()) {
    if (!emptyIsNone)
      result.axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    return result;
  }
  auto axes = node.getAxes(*given, rank);
  if (failed(axes))
    return failure();
  result.axes = *axes;
  return result;
}

Type getWideType(Node &node) {
  Type type = node.getInputType(0);
  if (!isa<FloatType>(type))
    return node.b.getF64Type();
  return type.getIntOrFloatBitWidth() == 16 ? node.b.getF32Type() : type;
}

template <ReduceKind kind> static LogicalResult importReduce(Node &node) {
  auto reduction = getReduction(node);
  if (failed(reduction))
    return failure();
  return node.setOutput(0, node.b.reduce(kind, node.getInput(0),
                                         reduction->axes, reduction->keepDims));
}

template <typename Compute>
static LogicalResult importComposed(Node &node, Type type, Compute compute) {
  auto reduction = getReduction(node);
  if (failed(reduction))
    return failure();
  Value x = node.b.cast(node.getInput(0), type);
  Value result = compute(x, *reduction);
  return node.setOutput(0, node.b.cast(result, node.getInputType(0)));
}

static LogicalResult importReduceMean(Node &node) {
  // Integers divide as integers, which is the cut-off mean.
  Type type = isa<FloatType>(node.getInputType(0)) ? getWideType(node)
                                                   : node.getInputType(0);
  return importComposed(node, type, [&](Value x, Reduction &r) {
    return node.b.mean(x, r.axes, r.keepDims);
  });
}

static LogicalResult importReduceL1(Node &node) {
  return importComposed(node, node.getInputType(0), [&](Value x, Reduction &r) {
    return node.b.reduce(ReduceKind::Sum, node.b.unary<AbsOp>(x), r.axes,
                         r.keepDims);
  });
}

static Value sumSquares(TensorBuilder &b, Value x, Reduction &r) {
  return b.reduce(ReduceKind::Sum, b.binary<MulOp>(x, x), r.axes, r.keepDims);
}
static LogicalResult importReduceSumSquare(Node &node) {
  Type type = isa<FloatType>(node.getInputType(0)) ? getWideType(node)
                                                   : node.getInputType(0);
  return importComposed(node, type, [&](Value x, Reduction &r) {
    return sumSquares(node.b, x, r);
  });
}
static LogicalResult importReduceL2(Node &node) {
  return importComposed(node, getWideType(node), [&](Value x, Reduction &r) {
    return node.b.unary<SqrtOp>(sumSquares(node.b, x, r));
  });
}

static LogicalResult importReduceLogSum(Node &node) {
  return importComposed(node, getWideType(node), [&](Value x, Reduction &r) {
    return node.b.unary<LogOp>(
        node.b.reduce(ReduceKind::Sum, x, r.axes, r.keepDims));
  });
}

// max + log(sum(exp(x - max))), where an infinite maximum counts as 0: it would
// give inf - inf.
static LogicalResult importReduceLogSumExp(Node &node) {
  return importComposed(node, getWideType(node), [&](Value x, Reduction &r) {
    TensorBuilder &b = node.b;
    Value largest = b.reduce(ReduceKind::Max, x, r.axes, /*keepDims=*/true);
    Value infinity =
        b.splatLike(std::numeric_limits<double>::infinity(), largest);
    Value finite = b.compare<LessOp>(b.unary<AbsOp>(largest), infinity);
    largest = b.select(finite, largest, b.splatLike(0, largest));
    Value exps =
        b.unary<ExpOp>(b.binary<SubOp>(x, b.broadcastTo(largest, getSizes(x))));
    Value sum = b.reduce(ReduceKind::Sum, exps, r.axes, r.keepDims);
    return b.binary<AddOp>(b.unary<LogOp>(sum),
                           b.reshape(largest, getSizes(sum)));
  });
}

template <ArgKind kind> static LogicalResult importArg(Node &node) {
  if (failed(node.checkRank(0, 1)))
    return failure();
  Sizes sizes = node.getInputSizes(0);
  auto axis = node.getAxis(node.getInt("axis", 0), sizes.size());
  if (failed(axis))
    return failure();
  bool keepDims = node.getBool("keepdims", true);
  bool last = node.getBool("select_last_index", false);
  sizes.erase(sizes.begin() + *axis);
  Value result =
      ArgReduceOp::create(node.b, getTensorType(sizes, node.b.getI64Type()),
                          kind, node.getInput(0), *axis, last);
  return node.setOutput(0, keepDims ? node.b.unsqueeze(result, *axis) : result);
}

static LogicalResult importCumSum(Node &node) {
  if (failed(node.checkRank(0, 1)))
    return failure();
  auto given = node.getIntsInput(1, "the axis");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.malformed("expected one axis, got " + Twine(given->size()));
  auto axis = node.getAxis((*given)[0], node.getInputRank(0));
  if (failed(axis))
    return failure();
  Value x = node.getInput(0);
  return node.setOutput(0, CumSumOp::create(node.b, x.getType(), x, *axis,
                                            node.getBool("exclusive", false),
                                            node.getBool("reverse", false)));
}

llvm::ArrayRef<Handler> getReductionHandlers() {
  static constexpr Handler handlers[] = {
      {"ArgMax", 13, 1, 1, 1, Types::Number, importArg<ArgKind::Max>},
      {"ArgMin", 13, 1, 1, 1, Types::Number, importArg<ArgKind::Min>},
      {"CumSum", 11, 2, 2, 1, Types::Number, importCumSum},
      {"ReduceL1", 13, 1, 2, 1, Types::Number, importReduceL1},
      {"ReduceL2", 13, 1, 2, 1, Types::Number, importReduceL2},
      {"ReduceLogSum", 13, 1, 2, 1, Types::Number, importReduceLogSum},
      {"ReduceLogSumExp", 13, 1, 2, 1, Types::Number, importReduceLogSumExp},
      {"ReduceMax", 13, 1, 2, 1, Types::Any, importReduce<ReduceKind::Max>},
      {"ReduceMean", 13, 1, 2, 1, Types::Number, importReduceMean},
      {"ReduceMin", 13, 1, 2, 1, Types::Any, importReduce<ReduceKind::Min>},
      {"ReduceProd", 13, 1, 2, 1, Types::Number,
       importReduce<ReduceKind::Prod>},
      {"ReduceSum", 13, 1, 2, 1, Types::Number, importReduce<ReduceKind::Sum>},
      {"ReduceSumSquare", 13, 1, 2, 1, Types::Number, importReduceSumSquare},
  };
  return handlers;
}

} // namespace fusec::onnx
