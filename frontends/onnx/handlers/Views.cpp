// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that repeat, permute, join or mask elements.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

static LogicalResult importTranspose(Node &node) {
  int64_t rank = node.getInputRank(0);
  SmallVector<int64_t> permutation;
  if (auto given = node.getInts("perm"))
    permutation = *given;
  else
    permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  std::string error;
  if (failed(inferTransposeSizes(
          node.getInputSizes(0), permutation,
          [&](const Twine &message) { error = message.str(); })))
    return node.malformed("attribute 'perm': " + error);
  return node.setOutput(0, node.b.transpose(node.getInput(0), permutation));
}

static LogicalResult importConcat(Node &node) {
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq(0u, node.getNumInputs()));
  if (failed(node.checkSameTypes(all)))
    return failure();
  if (!node.hasAttr("axis"))
    return node.malformed("expected attribute 'axis', got none");
  Sizes common = node.getInputSizes(0);
  auto axis = node.getAxis(node.getInt("axis", 0), common.size());
  if (failed(axis))
    return failure();
  for (unsigned i : all) {
    Sizes sizes = node.getInputSizes(i);
    if (sizes.size() != common.size())
      return node.malformed(
          fmt::format("expected operands of one rank, got sizes {} and {}",
                      fusec::toString(common), fusec::toString(sizes)));
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (static_cast<int64_t>(d) == *axis)
        continue;
      auto size = node.agree(common[d], sizes[d], "operands of a concat");
      if (failed(size))
        return failure();
      common[d] = *size;
    }
  }
  SmallVector<Value> values;
  Expr sum = node.b.getExpr(0);
  for (Value value : node.getInputs()) {
    common[*axis] = getSizes(value)[*axis];
    values.push_back(node.b.retarget(value, common));
    // Terms are compared with each other: no thousands of them.
    sum = sum + common[*axis];
    if (failed(node.checkProduct(sum)))
      return failure();
  }
  return node.setOutput(0, node.b.concat(values, *axis));
}

static LogicalResult importExpand(Node &node) {
  auto shape = node.getShapeInput(1, "the shape");
  if (failed(shape))
    return failure();
  for (Expr size : *shape)
    if (size.isConstant() && size.getValue() < 0)
      return node.malformed("expected sizes that are not negative, got " +
                            size.str());
  Sizes from = node.getInputSizes(0);
  auto sizes = node.b.broadcastSizes({from, Sizes(*shape)});
  if (failed(sizes))
    return node.malformed(
        fmt::format("expected sizes that broadcast with {}, got {}",
                    fusec::toString(from), fusec::toString(*shape)));
  return node.setOutput(0, node.b.broadcastTo(node.getInput(0), *sizes));
}

// [n] is viewed as [1, n], repeated to [r, n] and joined to [r * n].
static LogicalResult importTile(Node &node) {
  auto repeats = node.getShapeInput(1, "the repeats");
  if (failed(repeats))
    return failure();
  Sizes sizes = node.getInputSizes(0);
  if (repeats->size() != sizes.size())
    return node.malformed(fmt::format("expected {} repeats, got {}",
                                      sizes.size(), repeats->size()));
  Sizes split, repeated, joined;
  for (auto [size, count] : llvm::zip_equal(sizes, *repeats)) {
    if (count.isConstant() && count.getValue() < 0)
      return node.malformed("expected repeats that are not negative, got " +
                            count.str());
    if (countTerms(size) * countTerms(count) > maxTerms)
      return node.checkProduct({size, count});
    joined.push_back(size * count);
    if (!count.isConstant(1)) {
      split.push_back(node.b.getExpr(1));
      repeated.push_back(count);
    }
    split.push_back(size);
    repeated.push_back(size);
  }
  if (failed(node.checkProduct(joined)))
    return failure();
  Value x =
      node.b.broadcastTo(node.b.reshape(node.getInput(0), split), repeated);
  return node.setOutput(0, node.b.reshape(x, joined));
}

static LogicalResult importTrilu(Node &node) {
  if (failed(node.checkRank(0, 2)))
    return failure();
  bool upper = node.getBool("upper", true);
  Value x = node.getInput(0);
  Sizes sizes = getSizes(x);
  Sizes plane(sizes.end() - 2, sizes.end());
  TensorBuilder &b = node.b;
  Type i64 = b.getI64Type();
  Value diagonal = b.iota(0, plane, i64), column = b.iota(1, plane, i64);
  if (node.hasInput(1)) {
    if (!node.getInputType(1).isSignlessInteger(64) ||
        !getElementCount(node.getInputSizes(1), b.getContext()).isConstant(1))
      return node.malformed("expected k to be a scalar of type int64");
    Value k = b.reshape(node.getInput(1), {});
    diagonal = b.binary<AddOp>(diagonal, b.broadcastTo(k, plane));
  }
  Value keep = upper ? b.compare<LessOrEqualOp>(diagonal, column)
                     : b.compare<LessOrEqualOp>(column, diagonal);
  keep = b.broadcastTo(keep, sizes);
  return node.setOutput(0, b.select(keep, x, b.splatLike(0, x)));
}

llvm::ArrayRef<Handler> getViewHandlers() {
  static constexpr Handler handlers[] = {
      {"Concat", 13, 1, anyNumber, 1, Types::Any, importConcat},
      {"Expand", 13, 2, 2, 1, Types::Any, importExpand},
      {"Tile", 13, 2, 2, 1, Types::Any, importTile},
      {"Transpose", 13, 1, 1, 1, Types::Any, importTranspose},
      {"Trilu", 14, 1, 2, 1, Types::Any, importTrilu},
  };
  return handlers;
}

} // namespace fusec::onnx
