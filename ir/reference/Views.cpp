// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views move elements and compute nothing: reshapes keep the bytes, concat
// copies blocks, all others read the operand with strides.

#include "ir/reference/Families.h"
#include "ir/reference/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;

namespace fusec::reference {

/// Fills the result in order, reading the operand at `offset` plus the result's
/// index times `strides` (in elements).
static void copyStrided(const Tensor &operand, Tensor &result, int64_t offset,
                        ArrayRef<int64_t> strides) {
  size_t width = result.getElementBytes();
  char *to = result.getMutableData();
  const char *from = operand.getBytes().data();
  forEachOffset(result.getSizes(), strides, offset, [&](int64_t element) {
    std::memcpy(to, from + element * width, width);
    to += width;
  });
}

TensorOr evaluateReshape(Operation *op, const Tensor &operand,
                         Environment &env) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto sizes = env.dims.getSizes(
      type, [&](const Twine &message) { op->emitOpError(message); });
  if (failed(sizes))
    return failure();
  uint64_t product = 1;
  for (int64_t size : *sizes)
    product *= size;
  if (product != static_cast<uint64_t>(operand.getElementCount()))
    return op->emitOpError("expected ")
           << operand.getElementCount() << " elements, got " << product;
  return operand.reshape(*sizes);
}

TensorOr evaluateTranspose(TransposeOp op, const Tensor &operand,
                           Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  auto strides = llvm::map_to_vector(op.getPermutation(), [&](int64_t d) {
    return getDenseStrides(operand.getSizes())[d];
  });
  copyStrided(operand, *result, 0, strides);
  return result;
}

TensorOr evaluateSlice(SliceOp op, const Tensor &operand, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  SmallVector<int64_t> strides = getDenseStrides(operand.getSizes());
  int64_t start = 0;
  if (result->getElementCount() == 0)
    return result;
  for (auto [i, attr] :
       llvm::enumerate(op.getOffsets().getAsRange<ExprAttr>())) {
    auto first = env.dims.evaluate(attr);
    int64_t step = op.getSteps()[i], size = operand.getSizes()[i], way, last;
    // Both ends inside means that all between them are.
    if (!first || llvm::MulOverflow(step, result->getSizes()[i] - 1, way) ||
        llvm::AddOverflow(*first, way, last) || *first < 0 || *first >= size ||
        last < 0 || last >= size)
      return op.emitOpError("expected to read dimension ")
             << i << " inside its size of " << size << ", got "
             << result->getSizes()[i] << " elements from offset "
             << Expr(attr).str()
             << (first ? " = " + std::to_string(*first) : "") << " with step "
             << step;
    start += *first * strides[i];
    // The step may be anything where there is one element.
    strides[i] = result->getSizes()[i] == 1 ? 0 : strides[i] * step;
  }
  copyStrided(operand, *result, start, strides);
  return result;
}

TensorOr evaluateBroadcast(BroadcastOp op, const Tensor &operand,
                           Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  SmallVector<int64_t> dense = getDenseStrides(operand.getSizes());
  SmallVector<int64_t> strides(result->getRank(), 0);
  for (auto [i, d] : llvm::enumerate(op.getDimensions()))
    if (operand.getSizes()[i] != 1)
      strides[d] = dense[i];
  copyStrided(operand, *result, 0, strides);
  return result;
}

TensorOr evaluateConcat(ConcatOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  if (result->getElementCount() == 0)
    return result;
  // Each operand is a block of bytes in each row over the leading dimensions.
  int64_t rows = 1;
  for (int64_t size : result->getSizes().take_front(op.getAxis()))
    rows *= size;
  char *to = result->getMutableData();
  for (int64_t row = 0; row < rows; ++row)
    for (const Tensor &operand : operands) {
      size_t block = operand.getBytes().size() / rows;
      if (block != 0)
        std::memcpy(to, operand.getBytes().data() + row * block, block);
      to += block;
    }
  return result;
}

} // namespace fusec::reference
