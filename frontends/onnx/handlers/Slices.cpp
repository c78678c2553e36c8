// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slice and Split. Bounds are expressions of sizes, clamped as ONNX says; what
// the ranges of sizes decide is decided here, the rest stays min and max.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

static Expr atLeast(Expr value, Expr bound) {
  if (isProvedNonNegative(value - bound))
    return value;
  if (isProvedNonNegative(bound - value))
    return bound;
  return Expr::max(value, bound);
}
static Expr atMost(Expr value, Expr bound) {
  if (isProvedNonNegative(bound - value))
    return value;
  if (isProvedNonNegative(value - bound))
    return bound;
  return Expr::min(value, bound);
}

/// Larger than any index; exporters write it for "to the end".
constexpr int64_t farAway = INT32_MAX;

/// A bound of ONNX (negative ones count from the end), clamped to [low, high].
static Expr clampBound(Expr bound, Expr size, Expr low, Expr high) {
  if (auto number = bound.getConstant()) {
    if (*number >= farAway && !size.isConstant())
      return high;
    if (*number <= -farAway && !size.isConstant())
      return atMost(low, high);
    // Not saturating by accident: the sum is clamped anyway.
    if (*number < 0)
      bound = size + std::max<int64_t>(*number, INT64_MIN / 2);
  } else if (!isProvedNonNegative(bound)) {
    auto upper = ExprRanges({}).upperBound(bound);
    Expr zero = size - size, one = zero + 1;
    if (upper && *upper < 0)
      bound = bound + size;
    else if (!(bound == size - 1))
      // size * [bound < 0]; for size - 1 both readings are clamped alike.
      bound = bound + size * Expr::min(one, Expr::max(bound * -1, zero));
  }
  return atMost(atLeast(bound, low), high);
}

namespace {
struct SliceBounds {
  Expr offset, size;
};
} // namespace

/// Steps beyond every size select one element; this one computes without
/// overflow.
constexpr int64_t longestStep = int64_t(1) << 40;

static SliceBounds computeBounds(Expr start, Expr end, int64_t step,
                                 Expr size) {
  Expr zero = size - size;
  Expr first, last, distance;
  if (step > 0) {
    first = clampBound(start, size, zero, size);
    last = clampBound(end, size, zero, size);
    distance = last - first;
  } else {
    first = clampBound(start, size, zero, size - 1);
    last = clampBound(end, size, zero - 1, size - 1);
    distance = first - last;
  }
  // A start at the end selects nothing, whatever the end is.
  bool isEmpty = isProvedNonNegative(distance * -1) ||
                 (step > 0 && isProvedNonNegative(first - size));
  if (isEmpty)
    return {first, zero};
  Expr count = atLeast(distance.ceilDiv(zero + std::abs(step)), zero);
  ExprRanges ranges({});
  auto lower = ranges.lowerBound(count), upper = ranges.upperBound(count);
  if (lower && upper && *lower == *upper)
    count = zero + *lower;
  return {first, count};
}

