// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax and the normalizations, by the formulas of their definitions; fusion
// puts them together again.

#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

namespace {
struct ShiftedExp {
  Value shifted, exp, sum;
};
} // namespace

/// x - max(x), its exponential, and the sum of that, all of x's sizes.
static FailureOr<ShiftedExp> computeShiftedExp(Node &node) {
  if (failed(node.checkRank(0, 1)))
    return failure();
  auto axis = node.getAxis(node.getInt("axis", -1), node.getInputRank(0));
  if (failed(axis))
    return failure();
  TensorBuilder &b = node.b;
  Value x = node.getInput(0);
  Sizes sizes = getSizes(x);
  Value largest = b.reduce(ReduceKind::Max, x, *axis, /*keepDims=*/true);
  Value shifted = b.binary<SubOp>(x, b.broadcastTo(largest, sizes));
  Value exp = b.unary<ExpOp>(shifted);
  Value sum = b.reduce(ReduceKind::Sum, exp, *axis, /*keepDims=*/true);
  return ShiftedExp{shifted, exp, sum};
}

static LogicalResult importSoftmax(Node &node) {
  auto parts = computeShiftedExp(node);
  if (failed(parts))
    return failure();
  Value sum = node.b.broadcastTo(parts->sum, getSizes(parts->exp));
  return node.setOutput(0, node.b.binary<DivOp>(parts->exp, sum));
}

static LogicalResult importLogSoftmax(Node &node) {
  auto parts = computeShiftedExp(node);
  if (failed(parts))
    return failure();
  Value log =
      node.b.broadcastTo(node.b.unary<LogOp>(parts->sum), getSizes(parts->exp));
  return node.setOutput(0, node.b.binary<SubOp>(parts->shifted, log));
}

//===----------------------------------------------------------------------===//
// Layer and RMS normalization
//===----------------------------------------------------------------------===//

/// The axes from the attribute 'axis' on.
static FailureOr<SmallVector<int64_t>> getTrailingAxes(Node &node) {
  if (failed(node.checkRank(0, 1)))
    return failure();
  int64_t rank = node.getInputRank(0);
  auto axis = node.getAxis(node.getInt("axis", -1), rank);
  if (failed(axis))
    return failure();
  return llvm::to_vector(llvm::seq<int64_t>(*axis, rank));
}

static FailureOr<Type> getStashType(Node &node) {
  Type type = node.getTypeAttr("stash_type", ::onnx::TensorProto::FLOAT);
  if (!type)
    return failure();
  if (!isa<FloatType>(type))
    return node.malformed(
        "expected attribute 'stash_type' to be a float type, got " +
        toString(type));
  return type;
}

namespace {
struct Normalized {
  Value result, mean, inverse; // the inverse of the standard deviation
};
} // namespace

/// (x - mean) / sqrt(variance + epsilon), both over the axes.
static Normalized normalize(Node &node, Value x, ArrayRef<int64_t> axes) {
  TensorBuilder &b = node.b;
  Sizes sizes = getSizes(x);
  Value mean = b.mean(x, axes, /*keepDims=*/true);
  Value deviation = b.binary<SubOp>(x, b.broadcastTo(mean, sizes));
  Value variance =
      b.mean(b.binary<MulOp>(deviation, deviation), axes, /*keepDims=*/true);
  Value epsilon = b.splatLike(node.getFloat("epsilon", 1e-5f), variance);
  Value standard = b.unary<SqrtOp>(b.binary<AddOp>(variance, epsilon));
  Value inverse = b.unary<ReciprocalOp>(standard);
  return {b.binary<MulOp>(deviation, b.broadcastTo(inverse, sizes)), mean,
          inverse};
}

