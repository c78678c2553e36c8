// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_UNIT_DAMAGED_MODELFILES_H
#define FUSEC_TEST_UNIT_DAMAGED_MODELFILES_H

#include "llvm/Support/MemoryBuffer.h"

namespace fusec::test {

/// Exports small enough that damage hits their structure, not only weights.
inline const char *const smallModels[] = {
    "rope_fwd.legacy.onnx", "lora_mlp_seed.dynbatch.onnx",
    "add_mul_sigmoid.dynbatch.onnx", "rmsnorm_linear.legacy.onnx"};

/// An empty string where the file cannot be read.
inline std::string readModel(llvm::StringRef name) {
  auto file = llvm::MemoryBuffer::getFile(FUSEC_TEST_MODELS "/" + name);
  return file ? (*file)->getBuffer().str() : std::string();
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DAMAGED_MODELFILES_H
