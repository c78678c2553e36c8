// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of named tensors in the safetensors format: eight bytes of length, a
// JSON header, the tensors' bytes. Everything is checked before use.

#ifndef FUSEC_RUNTIME_SRC_SAFETENSORS_H
#define FUSEC_RUNTIME_SRC_SAFETENSORS_H

#include "runtime/format/Bundle.h"
#include "runtime/src/Adapter.h"

#include <map>
#include <string>
#include <vector>

namespace fusec::rt {

struct StoredTensor {
  std::string dtype; // "F16", "BF16", "F32", ...
  std::vector<int64_t> sizes;
  format::ByteSpan bytes;
};
using StoredTensors = std::map<std::string, StoredTensor>;

// Refers to `file`. Throws Failure (FUSEC_MALFORMED).
StoredTensors readSafetensors(format::ByteSpan file);

// The two factors that PEFT writes for a layer, `<layer>.lora_A.weight` [r, k]
// and `<layer>.lora_B.weight` [n, r]. The layer is `layer`, or one whose name
// ends with "." and `layer`; the file's only one where `layer` is null and no
// name fits `name`. Throws Failure where there is none, there are several, or
// the layer has more tensors whose names begin with `<layer>.lora_`.
HostUpdate findPeftUpdate(const StoredTensors &tensors, const std::string &name,
                          const char *layer);

} // namespace fusec::rt

#endif