static LogicalResult importSlice(Node &node) {
  auto starts = node.getShapeInput(1, "the starts");
  auto ends = node.getShapeInput(2, "the ends");
  if (failed(starts) || failed(ends))
    return failure();
  Sizes sizes = node.getInputSizes(0);
  int64_t rank = sizes.size();
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, starts->size()));
  SmallVector<int64_t> steps(starts->size(), 1);
  if (node.hasInput(3)) {
    auto given = node.getIntsInput(3, "the axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (node.hasInput(4)) {
    auto given = node.getIntsInput(4, "the steps");
    if (failed(given))
      return failure();
    steps = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return node.malformed(fmt::format("expected starts, ends, axes and steps "
                                      "of one length, got {}, {}, {} and {}",
                                      starts->size(), ends->size(), axes.size(),
                                      steps.size()));
  SmallVector<Expr> offsets(rank, node.b.getExpr(0)), results = sizes;
  SmallVector<int64_t> allSteps(rank, 1);
  llvm::SmallDenseSet<int64_t> seen;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = node.getAxis(axes[i], rank);
    if (failed(axis))
      return failure();
    if (!seen.insert(*axis).second)
      return node.malformed(
          fmt::format("expected distinct axes, got {} twice", *axis));
    if (steps[i] == 0)
      return node.malformed("expected steps other than 0");
    steps[i] = std::clamp(steps[i], -longestStep, longestStep);
    if (isTooLarge((*starts)[i]) || isTooLarge((*ends)[i]))
      return node.unsupported(
          "the bounds are too long expressions of dimensions");
    auto bounds =
        computeBounds((*starts)[i], (*ends)[i], steps[i], sizes[*axis]);
    offsets[*axis] = bounds.offset;
    results[*axis] = bounds.size;
    // The step of a single element has no meaning.
    allSteps[*axis] =
        bounds.size.isConstant(0) || bounds.size.isConstant(1) ? 1 : steps[i];
    if (isTooLarge(bounds.offset) || isTooLarge(bounds.size))
      return node.unsupported(
          "the bounds are too long expressions of dimensions");
  }
  bool whole =
      results == sizes &&
      llvm::all_of(allSteps, [](int64_t s) { return s == 1; }) &&
      llvm::all_of(offsets, [](Expr offset) { return offset.isConstant(0); });
  Value x = node.getInput(0);
  return node.setOutput(0, whole ? x
                                 : node.b.slice(x, offsets, results, allSteps));
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// Equal parts; from opset 18 on the last may be smaller.
static FailureOr<SmallVector<Expr>> divideEvenly(Node &node, Expr size,
                                                 int64_t parts) {
  Expr count = node.b.getExpr(parts), zero = node.b.getExpr(0);
  if (node.opset < 18) {
    Expr part = size.floorDiv(count);
    if (failed(node.agree(size, part * parts,
                          "a dimension split into equal parts")))
      return failure();
    return SmallVector<Expr>(parts, part);
  }
  Expr part = size.ceilDiv(count);
  SmallVector<Expr> result;
  for (int64_t i = 0; i < parts; ++i)
    result.push_back(part * parts == size
                         ? part
                         : atLeast(atMost(part, size - part * i), zero));
  return result;
}

static LogicalResult importSplit(Node &node) {
  Sizes sizes = node.getInputSizes(0);
  auto axis = node.getAxis(node.getInt("axis", 0), sizes.size());
  if (failed(axis))
    return failure();
  int64_t outputs = node.getNumOutputs();
  bool hasCount = node.opset >= 18 && node.hasAttr("num_outputs");
  int64_t count =
      node.opset >= 18 ? node.getInt("num_outputs", outputs) : outputs;
  Expr size = sizes[*axis];
  SmallVector<Expr> parts;
  if (node.hasInput(1)) {
    if (hasCount)
      return node.malformed("expected either the input 'split' or the "
                            "attribute 'num_outputs', got both");
    auto given = node.getShapeInput(1, "the parts");
    if (failed(given))
      return failure();
    parts = *given;
    Expr sum = node.b.getExpr(0);
    for (Expr part : parts) {
      if (part.isConstant() && part.getValue() < 0)
        return node.malformed("expected parts that are not negative, got " +
                              part.str());
      sum = sum + part;
    }
    if (failed(node.agree(size, sum, "the sum of the parts")))
      return failure();
  } else {
    if (count != outputs)
      return node.malformed(
          fmt::format("expected {} outputs, got {}", count, outputs));
    auto even = divideEvenly(node, size, count);
    if (failed(even))
      return failure();
    parts = *even;
  }
  if (static_cast<int64_t>(parts.size()) != outputs)
    return node.malformed(
        fmt::format("expected {} parts, got {}", outputs, parts.size()));
  Expr offset = node.b.getExpr(0);
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (node.wantsOutput(i) &&
        failed(node.setOutput(i, node.b.sliceAxis(node.getInput(0), *axis,
                                                  atMost(offset, size), part))))
      return failure();
    offset = offset + part;
  }
  return success();
}

llvm::ArrayRef<Handler> getSliceHandlers() {
  static constexpr Handler handlers[] = {
      {"Slice", 13, 3, 5, 1, Types::Any, importSlice},
      {"Split", 13, 1, 2, anyNumber, Types::Any, importSplit},
  };
  return handlers;
}

} // namespace fusec::onnx
