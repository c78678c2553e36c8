// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values for all adapters of a model, packed as its kernels read them. Packed
// on the host: it happens once an adapter, and copying takes longer.

#ifndef FUSEC_RUNTIME_SRC_ADAPTER_H
#define FUSEC_RUNTIME_SRC_ADAPTER_H

#include "runtime/src/Model.h"

#include <memory>

namespace fusec::rt {

// A matrix in host memory, dense and row-major.
struct HostMatrix {
  format::DType dtype; // F16, BF16 or F32
  int64_t rows = 0, columns = 0;
  const uint8_t *bytes = nullptr; // of any alignment
};

// The update `scale * (x a) b`: a [k, r] and b [r, n], or where they are
// weights of linear layers their transposes.
struct HostUpdate {
  std::string name; // of the adapter
  HostMatrix a, b;
  double scale = 1;
  bool isTransposed = false;
  std::string origin = {}; // what messages begin with: "path: " of a file
};

class Adapter {
public:
  // The values that the bundle has.
  explicit Adapter(std::shared_ptr<const Model> model);
  // Adapters that no update names are zero. Throws Failure.
  Adapter(std::shared_ptr<const Model> model,
          const std::vector<HostUpdate> &updates);

  const Model &model() const { return *theModel; }
  cuda::DevicePointer pointer() const {
    return memory.size() ? memory.pointer() : theModel->ownReplaceable();
  }

private:
  std::shared_ptr<const Model> theModel;
  DeviceMemory memory; // none: the model's own
};

// The adapter of this name, or a Failure that lists the names there are.
const AdapterSite &findAdapter(const Model &model, const std::string &name);

} // namespace fusec::rt

#endif
