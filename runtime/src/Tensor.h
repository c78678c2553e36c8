// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller's tensor, checked against what the model expects.

#ifndef FUSEC_RUNTIME_SRC_TENSOR_H
#define FUSEC_RUNTIME_SRC_TENSOR_H

#include "runtime/format/Manifest.h"
#include "runtime/src/Failure.h"

#include <cstdint>
#include <vector>

namespace fusec::rt {

struct BoundTensor {
  bool bound = false;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool onHost = false; // the host reads it at its address
  std::vector<int64_t> sizes;
};

// "input 'x'"
std::string tensorText(bool input, const std::string &name);

// Where a tensor may lie.
enum class Memory { Device, DeviceOrHost };
// Checks a caller's tensor against what a model says of it, but for sizes that
// depend on dimensions. Throws Failure saying what was expected, which begins
// with `what`.
BoundTensor checkTensor(const fusec_tensor *tensor,
                        const format::TensorSpec &spec, int device,
                        const std::string &what,
                        Memory memory = Memory::Device);

// What a caller's struct has, unchecked. Throws Failure for a null pointer and
// for one that ends too early.
fusec_tensor readTensorStruct(const fusec_tensor *tensor,
                              const std::string &what);

} // namespace fusec::rt

#endif
