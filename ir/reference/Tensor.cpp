// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Tensor.h"
#include "ir/Constants.h"
#include "ir/FusecAttributes.h"
#include "llvm/Support/MemAlloc.h"
#include <cstdlib>
#include <cstring>

using namespace mlir;

namespace fusec::reference {

static int64_t getCount(ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Tensor Tensor::allocate(Type elementType, ArrayRef<int64_t> sizes) {
  Tensor tensor;
  tensor.elementType = elementType;
  tensor.width = fusec::getElementBytes(elementType);
  tensor.sizes.assign(sizes.begin(), sizes.end());
  size_t byteCount = getCount(sizes) * tensor.width;
  // Large ones come from the system, whose pages are zero already.
  std::shared_ptr<char> storage(
      static_cast<char *>(llvm::safe_calloc(byteCount, 1)), std::free);
  tensor.mutableData = storage.get();
  tensor.bytes = {tensor.mutableData, byteCount};
  tensor.owner = std::move(storage);
  return tensor;
}

Tensor Tensor::view(Type elementType, ArrayRef<int64_t> sizes,
                    ArrayRef<char> bytes, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.elementType = elementType;
  tensor.width = fusec::getElementBytes(elementType);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % tensor.width != 0) {
    tensor = allocate(elementType, sizes);
    std::memcpy(tensor.mutableData, bytes.data(), tensor.bytes.size());
    return tensor;
  }
  tensor.sizes.assign(sizes.begin(), sizes.end());
  tensor.bytes = bytes;
  tensor.owner = std::move(owner);
  return tensor;
}

FailureOr<Tensor> Tensor::fromConstant(ElementsAttr value, std::string &error) {
  auto data = getConstantData(value, error);
  if (failed(data))
    return failure();
  return view(value.getShapedType().getElementType(),
              value.getShapedType().getShape(), data->bytes, data->owner);
}

ElementsAttr Tensor::toConstant(StringRef name) const {
  return makeConstant(RankedTensorType::get(sizes, elementType), bytes, name,
                      owner);
}

Tensor Tensor::reshape(ArrayRef<int64_t> newSizes) const {
  Tensor tensor = *this;
  tensor.sizes.assign(newSizes.begin(), newSizes.end());
  tensor.mutableData = nullptr;
  return tensor;
}

SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size());
  // Unsigned, since the strides of an empty tensor may go beyond all bounds.
  uint64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

} // namespace fusec::reference
