// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/Tensor.h"
#include <fmt/core.h>

namespace fusec::data {

std::optional<Buffer> Buffer::allocate(uint64_t size) {
  constexpr uint64_t alignment = 64;
  Buffer buffer;
  if (size == 0)
    return buffer;
  if (size > PTRDIFF_MAX - alignment)
    return std::nullopt;
  uint64_t rounded = (size + alignment - 1) / alignment * alignment;
  buffer.bytes.reset(
      static_cast<std::byte *>(std::aligned_alloc(alignment, rounded)));
  if (!buffer.bytes)
    return std::nullopt;
  buffer.length = size;
  return buffer;
}

std::optional<uint64_t> tensorBytes(DType dtype,
                                    const std::vector<int64_t> &sizes) {
  int64_t total = format::dtypeSize(dtype);
  bool empty = false, overflow = false;
  for (int64_t size : sizes) {
    if (size < 0)
      return std::nullopt;
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(total, size, &total);
  }
  if (empty)
    return 0;
  if (overflow)
    return std::nullopt;
  return uint64_t(total);
}

std::string tensorType(DType dtype, const std::vector<int64_t> &sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += fmt::format("{}x", size);
  return text.append(format::dtypeName(dtype));
}

} // namespace fusec::data
