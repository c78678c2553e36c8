// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MatMul and Gemm.

#include "frontends/onnx/handlers/Handlers.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

/// Makes the inner sizes, a's dimension `i` and b's dimension `j`, one.
static LogicalResult agreeInner(Node &node, Value &a, int64_t i, Value &b,
                                int64_t j) {
  Sizes left = getSizes(a), right = getSizes(b);
  auto inner = node.agree(left[i], right[j], "inner dimensions");
  if (failed(inner))
    return failure();
  left[i] = right[j] = *inner;
  a = node.b.retarget(a, left);
  b = node.b.retarget(b, right);
  return success();
}

/// [batch.., m, k] times [k, n] as one product of [batch * m, k].
static Value multiplyByMatrix(TensorBuilder &b, Value x, Value matrix) {
  Sizes sizes = getSizes(x), result(sizes.begin(), sizes.end() - 1);
  Expr rows = getElementCount(result, b.getContext());
  result.push_back(getSizes(matrix)[1]);
  Value product = b.matmul(b.reshape(x, {rows, sizes.back()}), matrix);
  return b.reshape(product, result);
}

static FailureOr<Value> multiplyBatched(Node &node, Value a, Value x) {
  Sizes left = getSizes(a), right = getSizes(x);
  Sizes leftBatch(left.begin(), left.end() - 2),
      rightBatch(right.begin(), right.end() - 2);
  auto batch = node.b.broadcastSizes({leftBatch, rightBatch});
  if (failed(batch))
    return node.malformed(fmt::format(
        "expected batch dimensions that broadcast together, got {} and {}",
        fusec::toString(left), fusec::toString(right)));
  Sizes leftSizes = *batch, rightSizes = *batch;
  leftSizes.append(left.end() - 2, left.end());
  rightSizes.append(right.end() - 2, right.end());
  return node.b.matmul(node.b.broadcastTo(a, leftSizes),
                       node.b.broadcastTo(x, rightSizes));
}

static LogicalResult importMatMul(Node &node) {
  if (failed(node.checkSameTypes({0, 1})) || failed(node.checkRank(0, 1)) ||
      failed(node.checkRank(1, 1)))
    return failure();
  Value a = node.getInput(0), x = node.getInput(1);
  bool leftIsVector = getRank(a) == 1, rightIsVector = getRank(x) == 1;
  if (leftIsVector)
    a = node.b.unsqueeze(a, 0);
  if (rightIsVector)
    x = node.b.unsqueeze(x, 1);
  if (failed(agreeInner(node, a, getRank(a) - 1, x, getRank(x) - 2)))
    return failure();
  Value product;
  if (getRank(x) == 2) {
    product = multiplyByMatrix(node.b, a, x);
  } else {
    auto batched = multiplyBatched(node, a, x);
    if (failed(batched))
      return failure();
    product = *batched;
  }
  SmallVector<int64_t> added;
  if (leftIsVector)
    added.push_back(getRank(product) - 2);
  if (rightIsVector)
    added.push_back(getRank(product) - 1);
  return node.setOutput(0, node.b.squeeze(product, added));
}

/// value * factor, in the value's type.
static FailureOr<Value> scale(Node &node, Value value, StringRef name) {
  double factor = node.getFloat(name, 1.0f);
  if (factor == 1)
    return value;
  if (!isa<FloatType>(getElementType(value)) && factor != std::trunc(factor))
    return node.unsupported(fmt::format(
        "expected attribute {} to be an integer for integer elements, got {:f}",
        quoted(name), factor));
  return node.b.binary<MulOp>(value, node.b.splatLike(factor, value));
}

static LogicalResult importGemm(Node &node) {
  if (failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  for (unsigned i : {0, 1})
    if (node.getInputRank(i) != 2)
      return node.malformed(
          fmt::format("expected input {} to have rank 2, got rank {}", i,
                      node.getInputRank(i)));
  bool transposeA = node.getBool("transA", false),
       transposeB = node.getBool("transB", false);
  Value a = node.getInput(0), x = node.getInput(1);
  if (failed(agreeInner(node, a, transposeA ? 0 : 1, x, transposeB ? 1 : 0)))
    return failure();
  auto result =
      scale(node, node.b.matmul(a, x, transposeA, transposeB), "alpha");
  if (failed(result))
    return failure();
  double beta = node.getFloat("beta", 1.0f);
  // A factor of 0 removes the operand, whatever it holds.
  if (node.hasInput(2) && beta != 0) {
    auto addend = scale(node, node.getInput(2), "beta");
    if (failed(addend))
      return failure();
    auto bias = node.broadcastInput(2, getSizes(*result));
    if (failed(bias))
      return failure();
    Value sum = node.b.broadcastTo(*addend, getSizes(*result));
    result = Value(node.b.binary<AddOp>(*result, sum));
  }
  return node.setOutput(0, *result);
}

llvm::ArrayRef<Handler> getMatmulHandlers() {
  static constexpr Handler handlers[] = {
      {"Gemm", 13, 2, 3, 1, Types::Number, importGemm,
       "factors that are no integers, for integer elements"},
      {"MatMul", 13, 2, 2, 1, Types::Number, importMatMul},
  };
  return handlers;
}

} // namespace fusec::onnx
