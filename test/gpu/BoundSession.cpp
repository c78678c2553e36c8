// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/BoundSession.h"

namespace fusec {

Tensor BoundSession::allocate(const TensorInfo &info,
                              const std::vector<int64_t> &sizes,
                              const char *purpose) {
  uint64_t bytes = fusec_dtype_size(info.dtype);
  for (int64_t size : sizes)
    bytes *= size;
  memory.emplace_back(device, bytes, purpose);
  return Tensor(memory.back().data(), info.dtype, sizes, device.ordinal());
}

void BoundSession::bindInput(uint32_t index, const void *elements,
                             const std::vector<int64_t> &sizes) {
  session.bindInput(index, allocate(model.inputs()[index], sizes, "an input"));
  memory.back().upload(elements);
}

void BoundSession::bindOutputs() {
  session.prepare();
  std::vector<TensorInfo> outputs = model.outputs();
  for (uint32_t i = 0; i != outputs.size(); ++i) {
    std::vector<int64_t> sizes =
        session.outputSizes(i, outputs[i].sizes.size());
    session.bindOutput(i, allocate(outputs[i], sizes, "an output"));
    memory.back().poison();
  }
}

std::vector<uint8_t> BoundSession::readLastOutput() const {
  std::vector<uint8_t> bytes(memory.back().size());
  memory.back().download(bytes.data());
  return bytes;
}

} // namespace fusec
