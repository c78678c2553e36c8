// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wire format: https://protobuf.dev/programming-guides/encoding. A message
// is a sequence of fields, each a tag (number and wire type) and its value;
// messages, strings and bytes are a length and so many bytes. What is read here
// must mean the same to the parser that reads the rest, so that both count the
// same initializers: what that parser would cut to fit is refused.

#include "frontends/onnx/RawData.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace fusec::onnx {

namespace {
enum class WireType {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  StartGroup = 3,
  EndGroup = 4,
  Fixed32 = 5
};

struct Field {
  uint32_t number;
  WireType type;
  StringRef whole; // with its tag
  StringRef bytes; // of WireType::Bytes
};

/// Takes a message's fields one by one.
class FieldReader {
public:
  explicit FieldReader(StringRef message) : left(message) {}

  bool atEnd() const { return left.empty(); }
  std::optional<Field> next() {
    StringRef start = left;
    std::optional<Field> field = readOne();
    // A group is of no known field, and ends where as many have ended as begun.
    for (size_t depth = 0; field; field = readOne()) {
      depth += field->type == WireType::StartGroup;
      if (field->type == WireType::EndGroup && depth-- == 0)
        return std::nullopt;
      if (depth != 0)
        continue;
      field->whole = start.drop_back(left.size());
      return field;
    }
    return std::nullopt;
  }

private:
  /// A field, or one of the two ends of a group.
  std::optional<Field> readOne() {
    std::optional<uint64_t> tag = readVarint(maxTagBytes);
    if (!tag || *tag > UINT32_MAX || *tag >> 3 == 0)
      return std::nullopt;
    Field field{uint32_t(*tag >> 3), WireType(*tag & 7), {}, {}};
    std::optional<uint64_t> size = 0;
    switch (field.type) {
    case WireType::Varint:
      if (!readVarint(maxVarintBytes))
        return std::nullopt;
      break;
    case WireType::Fixed64:
      size = 8;
      break;
    case WireType::Bytes:
      size = readVarint(maxSizeBytes);
      break;
    case WireType::StartGroup:
    case WireType::EndGroup:
      break;
    case WireType::Fixed32:
      size = 4;
      break;
    default:
      return std::nullopt;
    }
    if (!size || *size > left.size())
      return std::nullopt;
    field.bytes = left.take_front(*size);
    left = left.drop_front(*size);
    return field;
  }

  // As many as protobuf reads; zeros at the end may make a number longer.
  static constexpr size_t maxTagBytes = 5, maxSizeBytes = 5,
                          maxVarintBytes = 10;

  /// Of a number of 64 bits the bits beyond them count for nothing.
  std::optional<uint64_t> readVarint(size_t maxBytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < std::min(maxBytes, left.size()); ++i) {
      auto byte = static_cast<unsigned char>(left[i]);
      value |= uint64_t(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        left = left.drop_front(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  StringRef left;
};
} // namespace

static void write(raw_ostream &os, uint32_t number, StringRef bytes) {
  encodeULEB128(uint64_t(number) << 3 | uint64_t(WireType::Bytes), os);
  encodeULEB128(bytes.size(), os);
  os << bytes;
}

/// The message's other fields, and what `replace` writes in place of those of
/// this number; nothing where it cannot, or bytes are no fields. A field of the
/// number but another type is unknown to the parser, and stays.
template <class Replace>
static std::optional<std::string> rewrite(StringRef message, uint32_t number,
                                          Replace replace) {
  std::string result;
  raw_string_ostream os(result);
  for (FieldReader reader(message); !reader.atEnd();) {
    std::optional<Field> field = reader.next();
    if (!field)
      return std::nullopt;
    if (field->number != number || field->type != WireType::Bytes)
      os << field->whole;
    else if (!replace(field->bytes, os))
      return std::nullopt;
  }
  return result;
}

std::optional<SplitModel> splitModel(StringRef bytes) {
  SplitModel split;
  auto splitTensor = [&](StringRef tensor, raw_ostream &os) {
    // Of a field that comes twice the last value counts.
    std::optional<StringRef> &data = split.rawData.emplace_back();
    auto rest = rewrite(tensor, TensorProto::kRawDataFieldNumber,
                        [&](StringRef value, raw_ostream &) {
                          data = value;
                          return true;
                        });
    if (rest)
      write(os, GraphProto::kInitializerFieldNumber, *rest);
    return rest.has_value();
  };
  auto splitGraph = [&](StringRef graph, raw_ostream &os) {
    auto rest =
        rewrite(graph, GraphProto::kInitializerFieldNumber, splitTensor);
    if (rest)
      write(os, ModelProto::kGraphFieldNumber, *rest);
    return rest.has_value();
  };
  auto rest = rewrite(bytes, ModelProto::kGraphFieldNumber, splitGraph);
  if (!rest)
    return std::nullopt;
  split.rest = std::move(*rest);
  return split;
}

} // namespace fusec::onnx
