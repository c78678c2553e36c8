// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bundle of a planned module. Its weights are known before its kernels and
// take longest to write, so that they come first, from a thread of their own.

#ifndef FUSEC_COMPILER_BUNDLE_BUNDLEBUILDER_H
#define FUSEC_COMPILER_BUNDLE_BUNDLEBUILDER_H

#include "compiler/bundle/KernelSet.h"
#include "compiler/bundle/WeightPool.h"
#include <optional>
#include <thread>

namespace fusec {

class BundleBuilder {
public:
  /// The thread calls `sink`, too, but never while finish() does.
  explicit BundleBuilder(format::BundleWriter::Sink sink)
      : sink(std::move(sink)) {}
  ~BundleBuilder();

  /// Starts to write the weights. Fails with a diagnostic. Afterwards steps may
  /// lose schedules, but the module's buffers stay as they are.
  mlir::LogicalResult begin(mlir::ModuleOp module);

  /// Writes the rest. `images` has a compiled kernel for each of `kernels`,
  /// `model` the interface, `updatable` the names of weights
  /// that are changed in place, and `manifest` what is known beside plans and
  /// interface. Fails with a diagnostic, or with `error` set where the bundle
  /// cannot be written.
  mlir::LogicalResult finish(ModelOp model, const KernelSet &kernels,
                             llvm::ArrayRef<const CompiledKernel *> images,
                             llvm::ArrayRef<std::string> updatable,
                             const NvrtcVersion &nvrtc,
                             format::Manifest manifest, std::string &error);

private:
  void join();

  format::BundleWriter::Sink sink;
  WeightPool weights;
  std::optional<format::BundleWriter> writer;
  unsigned weightsSection = 0;
  std::thread thread;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_BUNDLEBUILDER_H
