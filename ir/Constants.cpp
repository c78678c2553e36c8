// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Constants.h"
#include "ir/FusecAttributes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <vector>

using namespace mlir;

namespace fusec {

/// Up to here elements are printed in the IR.
constexpr int64_t maxInlineElements = 64;

static ConstantData own(std::vector<char> bytes) {
  auto storage = std::make_shared<std::vector<char>>(std::move(bytes));
  return {ArrayRef<char>(storage->data(), storage->size()), storage};
}

/// Bytes that the type takes; nothing for dynamic types and on overflow.
static std::optional<int64_t> getByteCount(ShapedType type) {
  if (!type.hasStaticShape())
    return std::nullopt;
  int64_t bytes = getElementBytes(type.getElementType());
  for (int64_t size : type.getShape())
    if (size == 0)
      return 0;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return std::nullopt;
  return bytes;
}

std::optional<ConstantData> getSplatData(ElementsAttr value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat() || !dense.getElementType().isIntOrFloat())
    return std::nullopt;
  if (dense.getElementType().isInteger(1))
    return own({static_cast<char>(dense.getSplatValue<bool>())});
  return ConstantData{
      dense.getRawData().take_front(getElementBytes(dense.getElementType())),
      nullptr};
}

FailureOr<ConstantData> getConstantData(ElementsAttr value, std::string &error,
                                        int64_t maxBytes) {
  ShapedType type = value.getShapedType();
  std::optional<int64_t> byteCount;
  if (type.getElementType().isIntOrFloat())
    byteCount = getByteCount(type);
  if (!byteCount || *byteCount > maxBytes) {
    llvm::raw_string_ostream(error)
        << "expected a constant of at most " << maxBytes
        << " bytes and of static sizes, got " << type;
    return failure();
  }
  if (*byteCount == 0)
    return ConstantData{};

  if (auto splat = getSplatData(value)) {
    std::vector<char> bytes(*byteCount);
    size_t width = splat->bytes.size();
    for (size_t at = 0; at < bytes.size(); at += width)
      std::memcpy(bytes.data() + at, splat->bytes.data(), width);
    return own(std::move(bytes));
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    // MLIR packs bools into bits.
    if (type.getElementType().isInteger(1)) {
      std::vector<char> bytes;
      bytes.reserve(*byteCount);
      for (bool element : dense.getValues<bool>())
        bytes.push_back(element);
      return own(std::move(bytes));
    }
    return ConstantData{dense.getRawData(), nullptr};
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != static_cast<size_t>(*byteCount)) {
      llvm::raw_string_ostream os(error);
      os << "expected " << *byteCount << " bytes in resource '"
         << resource.getRawHandle().getKey() << "' for " << type << ", got ";
      if (blob)
        os << blob->getData().size();
      else
        os << "none";
      return failure();
    }
    return ConstantData{blob->getData(), nullptr};
  }
  error = "expected dense elements or a dense resource";
  return failure();
}

ElementsAttr makeConstant(RankedTensorType type, ArrayRef<char> bytes,
                          StringRef name, std::shared_ptr<const void> owner) {
  size_t width = getElementBytes(type.getElementType());
  int64_t count = bytes.size() / width;
  if (count == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  // Equal neighbours are an overlapping comparison with oneself.
  bool equal = std::memcmp(bytes.data(), bytes.data() + width,
                           bytes.size() - width) == 0;
  if (equal || count <= maxInlineElements) {
    ArrayRef<char> stored = equal ? bytes.take_front(width) : bytes;
    if (!type.getElementType().isInteger(1))
      return DenseElementsAttr::getFromRawBuffer(type, stored);
    auto values =
        llvm::map_to_vector(stored, [](char byte) { return byte != 0; });
    return DenseElementsAttr::get(type, values);
  }
  if (!owner) {
    ConstantData copy = own(std::vector<char>(bytes.begin(), bytes.end()));
    bytes = copy.bytes;
    owner = std::move(copy.owner);
  }
  bool isAligned = reinterpret_cast<uintptr_t>(bytes.data()) % width == 0;
  AsmResourceBlob blob(
      bytes, isAligned ? width : 1, [owner](void *, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name.empty() ? "constant" : name,
                                        std::move(blob));
}

} // namespace fusec
