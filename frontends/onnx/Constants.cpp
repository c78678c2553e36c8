// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/Constants.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Problems.h"
#include "ir/Constants.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::TensorProto;

bool areValidSizes(ArrayRef<int64_t> sizes, int64_t elementBytes,
                   std::string &error) {
  if (sizes.size() > maxRank) {
    error = fmt::format("expected a rank of at most {}, got {}", maxRank,
                        sizes.size());
    return false;
  }
  int64_t bytes = elementBytes;
  bool overflow = false, empty = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      error = fmt::format("expected sizes that are not negative, got {}", size);
      return false;
    }
    empty |= size == 0;
    overflow |= llvm::MulOverflow(bytes, size, bytes);
  }
  if (overflow && !empty) {
    error = "the product of the sizes does not fit in 64 bits";
    return false;
  }
  return true;
}

ElementsAttr Constants::read(const TensorProto &tensor, std::string &error) {
  ElementsAttr &entry = known[&tensor];
  if (!entry)
    entry = readNew(tensor, error);
  return entry;
}

bool Constants::findExternal(const TensorProto &tensor, uint64_t byteCount,
                             ArrayRef<char> &bytes,
                             std::shared_ptr<const void> &owner,
                             std::string &error) {
  StringRef location;
  uint64_t offset = 0, length = 0;
  bool hasLength = false;
  for (const auto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    bool valid = true;
    if (key == "location")
      location = value;
    else if (key == "offset")
      valid = !value.getAsInteger(10, offset);
    else if (key == "length")
      valid = !value.getAsInteger(10, length), hasLength = true;
    if (!valid) {
      error = fmt::format("external data: expected {} to be a number that is "
                          "not negative, got {}",
                          key, quoted(value));
      return false;
    }
  }
  auto file = external.open(location, error);
  if (!file) {
    error = "external data: " + error;
    return false;
  }
  uint64_t size = file->getBytes().size();
  if (offset > size || (hasLength ? length : byteCount) > size - offset) {
    error = fmt::format("external data: expected the range from {} of {} bytes "
                        "to lie in {}, which has {}",
                        offset, hasLength ? length : byteCount,
                        quoted(location), size);
    return false;
  }
  if (hasLength && length != byteCount) {
    error = fmt::format("external data: expected a length of {} bytes for the "
                        "tensor's sizes, got {}",
                        byteCount, length);
    return false;
  }
  bytes = file->getBytes().slice(offset, byteCount);
  owner = file;
  return true;
}

/// Writes the elements of a typed field in the element's own width.
template <typename Stored, typename Field>
static bool copyField(const Field &field, int64_t count,
                      std::vector<char> &bytes, std::string &error) {
  if (field.size() != count) {
    error = fmt::format("expected {} elements for the sizes, got {}", count,
                        field.size());
    return false;
  }
  bytes.resize(count * sizeof(Stored));
  for (int64_t i = 0; i < count; ++i) {
    Stored value = static_cast<Stored>(field.Get(i));
    std::memcpy(bytes.data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
  return true;
}

static bool copyTyped(const TensorProto &tensor, int64_t count,
                      std::vector<char> &bytes, std::string &error) {
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return copyField<float>(tensor.float_data(), count, bytes, error);
  case TensorProto::DOUBLE:
    return copyField<double>(tensor.double_data(), count, bytes, error);
  case TensorProto::INT64:
    return copyField<int64_t>(tensor.int64_data(), count, bytes, error);
  case TensorProto::UINT64:
    return copyField<uint64_t>(tensor.uint64_data(), count, bytes, error);
  case TensorProto::UINT32:
    return copyField<uint32_t>(tensor.uint64_data(), count, bytes, error);
  case TensorProto::INT32:
    return copyField<int32_t>(tensor.int32_data(), count, bytes, error);
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16: // the bits of the value
  case TensorProto::BFLOAT16:
    return copyField<uint16_t>(tensor.int32_data(), count, bytes, error);
  case TensorProto::BOOL:
    return copyField<bool>(tensor.int32_data(), count, bytes, error);
  default:
    return copyField<uint8_t>(tensor.int32_data(), count, bytes, error);
  }
}

static bool is4Bit(const TensorProto &tensor) {
  return tensor.data_type() == TensorProto::INT4 ||
         tensor.data_type() == TensorProto::UINT4;
}

void unpack4Bits(ArrayRef<char> packed, bool isSigned,
                 MutableArrayRef<char> elements) {
  for (auto [i, element] : llvm::enumerate(elements)) {
    int bits = static_cast<unsigned char>(packed[i / 2]) >> i % 2 * 4 & 15;
    element = static_cast<char>(isSigned && bits > 7 ? bits - 16 : bits);
  }
}

ElementsAttr Constants::readNew(const TensorProto &tensor, std::string &error) {
  // Elements of 4 bits are bytes here; tables are packed again.
  bool isPacked = is4Bit(tensor);
  Type elementType =
      !isPacked ? getTypeOfDtype(tensor.data_type(), &context)
      : tensor.data_type() == TensorProto::INT4
          ? Type(IntegerType::get(&context, 8))
          : Type(IntegerType::get(&context, 8, IntegerType::Unsigned));
  if (!elementType) {
    error = fmt::format(
        "elements of type {} are not supported",
        TensorProto::DataType_IsValid(tensor.data_type())
            ? TensorProto::DataType_Name(
                  static_cast<TensorProto::DataType>(tensor.data_type()))
            : std::to_string(tensor.data_type()));
    return {};
  }
  if (tensor.has_segment()) {
    error = "tensors in segments are not supported";
    return {};
  }
  SmallVector<int64_t> sizes(tensor.dims().begin(), tensor.dims().end());
  int64_t width = getElementBytes(elementType);
  if (!areValidSizes(sizes, width, error))
    return {};
  auto type = RankedTensorType::get(sizes, elementType);
  int64_t count = type.getNumElements(),
          stored = isPacked ? llvm::divideCeil(count, 2) : count;
  ArrayRef<char> bytes;
  std::shared_ptr<const void> owner = storage;
  auto split = storage->rawData.find(&tensor);
  bool isSplit = split != storage->rawData.end();
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (!findExternal(tensor, stored * width, bytes, owner, error))
      return {};
  } else if (isSplit || tensor.has_raw_data()) {
    StringRef data = isSplit ? split->second : tensor.raw_data();
    bytes = ArrayRef(data.data(), data.size());
    if (bytes.size() != static_cast<uint64_t>(stored * width)) {
      error = fmt::format("expected {} bytes of data for the sizes, got {}",
                          stored * width, bytes.size());
      return {};
    }
  } else {
    auto copy = std::make_shared<std::vector<char>>();
    if (!copyTyped(tensor, stored, *copy, error))
      return {};
    bytes = *copy;
    owner = copy;
  }
  if (isPacked) {
    auto copy = std::make_shared<std::vector<char>>(count);
    unpack4Bits(bytes, !elementType.isUnsignedInteger(), *copy);
    bytes = *copy;
    owner = copy;
  }
  if (elementType.isInteger(1) &&
      llvm::any_of(bytes, [](char byte) { return byte & ~1; })) {
    // Everywhere else a bool is 0 or 1.
    auto copy = std::make_shared<std::vector<char>>(bytes.begin(), bytes.end());
    for (char &byte : *copy)
      byte = byte != 0;
    bytes = *copy;
    owner = copy;
  }
  StringRef name = tensor.name();
  return makeConstant(type, bytes, name.empty() ? "constant" : name, owner);
}

} // namespace fusec::onnx
