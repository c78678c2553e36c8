// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that give the same elements other sizes.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

//===----------------------------------------------------------------------===//
// Reshape and Flatten
//===----------------------------------------------------------------------===//

/// The size that makes the product of `sizes`, with it at `inferred`, equal to
/// `total`.
static FailureOr<Expr> inferSize(Node &node, ArrayRef<Expr> sizes, Expr total) {
  Expr rest = getElementCount(sizes, node.b.getContext());
  if (rest.isConstant(0)) {
    // Only 0 elements fit, and any size does; ONNX leaves it open.
    if (auto common =
            node.b.agreement.agree(total, rest, "elements of a reshape"))
      return node.b.getExpr(0);
    return node.malformed("expected no elements beside a size of 0, got " +
                          total.str());
  }
  Expr size = total.floorDiv(rest);
  if (total.isConstant() && rest.isConstant() && size * rest != total)
    return node.malformed(
        fmt::format("expected the number of elements {} to be a multiple of {}",
                    total.str(), rest.str()));
  return size;
}

static LogicalResult importReshape(Node &node) {
  bool allowZero = node.opset >= 14 && node.getBool("allowzero", false);
  auto shape = node.getShapeInput(1, "the shape");
  if (failed(shape))
    return failure();
  if (node.getInputRank(1) != 1)
    return node.malformed(fmt::format("expected a shape of rank 1, got rank {}",
                                      node.getInputRank(1)));
  Sizes from = node.getInputSizes(0), known;
  std::optional<size_t> inferred;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (size.isConstant(0) && !allowZero) {
      if (i >= from.size())
        return node.malformed(
            fmt::format("expected a size other than 0 at position {}, which "
                        "the operand lacks",
                        i));
      size = from[i];
    }
    if (size.isConstant(-1)) {
      if (inferred)
        return node.malformed("expected at most one size of -1, got two");
      inferred = i;
      continue;
    }
    if (size.isConstant() && size.getValue() < 0)
      return node.malformed("expected sizes from -1 on, got " + size.str());
    known.push_back(size);
  }
  if (failed(node.checkProduct(known)))
    return failure();
  Expr total = getElementCount(from, node.b.getContext());
  Sizes to = known;
  if (inferred) {
    auto size = inferSize(node, known, total);
    if (failed(size))
      return failure();
    to.insert(to.begin() + *inferred, *size);
  }
  if (failed(node.checkProduct(to)))
    return failure();
  Expr count = getElementCount(to, node.b.getContext());
  Value x = node.getInput(0);
  if (total != count) {
    if (failed(node.agree(total, count, "number of elements of a reshape")))
      return failure();
    x = node.b.retarget(node.b.reshape(x, total), count);
  }
  return node.setOutput(0, node.b.reshape(x, to));
}

static LogicalResult importFlatten(Node &node) {
  Sizes sizes = node.getInputSizes(0);
  int64_t rank = sizes.size();
  int64_t axis = node.getInt("axis", 1);
  if (axis < -rank || axis > rank)
    return node.malformed(fmt::format("expected an axis from {} to {}, got {}",
                                      -rank, rank, axis));
  if (axis < 0)
    axis += rank;
  MLIRContext *context = node.b.getContext();
  Expr rows = getElementCount(ArrayRef(sizes).take_front(axis), context);
  Expr columns = getElementCount(ArrayRef(sizes).drop_front(axis), context);
  return node.setOutput(0, node.b.reshape(node.getInput(0), {rows, columns}));
}

//===----------------------------------------------------------------------===//
// Squeeze and Unsqueeze
//===----------------------------------------------------------------------===//

static LogicalResult importSqueeze(Node &node) {
  Sizes sizes = node.getInputSizes(0);
  SmallVector<int64_t> axes;
  if (node.hasInput(1)) {
    auto given = node.getIntsInput(1, "the axes");
    if (failed(given))
      return failure();
    auto valid = node.getAxes(*given, sizes.size());
    if (failed(valid))
      return failure();
    axes = *valid;
  } else {
    for (auto [i, size] : llvm::enumerate(sizes))
      if (size.isConstant(1))
        axes.push_back(i);
  }
  for (int64_t axis : axes) {
    auto one =
        node.agree(sizes[axis], node.b.getExpr(1), "a squeezed dimension");
    if (failed(one))
      return failure();
    sizes[axis] = *one;
  }
  Value x = node.b.retarget(node.getInput(0), sizes);
  return node.setOutput(0, node.b.squeeze(x, axes));
}

static LogicalResult importUnsqueeze(Node &node) {
  auto given = node.getIntsInput(1, "the axes");
  if (failed(given))
    return failure();
  auto axes = node.getAxes(*given, node.getInputRank(0) + given->size());
  if (failed(axes))
    return failure();
  return node.setOutput(0, node.b.unsqueeze(node.getInput(0), *axes));
}

llvm::ArrayRef<Handler> getReshapeHandlers() {
  static constexpr Handler handlers[] = {
      {"Flatten", 13, 1, 1, 1, Types::Any, importFlatten},
      {"Reshape", 13, 2, 2, 1, Types::Any, importReshape},
      {"Squeeze", 13, 1, 2, 1, Types::Any, importSqueeze},
      {"Unsqueeze", 13, 2, 2, 1, Types::Any, importUnsqueeze},
  };
  return handlers;
}

} // namespace fusec::onnx
