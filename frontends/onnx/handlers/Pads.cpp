// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pad: what is added on either side of an axis is joined to it, as a concat.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

enum class PadMode { Constant, Edge, Reflect, Wrap };

/// `count` elements before the axis, or behind it.
static FailureOr<Value> makePadding(Node &node, Value x, int64_t axis,
                                    int64_t count, bool isBefore,
                                    PadMode mode) {
  TensorBuilder &b = node.b;
  Sizes sizes = getSizes(x), padded = sizes;
  Expr size = sizes[axis];
  padded[axis] = b.getExpr(count);
  if (mode == PadMode::Constant) {
    if (!node.hasInput(2))
      return b.splat(0, padded, getElementType(x));
    return b.broadcastTo(b.reshape(node.getInput(2), {}), padded);
  }
  // Elements of the axis: the last one, some in its direction, or mirrored.
  int64_t needed = mode == PadMode::Edge   ? 1
                   : mode == PadMode::Wrap ? count
                                           : count + 1;
  if (!size.isConstant() || size.getValue() < needed)
    return node.unsupported(
        fmt::format("padding by {} elements of an axis of {}", count,
                    size.isConstant() ? size.str() : "unknown size"));
  if (mode == PadMode::Edge)
    return b.broadcastTo(
        b.sliceAxis(x, axis, isBefore ? b.getExpr(0) : size - 1, b.getExpr(1)),
        padded);
  if (mode == PadMode::Wrap)
    return b.sliceAxis(x, axis, isBefore ? size - count : b.getExpr(0),
                       b.getExpr(count));
  return b.sliceAxis(x, axis, isBefore ? b.getExpr(count) : size - 2,
                     b.getExpr(count), count == 1 ? 1 : -1);
}

static FailureOr<Value> padAxis(Node &node, Value x, int64_t axis,
                                int64_t before, int64_t after, PadMode mode) {
  // Negative padding takes elements away.
  int64_t lost = std::max<int64_t>(-before, 0) + std::max<int64_t>(-after, 0);
  if (lost) {
    Expr left = getSizes(x)[axis] - lost;
    if (!isProvedNonNegative(left))
      return node.unsupported("negative padding of more than the axis has");
    x = node.b.sliceAxis(x, axis, node.b.getExpr(std::max<int64_t>(-before, 0)),
                         left);
  }
  SmallVector<Value> parts;
  for (bool isBefore : {true, false}) {
    int64_t count = isBefore ? before : after;
    if (!isBefore)
      parts.push_back(x);
    if (count <= 0)
      continue;
    auto padding = makePadding(node, x, axis, count, isBefore, mode);
    if (failed(padding))
      return failure();
    parts.push_back(*padding);
  }
  return parts.size() == 1 ? x : node.b.concat(parts, axis);
}

static LogicalResult importPad(Node &node) {
  std::string name = node.getString("mode", "constant");
  PadMode mode;
  if (name == "constant")
    mode = PadMode::Constant;
  else if (name == "edge")
    mode = PadMode::Edge;
  else if (name == "reflect")
    mode = PadMode::Reflect;
  else if (name == "wrap" && node.opset >= 19)
    mode = PadMode::Wrap;
  else
    return node.malformed("expected mode 'constant', 'edge', 'reflect' or, "
                          "from opset 19 on, 'wrap', got '" +
                          name + "'");
  auto pads = node.getIntsInput(1, "the padding");
  if (failed(pads))
    return failure();
  Value x = node.getInput(0);
  int64_t rank = node.getInputRank(0);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.hasInput(3)) {
    auto given = node.getIntsInput(3, "the axes");
    if (failed(given))
      return failure();
    auto known = node.getAxes(*given, rank);
    if (failed(known))
      return failure();
    // In the order that the padding has.
    axes.clear();
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + rank : axis);
  }
  if (pads->size() != 2 * axes.size())
    return node.malformed(
        fmt::format("expected two paddings for each of {} axes, got {}",
                    axes.size(), pads->size()));
  if (node.hasInput(2)) {
    if (failed(node.checkSameTypes({0, 2})))
      return failure();
    Sizes sizes = node.getInputSizes(2);
    if (!getElementCount(sizes, node.b.getContext()).isConstant(1))
      return node.malformed("expected a scalar to pad with, got sizes " +
                            fusec::toString(sizes));
  }
  auto isHuge = [](int64_t count) {
    constexpr int64_t most = int64_t(1) << 40;
    return count > most || count < -most;
  };
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t before = (*pads)[i], after = (*pads)[axes.size() + i];
    if (isHuge(before) || isHuge(after))
      return node.unsupported("padding of more elements than memory has");
    auto padded = padAxis(node, x, axis, before, after, mode);
    if (failed(padded))
      return failure();
    x = *padded;
  }
  return node.setOutput(0, x);
}

llvm::ArrayRef<Handler> getPadHandlers() {
  static constexpr Handler handlers[] = {
      {"Pad", 13, 2, 4, 1, Types::Any, importPad,
       "padding that is computed; other than by constants, of an axis whose "
       "size "
       "is not a number, or by more than it has"},
  };
  return handlers;
}

} // namespace fusec::onnx
