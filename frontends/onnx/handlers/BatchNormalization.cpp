// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BatchNormalization: with statistics that are given, or (training) those of
// the batch, which also move the running ones.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

/// The widest of the operands' types: before opset 15 all are the same.
static Type getWidestType(Node &node) {
  Type widest = node.getInputType(0);
  for (unsigned i = 1; i < 5; ++i) {
    Type type = node.getInputType(i);
    if (type == widest)
      continue;
    unsigned width =
        std::max(type.getIntOrFloatBitWidth(), widest.getIntOrFloatBitWidth());
    widest = width == 64 ? node.b.getF64Type() : node.b.getF32Type();
  }
  return widest;
}

namespace {
/// Vectors over the channels.
struct Statistics {
  Value scale, bias, mean, variance;
};
} // namespace

static FailureOr<Statistics> getStatistics(Node &node, Expr channels,
                                           Type type) {
  SmallVector<Value> vectors;
  for (unsigned i = 1; i < 5; ++i) {
    if (failed(node.checkTypes(i, Types::Float)))
      return failure();
    Sizes sizes = node.getInputSizes(i);
    if (sizes.size() != 1)
      return node.malformed(fmt::format(
          "expected input {} to have rank 1, got rank {}", i, sizes.size()));
    if (failed(node.agree(channels, sizes[0], "channels")))
      return failure();
    vectors.push_back(
        node.b.cast(node.b.retarget(node.getInput(i), channels), type));
  }
  return Statistics{vectors[0], vectors[1], vectors[2], vectors[3]};
}

/// old * momentum + current * (1 - momentum), as the output's type.
static LogicalResult setRunning(Node &node, unsigned output, Value old,
                                Value current, double momentum) {
  if (!node.wantsOutput(output))
    return success();
  TensorBuilder &b = node.b;
  Value kept = b.binary<MulOp>(old, b.splatLike(momentum, old));
  Value added = b.binary<MulOp>(current, b.splatLike(1 - momentum, current));
  // Inputs 3 and 4 are the old mean and variance.
  return node.setOutput(output, b.cast(b.binary<AddOp>(kept, added),
                                       node.getInputType(output + 2)));
}

static LogicalResult importBatchNormalization(Node &node) {
  double momentum = node.getFloat("momentum", 0.9f);
  bool training = node.opset >= 14 && node.getBool("training_mode", false);
  if (!training)
    for (unsigned i = 1; i < node.getNumOutputs(); ++i)
      if (node.wantsOutput(i))
        return node.unsupported(
            "expected one output outside of training, got more",
            "export the model for inference");
  if (failed(node.checkRank(0, 1)))
    return failure();
  TensorBuilder &b = node.b;
  Sizes sizes = node.getInputSizes(0);
  Type type = getWidestType(node);
  // Data of one dimension have one channel.
  bool hasChannels = sizes.size() > 1;
  auto given = getStatistics(node, hasChannels ? sizes[1] : b.getExpr(1), type);
  if (failed(given))
    return failure();
  auto spread = [&](Value vector) {
    return hasChannels ? b.broadcast(vector, sizes, 1)
                       : b.broadcastTo(vector, sizes);
  };
  Value x = b.cast(node.getInput(0), type);
  Statistics used = *given;
  if (training) {
    SmallVector<int64_t> axes;
    for (int64_t i = 0, rank = sizes.size(); i < rank; ++i)
      if (i != 1)
        axes.push_back(i);
    auto overBatch = [&](Value v) {
      return b.mean(v, axes, /*keepDims=*/!hasChannels);
    };
    used.mean = overBatch(x);
    Value deviation = b.binary<SubOp>(x, spread(used.mean));
    used.variance = overBatch(b.binary<MulOp>(deviation, deviation));
    if (failed(setRunning(node, 1, given->mean, used.mean, momentum)) ||
        failed(setRunning(node, 2, given->variance, used.variance, momentum)))
      return failure();
  }
  // Scale and deviation are one factor of a channel, where each element would
  // have a division.
  Type wide = type.getIntOrFloatBitWidth() == 16 ? b.getF32Type() : type;
  Value variance = b.cast(used.variance, wide);
  Value epsilon = b.splatLike(node.getFloat("epsilon", 1e-5f), variance);
  Value deviation = b.unary<SqrtOp>(b.binary<AddOp>(variance, epsilon));
  Value factor = b.binary<DivOp>(b.cast(used.scale, wide), deviation);
  Value result = b.binary<SubOp>(x, spread(used.mean));
  result = b.binary<MulOp>(result, spread(b.cast(factor, type)));
  result = b.binary<AddOp>(result, spread(used.bias));
  return node.setOutput(0, b.cast(result, node.getInputType(0)));
}

llvm::ArrayRef<Handler> getBatchNormalizationHandlers() {
  static constexpr Handler handlers[] = {
      {"BatchNormalization", 13, 5, 5, 5, Types::Float,
       importBatchNormalization, "training outputs before opset 14"},
  };
  return handlers;
}

} // namespace fusec::onnx
