// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of a caller's tensor that need no dimensions.

#include "runtime/src/Tensor.h"

#include "runtime/src/CallerStruct.h"
#include "runtime/src/Dims.h"

#include <cstring>

namespace fusec::rt {

namespace {
std::string deviceText(int32_t type, int32_t id) {
  const char *name = type == FUSEC_DEVICE_CPU            ? "cpu"
                     : type == FUSEC_DEVICE_CUDA         ? "cuda"
                     : type == FUSEC_DEVICE_CUDA_HOST    ? "cuda_host"
                     : type == FUSEC_DEVICE_CUDA_MANAGED ? "cuda_managed"
                                                         : nullptr;
  return (name ? name : "device type " + std::to_string(type)) + ":" +
         std::to_string(id);
}

// Dense row-major strides; what dimensions of size 0 or 1 have is of no
// consequence, nor is anything in an empty tensor.
void checkStrides(const fusec_tensor &tensor, const std::vector<int64_t> &sizes,
                  const std::string &what) {
  std::vector<int64_t> dense(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- != 0;) {
    if (sizes[d] == 0)
      return;
    dense[d] = stride;
    stride *= sizes[d];
  }
  for (size_t d = 0; d != sizes.size(); ++d) {
    if (sizes[d] == 1 || tensor.strides[d] == dense[d])
      continue;
    std::vector<int64_t> found(tensor.strides, tensor.strides + sizes.size());
    fail(FUSEC_INVALID_ARGUMENT, what + ": expected dense row-major strides " +
                                     sizesText(dense) + ", found " +
                                     sizesText(found) +
                                     "; copy the tensor to a dense one first");
  }
}
} // namespace

std::string tensorText(bool input, const std::string &name) {
  return (input ? "input '" : "output '") + format::shorten(name) + "'";
}

fusec_tensor readTensorStruct(const fusec_tensor *tensor,
                              const std::string &what) {
  if (!tensor)
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected a tensor, found a null pointer");
  return readStruct(tensor, what);
}

BoundTensor checkTensor(const fusec_tensor *given,
                        const format::TensorSpec &spec, int device,
                        const std::string &what, Memory memory) {
  fusec_tensor tensor = readTensorStruct(given, what);
  if (tensor.dtype != int32_t(spec.dtype)) {
    const char *name = fusec_dtype_name(tensor.dtype);
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected element type " +
             std::string(format::dtypeName(spec.dtype)) + ", found " +
             (name ? name : std::to_string(tensor.dtype)));
  }
  bool onDevice =
      (tensor.device_type == FUSEC_DEVICE_CUDA && tensor.device_id == device) ||
      tensor.device_type == FUSEC_DEVICE_CUDA_MANAGED;
  bool onHost = memory == Memory::DeviceOrHost &&
                (tensor.device_type == FUSEC_DEVICE_CPU ||
                 tensor.device_type == FUSEC_DEVICE_CUDA_HOST);
  if (!onDevice && !onHost)
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected memory of " +
             (memory == Memory::DeviceOrHost ? "the host or of " : "") +
             deviceText(FUSEC_DEVICE_CUDA, device) + ", found " +
             deviceText(tensor.device_type, tensor.device_id));
  if (tensor.rank < 0 || size_t(tensor.rank) != spec.sizes.size())
    fail(FUSEC_INVALID_ARGUMENT, what + ": expected rank " +
                                     std::to_string(spec.sizes.size()) +
                                     ", found " + std::to_string(tensor.rank));
  if (tensor.rank != 0 && !tensor.sizes)
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected sizes, found a null pointer");

  BoundTensor bound;
  bound.bound = true;
  bound.onHost = onHost;
  for (size_t d = 0; d != spec.sizes.size(); ++d) {
    bound.sizes.push_back(tensor.sizes[d]);
    const format::Expr &size = spec.sizes[d];
    if (tensor.sizes[d] < 0 ||
        (size.isConstant() && size.value != tensor.sizes[d]))
      fail(FUSEC_INVALID_ARGUMENT, what + ": size " + std::to_string(d) +
                                       ": expected " + format::toString(size) +
                                       ", found " +
                                       std::to_string(tensor.sizes[d]));
  }
  bound.bytes = computeBytes(bound.sizes, spec.dtype, what);
  if (tensor.strides)
    checkStrides(tensor, bound.sizes, what);
  if (bound.bytes != 0 && !tensor.data)
    fail(FUSEC_INVALID_ARGUMENT, what + ": expected " +
                                     std::to_string(bound.bytes) +
                                     " bytes, found a null pointer");
  uint64_t end = 0;
  if (__builtin_add_overflow(uint64_t(reinterpret_cast<uintptr_t>(tensor.data)),
                             tensor.byte_offset, &bound.address) ||
      __builtin_add_overflow(bound.address, bound.bytes, &end))
    fail(FUSEC_INVALID_ARGUMENT, what + ": byte offset " +
                                     std::to_string(tensor.byte_offset) +
                                     " leaves the address space");
  unsigned alignment = format::dtypeSize(spec.dtype);
  if (bound.bytes != 0 && bound.address % alignment != 0)
    fail(FUSEC_INVALID_ARGUMENT,
         what + ": expected an address aligned to its element, " +
             std::to_string(alignment) + " bytes, found one that is " +
             std::to_string(bound.address % alignment) + " beyond");
  return bound;
}

} // namespace fusec::rt
