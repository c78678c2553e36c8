// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wire format: https://protobuf.dev/programming-guides/encoding. A message
// is a sequence of fields, each a tag (number and wire type) and its value;
// messages, strings and bytes are a length and so many bytes.

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
enum class WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field {
  uint64_t number;
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
    std::optional<uint64_t> tag = readVarint();
    if (!tag)
      return std::nullopt;
    Field field{*tag >> 3, WireType(*tag & 7), {}, {}};
    std::optional<uint64_t> size;
    switch (field.type) {
    case WireType::Varint:
      size = readVarint() ? std::optional<uint64_t>(0) : std::nullopt;
      break;
    case WireType::Fixed64:
      size = 8;
      break;
    case WireType::Bytes:
      size = readVarint();
      break;
    case WireType::Fixed32:
      size = 4;
      break;
    }
    if (!size || *size > left.size())
      return std::nullopt;
    field.bytes = left.take_front(*size);
    left = left.drop_front(*size);
    field.whole = start.drop_back(left.size());
    return field;
  }

private:
  std::optional<uint64_t> readVarint() {
    const char *error = nullptr;
    unsigned length = 0;
    uint64_t value =
        decodeULEB128(left.bytes_begin(), &length, left.bytes_end(), &error);
    if (error)
      return std::nullopt;
    left = left.drop_front(length);
    return value;
  }

  StringRef left;
};
} // namespace

static void write(raw_ostream &os, uint64_t number, StringRef bytes) {
  encodeULEB128(number << 3 | uint64_t(WireType::Bytes), os);
  encodeULEB128(bytes.size(), os);
  os << bytes;
}

/// The message's other fields, and what `replace` writes in place of those of
/// this number; nothing where it cannot, or bytes are no fields.
template <class Replace>
static std::optional<std::string> rewrite(StringRef message, uint64_t number,
                                          Replace replace) {
  std::string result;
  raw_string_ostream os(result);
  for (FieldReader reader(message); !reader.atEnd();) {
    std::optional<Field> field = reader.next();
    if (!field)
      return std::nullopt;
    if (field->number != number)
      os << field->whole;
    else if (field->type != WireType::Bytes || !replace(field->bytes, os))
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
