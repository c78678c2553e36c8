// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of a model: bound tensors, an arena, and launches that are ready but
// for the addresses of the bound tensors.

#ifndef FUSEC_RUNTIME_SRC_SESSION_H
#define FUSEC_RUNTIME_SRC_SESSION_H

#include "runtime/src/Launches.h"
#include "runtime/src/Model.h"
#include "runtime/src/Tensor.h"

#include <memory>

namespace fusec::rt {

class Session {
public:
  explicit Session(std::shared_ptr<const Model> model);

  const Model &model() const { return *theModel; }
  void bind(bool input, size_t index, const fusec_tensor *tensor);
  void bind(const char *name, const fusec_tensor *tensor);
  void prepare(const DimValues &given, uint64_t arena, uint64_t arenaSize);
  const std::vector<int64_t> &outputSizes(size_t index) const;
  void run(cuda::Stream stream);
  uint32_t launchCount() const { return launched; }
  uint64_t faults() const;

private:
  // Adds to `dims` what follows from the bound inputs; throws Failure where
  // two sources differ.
  void inferDims(DimValues &dims, const char *givenBy) const;
  void checkBound(bool input, size_t index,
                  const std::vector<int64_t> &expected) const;
  void checkOverlaps() const;
  void checkReady();

  std::shared_ptr<const Model> theModel;
  std::vector<BoundTensor> inputs, outputs;
  DeviceMemory faultCounter;
  DeviceMemory ownArena;
  uint64_t arena = 0;      // address in use
  uint64_t arenaBytes = 0; // bytes in use
  bool prepared = false;
  bool checked = false; // the bound tensors agree with the prepared dimensions
  DimValues dims;
  std::vector<std::vector<int64_t>> inputSizes,
      theOutputSizes; // for these dimensions
  std::vector<ReadyStep> steps;
  uint32_t launched = 0;
};

} // namespace fusec::rt

#endif
