// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops without operands: constants, splats, indices and sizes.

#include "ir/Constants.h"
#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include <cstring>

using namespace mlir;

namespace fusec::reference {

TensorOr evaluateConstant(Operation *op, ElementsAttr value, Environment &env) {
  // The budget is checked before a splat is expanded.
  std::string error;
  auto data = getConstantData(value, error, env.options.maxTensorBytes);
  if (failed(data))
    return op->emitOpError(error);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Tensor tensor = Tensor::view(type.getElementType(), type.getShape(),
                               data->bytes, data->owner);
  return convert(tensor, env.getStoredType(type.getElementType()));
}

TensorOr evaluateSplat(SplatOp op, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  Type type = getElementType(op.getResult());
  Tensor element = Tensor::allocate(type, {});
  APInt bits = isa<FloatAttr>(op.getValue())
                   ? cast<FloatAttr>(op.getValue()).getValue().bitcastToAPInt()
                   : cast<IntegerAttr>(op.getValue()).getValue();
  uint64_t word = bits.zextOrTrunc(64).getZExtValue();
  std::memcpy(element.getMutableData(), &word, element.getElementBytes());
  element = convert(element, result->getElementType());
  size_t width = result->getElementBytes();
  for (int64_t i = 0, count = result->getElementCount(); i < count; ++i)
    std::memcpy(result->getMutableData() + i * width, element.getBytes().data(),
                width);
  return result;
}

TensorOr evaluateIota(IotaOp op, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  int64_t size = result->getSizes()[op.getAxis()];
  Type i64 = IntegerType::get(op.getContext(), 64);
  Tensor indices =
      Tensor::allocate(i64, {result->getElementCount() ? size : 0});
  for (auto [i, index] : llvm::enumerate(indices.getMutableElements<int64_t>()))
    index = i;
  Tensor row = convert(indices, result->getElementType());
  // As a broadcast along the axis.
  SmallVector<int64_t> strides(result->getRank(), 0);
  strides[op.getAxis()] = result->getElementBytes();
  char *to = result->getMutableData();
  forEachOffset(result->getSizes(), strides, 0, [&](int64_t offset) {
    std::memcpy(to, row.getBytes().data() + offset, result->getElementBytes());
    to += result->getElementBytes();
  });
  return result;
}

TensorOr evaluateSizeValue(SizeValueOp op, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  auto value = env.dims.evaluate(op.getValue());
  if (!value)
    return op.emitOpError("cannot compute the size ")
           << Expr(op.getValue()).str();
  store<int64_t>(*result, 0, *value);
  return result;
}

} // namespace fusec::reference
