// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/Npy.h"
#include "tools/data/NpyHeader.h"
#include "tools/data/ZipReader.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>

namespace fusec::data {

// Arrays with plain element types have headers of about a hundred bytes.
static constexpr uint64_t maxHeader = 1 << 16;
static constexpr std::string_view npyMagic("\x93NUMPY", 6);

static void swapBytes(std::byte *data, uint64_t bytes, unsigned element) {
  for (uint64_t i = 0; i + element <= bytes; i += element)
    std::reverse(data + i, data + i + element);
}

/// Copies from column-major to row-major order: walks the target in order and
/// keeps the source's offset.
static void fromFortranOrder(const std::byte *from, std::byte *to,
                             const std::vector<int64_t> &sizes,
                             unsigned element, uint64_t count) {
  size_t rank = sizes.size();
  std::vector<uint64_t> strides(rank), index(rank, 0);
  uint64_t stride = element;
  for (size_t d = 0; d < rank; ++d) {
    strides[d] = stride;
    stride *= uint64_t(sizes[d]);
  }
  uint64_t offset = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * element, from + offset, element);
    for (size_t d = rank; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < uint64_t(sizes[d]))
        break;
      offset -= strides[d] * uint64_t(sizes[d]);
      index[d] = 0;
    }
  }
}

static Result<Tensor> readArray(Stream &stream, const std::string &name) {
  auto failure = [&](const std::string &message) {
    return Result<Tensor>::failure(name + ": " + message);
  };

  unsigned char start[12];
  if (auto reason = stream.read(start, 8))
    return failure("not a .npy file: " + *reason);
  if (std::memcmp(start, npyMagic.data(), npyMagic.size()) != 0)
    return failure("not a .npy file: expected it to begin with \\x93NUMPY");
  unsigned version = start[6];
  if (version < 1 || version > 3)
    return failure(
        fmt::format("expected .npy version 1, 2 or 3, found {}", version));
  unsigned lengthBytes = version == 1 ? 2 : 4;
  if (auto reason = stream.read(start + 8, lengthBytes))
    return failure("header length: " + *reason);
  uint64_t length = 0;
  for (unsigned i = lengthBytes; i-- > 0;)
    length = length << 8 | start[8 + i];
  if (length > maxHeader)
    return failure(fmt::format(
        "expected a header of at most 65536 bytes, found {}", length));
  std::string text(length, '\0');
  if (auto reason = stream.read(text.data(), length))
    return failure("header: " + *reason);
  Result<NpyHeader> header = parseNpyHeader(text);
  if (!header)
    return failure(header.error());

  std::optional<uint64_t> bytes = tensorBytes(header->dtype, header->sizes);
  std::string type = tensorType(header->dtype, header->sizes);
  if (!bytes)
    return failure(fmt::format("the size of {} overflows 63 bits", type));
  uint64_t present = stream.size() - 8 - lengthBytes - length;
  if (*bytes != present)
    return failure(fmt::format("expected {} bytes of data for {}, found {}",
                               *bytes, type, present));

  std::optional<Buffer> buffer = Buffer::allocate(*bytes);
  if (!buffer)
    return failure(
        fmt::format("cannot allocate {} bytes for {}", *bytes, type));
  if (auto reason = stream.read(buffer->data(), *bytes))
    return failure("data: " + *reason);
  if (auto reason = stream.finish())
    return failure(*reason);

  unsigned element = format::dtypeSize(header->dtype);
  if (header->swapped)
    swapBytes(buffer->data(), *bytes, element);
  if (header->fortranOrder && header->sizes.size() > 1 && *bytes > 0) {
    std::optional<Buffer> ordered = Buffer::allocate(*bytes);
    if (!ordered)
      return failure(
          fmt::format("cannot allocate {} bytes for {}", *bytes, type));
    fromFortranOrder(buffer->data(), ordered->data(), header->sizes, element,
                     *bytes / element);
    buffer = std::move(ordered);
  }
  Tensor tensor;
  tensor.dtype = header->dtype;
  tensor.sizes = std::move(header->sizes);
  tensor.bytes = std::move(*buffer);
  return tensor;
}

Result<Tensor> readNpy(Input &input) {
  std::unique_ptr<Stream> stream = streamOf(input);
  return readArray(*stream, input.name());
}

Result<Tensor> readNpy(const std::string &path) {
  Result<std::unique_ptr<Input>> input = openFile(path);
  if (!input)
    return Result<Tensor>::failure(input.error());
  return readNpy(**input);
}

Result<std::vector<NamedTensor>> readNpz(Input &input) {
  using R = Result<std::vector<NamedTensor>>;
  Result<std::vector<ZipMember>> members = readZipDirectory(input);
  if (!members)
    return R::failure(members.error());
  std::vector<NamedTensor> tensors;
  for (const ZipMember &member : *members) {
    std::string label =
        fmt::format("{}: member '{}'", input.name(), member.name);
    constexpr std::string_view suffix = ".npy";
    if (member.name.size() <= suffix.size() ||
        member.name.compare(member.name.size() - suffix.size(), suffix.size(),
                            suffix) != 0)
      return R::failure(label + ": expected only arrays, named *.npy");
    Result<std::unique_ptr<Stream>> stream = openZipMember(input, member);
    if (!stream)
      return R::failure(label + ": " + stream.error());
    Result<Tensor> tensor = readArray(**stream, label);
    if (!tensor)
      return R::failure(tensor.error());
    tensors.push_back(
        {member.name.substr(0, member.name.size() - suffix.size()),
         std::move(*tensor)});
  }
  return tensors;
}

Result<std::vector<NamedTensor>> readNpz(const std::string &path) {
  Result<std::unique_ptr<Input>> input = openFile(path);
  if (!input)
    return Result<std::vector<NamedTensor>>::failure(input.error());
  return readNpz(**input);
}

Result<std::vector<NamedTensor>> readTensors(const std::string &path) {
  using R = Result<std::vector<NamedTensor>>;
  Result<std::unique_ptr<Input>> input = openFile(path);
  if (!input)
    return R::failure(input.error());
  char start[6] = {};
  if ((*input)->read(0, start, 2) && start[0] == 'P' && start[1] == 'K')
    return readNpz(**input);
  if (!(*input)->read(0, start, 6) || std::string_view(start, 6) != npyMagic)
    return R::failure(path + ": expected a .npy or .npz file");
  Result<Tensor> tensor = readNpy(**input);
  if (!tensor)
    return R::failure(tensor.error());
  std::vector<NamedTensor> tensors;
  tensors.push_back({"", std::move(*tensor)});
  return tensors;
}

} // namespace fusec::data