static LogicalResult importLayerNormalization(Node &node) {
  auto axes = getTrailingAxes(node);
  auto stash = getStashType(node);
  if (failed(axes) || failed(stash) || failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  TensorBuilder &b = node.b;
  Sizes sizes = node.getInputSizes(0);
  Value x = b.cast(node.getInput(0), *stash);
  auto [result, mean, inverse] = normalize(node, x, *axes);
  result = b.cast(result, node.getInputType(0));
  auto scale = node.broadcastInput(1, sizes);
  if (failed(scale))
    return failure();
  result = b.binary<MulOp>(result, *scale);
  if (node.hasInput(2)) {
    auto bias = node.broadcastInput(2, sizes);
    if (failed(bias))
      return failure();
    result = b.binary<AddOp>(result, *bias);
  }
  if (failed(node.setOutput(0, result)))
    return failure();
  if (node.wantsOutput(1) && failed(node.setOutput(1, mean)))
    return failure();
  return node.wantsOutput(2) ? node.setOutput(2, inverse) : success();
}

static LogicalResult importRMSNormalization(Node &node) {
  auto axes = getTrailingAxes(node);
  auto stash = getStashType(node);
  if (failed(axes) || failed(stash) || failed(node.checkTypes(1, Types::Float)))
    return failure();
  TensorBuilder &b = node.b;
  Sizes sizes = node.getInputSizes(0);
  Value x = b.cast(node.getInput(0), *stash);
  Value meanSquare = b.mean(b.binary<MulOp>(x, x), *axes, /*keepDims=*/true);
  Value epsilon = b.splatLike(node.getFloat("epsilon", 1e-5f), meanSquare);
  Value root = b.unary<SqrtOp>(b.binary<AddOp>(meanSquare, epsilon));
  Value normalized = b.binary<DivOp>(x, b.broadcastTo(root, sizes));
  // The result has the scale's type.
  normalized =
      b.cast(b.cast(normalized, node.getInputType(0)), node.getInputType(1));
  auto scale = node.broadcastInput(1, sizes);
  if (failed(scale))
    return failure();
  return node.setOutput(0, b.binary<MulOp>(normalized, *scale));
}

//===----------------------------------------------------------------------===//
// Group and instance normalization
//===----------------------------------------------------------------------===//

/// Inputs 1 and 2, a value for each of `count` channels or groups, as values
/// of the sizes, whose dimension 1 that is.
static FailureOr<std::pair<Value, Value>>
spreadScaleAndBias(Node &node, Expr count, ArrayRef<Expr> sizes, Type type) {
  SmallVector<Value> spread;
  for (unsigned i : {1, 2}) {
    if (node.getInputRank(i) != 1)
      return node.malformed("expected a scale and a bias of rank 1");
    if (failed(node.agree(count, node.getInputSizes(i)[0], "channels")))
      return failure();
    Value vector = node.b.retarget(node.getInput(i), count);
    spread.push_back(node.b.broadcast(node.b.cast(vector, type), sizes, 1));
  }
  return std::pair(spread[0], spread[1]);
}

/// Statistics in `type` of each of `groups` groups of neighbouring channels.
static LogicalResult importGroups(Node &node, int64_t groups, Type type,
                                  bool scalesGroups) {
  if (failed(node.checkRank(0, 2)) || failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  TensorBuilder &b = node.b;
  Sizes sizes = node.getInputSizes(0);
  std::optional<int64_t> channels = sizes[1].getConstant();
  if (!channels)
    return node.unsupported("expected a constant number of channels",
                            "export the model with static channels");
  if (groups < 1 || *channels % groups != 0)
    return node.malformed("expected groups that divide the " +
                          Twine(*channels) + " channels, got " + Twine(groups));
  Sizes grouped = {
      sizes[0], b.getExpr(groups),
      getElementCount(ArrayRef(sizes).drop_front(2), b.getContext()) *
          (*channels / groups)};
  Value x = b.cast(b.reshape(node.getInput(0), grouped), type);
  Value result = b.cast(normalize(node, x, 2).result, node.getInputType(0));
  const Sizes &scaled = scalesGroups ? grouped : sizes;
  result = b.reshape(result, scaled);
  auto given =
      spreadScaleAndBias(node, scaled[1], scaled, node.getInputType(0));
  if (failed(given))
    return failure();
  result =
      b.binary<AddOp>(b.binary<MulOp>(result, given->first), given->second);
  return node.setOutput(0, b.reshape(result, sizes));
}

/// Until opset 20 scale and bias are of groups.
static LogicalResult importGroupNormalization18(Node &node) {
  return importGroups(node, node.getInt("num_groups", 0), getWideType(node),
                      /*scalesGroups=*/true);
}

static LogicalResult importGroupNormalization(Node &node) {
  auto stash = getStashType(node);
  return failed(stash) ? failure()
                       : importGroups(node, node.getInt("num_groups", 0),
                                      *stash, /*scalesGroups=*/false);
}

static LogicalResult importInstanceNormalization(Node &node) {
  if (failed(node.checkRank(0, 2)))
    return failure();
  std::optional<int64_t> channels = node.getInputSizes(0)[1].getConstant();
  return importGroups(node, channels.value_or(1), getWideType(node),
                      /*scalesGroups=*/false);
}

llvm::ArrayRef<Handler> getNormalizationHandlers() {
  static constexpr Handler handlers[] = {
      {"GroupNormalization", 18, 3, 3, 1, Types::Float,
       importGroupNormalization18},
      {"GroupNormalization", 21, 3, 3, 1, Types::Float,
       importGroupNormalization},
      {"InstanceNormalization", 6, 3, 3, 1, Types::Float,
       importInstanceNormalization},
      {"LayerNormalization", 17, 2, 3, 3, Types::Float,
       importLayerNormalization},
      {"LogSoftmax", 13, 1, 1, 1, Types::Float, importLogSoftmax},
      {"RMSNormalization", 23, 2, 2, 1, Types::Float, importRMSNormalization},
      {"Softmax", 13, 1, 1, 1, Types::Float, importSoftmax},
  };
  return handlers;
}

} // namespace fusec::onnx
