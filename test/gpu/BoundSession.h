// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session with tensors of its own, which lie in the device's memory.

#ifndef FUSEC_TEST_GPU_BOUNDSESSION_H
#define FUSEC_TEST_GPU_BOUNDSESSION_H

#include "tools/fusec/DeviceRun.h"

namespace fusec {

class BoundSession {
public:
  /// Both must outlive it.
  BoundSession(const Model &model, const rt::Device &device)
      : model(model), device(device), session(model) {}

  Session &getSession() { return session; }
  /// Copies the elements, which lie in the host's memory.
  void bindInput(uint32_t index, const void *elements,
                 const std::vector<int64_t> &sizes);
  /// Prepares the session, which has all its inputs, and poisons its outputs.
  void bindOutputs();
  std::vector<uint8_t> readLastOutput() const;
  /// So that only what the next run writes is read.
  void poisonLastOutput() { memory.back().poison(); }
  /// Whether no kernel wrote beside it.
  bool isLastOutputIntact() const { return memory.back().isIntact(); }

private:
  Tensor allocate(const TensorInfo &info, const std::vector<int64_t> &sizes,
                  const char *purpose);

  const Model &model;
  const rt::Device &device;
  std::vector<FencedMemory> memory;
  Session session;
};

} // namespace fusec

#endif // FUSEC_TEST_GPU_BOUNDSESSION_H
