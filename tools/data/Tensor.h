// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense row-major tensor in host memory, as it is read from and written to
// files.

#ifndef FUSEC_TOOLS_DATA_TENSOR_H
#define FUSEC_TOOLS_DATA_TENSOR_H

#include "runtime/format/DType.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fusec::data {

using format::DType;

/// A value, or the message that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  static Result failure(std::string message) {
    return Result(std::in_place_index<1>, std::move(message));
  }
  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }
  const std::string &error() const { return *std::get_if<1>(&state); }

private:
  Result(std::in_place_index_t<1> index, std::string message)
      : state(index, std::move(message)) {}
  std::variant<T, std::string> state;
};

/// Owned bytes, aligned to 64 as vector loads and the CUDA driver like them.
class Buffer {
public:
  Buffer() = default;
  /// Uninitialised; none where the memory cannot be had.
  static std::optional<Buffer> allocate(uint64_t size);

  std::byte *data() { return bytes.get(); }
  const std::byte *data() const { return bytes.get(); }
  uint64_t size() const { return length; }

private:
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  uint64_t length = 0;
};

struct Tensor {
  DType dtype = DType::F32;
  std::vector<int64_t> sizes;
  Buffer bytes;

  uint64_t elements() const { return bytes.size() / format::dtypeSize(dtype); }
};

/// Someone else's tensor, to be written.
struct TensorView {
  TensorView(const Tensor &tensor)
      : dtype(tensor.dtype), sizes(tensor.sizes), data(tensor.bytes.data()) {}
  TensorView(DType dtype, std::vector<int64_t> sizes, const void *data)
      : dtype(dtype), sizes(std::move(sizes)), data(data) {}

  DType dtype;
  std::vector<int64_t> sizes;
  const void *data;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Bytes of a tensor; none if a size is negative or the product overflows
/// 63 bits. A tensor with a zero size has no bytes, whatever the others are.
std::optional<uint64_t> tensorBytes(DType dtype,
                                    const std::vector<int64_t> &sizes);

/// "3x4xf32", "f64".
std::string tensorType(DType dtype, const std::vector<int64_t> &sizes);

} // namespace fusec::data

#endif // FUSEC_TOOLS_DATA_TENSOR_H
