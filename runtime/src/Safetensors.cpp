// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading safetensors.

#include "runtime/src/Safetensors.h"

#include "runtime/format/JsonText.h"
#include "runtime/format/Where.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fusec::rt {

namespace {
using format::shorten;
using Json = nlohmann::json;

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t maxHeaderBytes = 100'000'000; // as the format says
constexpr size_t maxDepth = 8;
constexpr size_t maxRank = 32;

[[noreturn]] void failFile(const std::string &message) {
  fail(FUSEC_MALFORMED, message);
}

// Of an element; 0 of a type that is not known.
uint64_t elementBytes(const std::string &dtype) {
  static constexpr struct {
    const char *name;
    uint64_t bytes;
  } known[] = {{"BOOL", 1},    {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1},
               {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
               {"BF16", 2},    {"I32", 4}, {"U32", 4}, {"F32", 4},
               {"F64", 8},     {"I64", 8}, {"U64", 8}};
  for (const auto &entry : known)
    if (dtype == entry.name)
      return entry.bytes;
  return 0;
}

// A number of the header that is no integer of at least 0 is malformed.
uint64_t readInteger(const Json &json, const std::string &what) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > INT64_MAX)
    failFile(what + ": expected an integer of at least 0, found " +
             shorten(json.dump()));
  return json.get<uint64_t>();
}

StoredTensor readTensor(const std::string &name, const Json &json,
                        format::ByteSpan data) {
  std::string what = "tensor '" + shorten(name) + "'";
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets") || json.size() != 3)
    failFile(what + ": expected the members dtype, shape and data_offsets");
  const Json &dtype = json["dtype"], &shape = json["shape"],
             &offsets = json["data_offsets"];
  StoredTensor tensor;
  if (dtype.is_string())
    tensor.dtype = dtype.get<std::string>();
  uint64_t bytes = elementBytes(tensor.dtype);
  if (bytes == 0)
    failFile(what + ": unknown dtype " + shorten(dtype.dump()));
  if (!shape.is_array() || shape.size() > maxRank)
    failFile(what + ": shape: expected at most " + std::to_string(maxRank) +
             " sizes");
  for (const Json &size : shape) {
    tensor.sizes.push_back(int64_t(readInteger(size, what + ": shape")));
    if (__builtin_mul_overflow(bytes, uint64_t(tensor.sizes.back()), &bytes))
      failFile(what + ": its bytes exceed 64 bits");
  }
  if (!offsets.is_array() || offsets.size() != 2)
    failFile(what + ": data_offsets: expected two numbers");
  uint64_t begin = readInteger(offsets[0], what + ": data_offsets");
  uint64_t end = readInteger(offsets[1], what + ": data_offsets");
  if (begin > end || end > data.size)
    failFile(what + ": data_offsets: expected a range within the file's " +
             std::to_string(data.size) + " bytes of data, found [" +
             std::to_string(begin) + ", " + std::to_string(end) + "]");
  if (end - begin != bytes)
    failFile(what + ": expected " + std::to_string(bytes) +
             " bytes by its dtype and shape, found " +
             std::to_string(end - begin));
  tensor.bytes = {data.data + begin, end - begin};
  return tensor;
}

Json parseHeader(std::string_view text) {
  try {
    Json json = format::parseJson(text, maxDepth, "the header");
    if (!json.is_object())
      failFile("the header: expected a JSON object");
    return json;
  } catch (const format::ReadError &failure) {
    failFile(failure.message);
  }
}

// Tensors fill the data without holes, so that no byte has two meanings.
void checkCoverage(const StoredTensors &tensors, format::ByteSpan data) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const auto &[name, tensor] : tensors)
    ranges.emplace_back(uint64_t(tensor.bytes.data - data.data),
                        tensor.bytes.size);
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (auto [begin, size] : ranges) {
    if (begin != end)
      failFile(begin < end
                   ? "tensors overlap at byte " + std::to_string(begin)
                   : "no tensor has the bytes from " + std::to_string(end));
    end += size;
  }
  if (end != data.size)
    failFile("no tensor has the bytes from " + std::to_string(end));
}

