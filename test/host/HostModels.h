// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models given as text: compiled, executed on the CPU, and compared with what
// the reference evaluates of the same text.

#ifndef FUSEC_TEST_HOST_HOSTMODELS_H
#define FUSEC_TEST_HOST_HOSTMODELS_H

#include "compiler/Pipelines.h"
#include "test/host/HostCheck.h"

namespace fusec {

/// The next element of an input of a type. Small integers and quarters are good
/// ones: sums of their products are exact in any order.
using NextValue = llvm::function_ref<float(mlir::Type)>;

class HostModels {
public:
  explicit HostModels(PipelineOptions options) : options(std::move(options)) {}

  /// Fails the test where kernels cannot be compiled here.
  void prepare();
  /// Compiles a model, and fails the test where that does; `inspect` sees its
  /// plan. Indices are values, too.
  void add(
      std::string label, llvm::StringRef text, NextValue next,
      llvm::function_ref<void(PlanOp)> inspect = [](PlanOp) {});
  /// Executes every variant of each, and compares all results.
  void check();

  size_t size() const { return all.size(); }

private:
  struct Compiled {
    std::string label;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    reference::Tensors inputs, expected;
    std::unique_ptr<HostPlan> plan;
  };

  PipelineOptions options;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  KernelLibrary library{FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS};
  std::vector<Compiled> all;
};

} // namespace fusec

#endif // FUSEC_TEST_HOST_HOSTMODELS_H