HostMatrix toMatrix(const std::string &name, const StoredTensor &tensor) {
  HostMatrix matrix;
  if (tensor.dtype == "F16")
    matrix.dtype = format::DType::F16;
  else if (tensor.dtype == "BF16")
    matrix.dtype = format::DType::BF16;
  else if (tensor.dtype == "F32")
    matrix.dtype = format::DType::F32;
  else
    fail(FUSEC_INVALID_ARGUMENT, "tensor '" + shorten(name) +
                                     "': expected F16, BF16 or F32, found " +
                                     tensor.dtype);
  if (tensor.sizes.size() != 2)
    fail(FUSEC_INVALID_ARGUMENT, "tensor '" + shorten(name) +
                                     "': expected two sizes, found " +
                                     sizesText(tensor.sizes));
  matrix.rows = tensor.sizes[0];
  matrix.columns = tensor.sizes[1];
  matrix.bytes = tensor.bytes.data;
  return matrix;
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// "layers.0.q_proj" of "layers.0.q_proj.lora_A.weight"; else nothing.
std::string layerOf(const std::string &name) {
  for (const char *end : {".lora_A.weight", ".lora_A.default.weight"})
    if (endsWith(name, end))
      return name.substr(0, name.size() - std::string(end).size());
  return name == "lora_A.weight" ? "." : "";
}
} // namespace

StoredTensors readSafetensors(format::ByteSpan file) {
  if (file.size < lengthBytes)
    failFile("expected a safetensors file, found " + std::to_string(file.size) +
             " bytes");
  uint64_t length = 0;
  for (unsigned i = 0; i != lengthBytes; ++i)
    length |= uint64_t(file.data[i]) << (8 * i);
  if (length > maxHeaderBytes || length > file.size - lengthBytes)
    failFile("expected a header within the file, found one of " +
             std::to_string(length) + " bytes");
  const char *header = reinterpret_cast<const char *>(file.data + lengthBytes);
  Json json = parseHeader({header, length});
  format::ByteSpan data{file.data + lengthBytes + length,
                        file.size - lengthBytes - length};
  StoredTensors tensors;
  for (const auto &item : json.items())
    if (item.key() != "__metadata__")
      tensors[item.key()] = readTensor(item.key(), item.value(), data);
  checkCoverage(tensors, data);
  return tensors;
}

HostUpdate findPeftUpdate(const StoredTensors &tensors, const std::string &name,
                          const char *layer) {
  std::string wanted = layer ? layer : name, known;
  std::vector<const std::string *> all, fitting;
  for (const auto &[key, tensor] : tensors) {
    std::string of = layerOf(key);
    if (of.empty())
      continue;
    all.push_back(&key);
    if (all.size() <= 8)
      known += (known.empty() ? "'" : ", '") + shorten(of) + "'";
    if (of == wanted || endsWith(of, "." + wanted))
      fitting.push_back(&key);
  }
  if (fitting.empty() && !layer && all.size() == 1)
    fitting = all;
  if (all.empty())
    fail(FUSEC_INVALID_ARGUMENT,
         "adapter '" + name +
             "': expected tensors named '<layer>.lora_A.weight', found none");
  if (fitting.size() != 1)
    fail(FUSEC_INVALID_ARGUMENT,
         "adapter '" + name + "': expected one layer '" + wanted + "', found " +
             std::to_string(fitting.size()) + " in a file of " +
             std::to_string(all.size()) + ": " + known);
  const std::string &a = *fitting[0];
  std::string b = a;
  b[a.rfind("lora_A") + 5] = 'B';
  auto found = tensors.find(b);
  if (found == tensors.end())
    fail(FUSEC_INVALID_ARGUMENT, "adapter '" + name + "': there is '" +
                                     shorten(a) + "', but no '" + shorten(b) +
                                     "'");
  // DoRA, a bias of B, another adapter: more than scale * (x a) b.
  std::string prefix = a.substr(0, a.rfind("lora_A")) + "lora_";
  for (auto other = tensors.lower_bound(prefix);
       other != tensors.end() && other->first.rfind(prefix, 0) == 0; ++other)
    if (other->first != a && other->first != b)
      fail(FUSEC_INVALID_ARGUMENT,
           "adapter '" + name + "': expected an update of '" + shorten(a) +
               "' and '" + shorten(b) + "' alone, found '" +
               shorten(other->first) + "' too, which would be left out");
  HostUpdate update;
  update.name = name;
  update.a = toMatrix(a, tensors.at(a));
  update.b = toMatrix(b, found->second);
  update.isTransposed = true;
  return update;
}

} // namespace fusec::rt
