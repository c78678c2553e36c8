// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the kernels of a plan on the CPU, in memory laid out as the plan
// says.

#ifndef FUSEC_TEST_HOST_HOSTPLAN_H
#define FUSEC_TEST_HOST_HOSTPLAN_H

#include "compiler/codegen/KernelSource.h"
#include "ir/reference/Evaluate.h"
#include "test/host/HostMemory.h"
#include "test/host/KernelLibrary.h"

namespace fusec {

struct HostVariant {
  VariantAttr variant;
  KernelSource source; // without its text
  unsigned kernel = 0; // of the library
  bool wasRun = false;
};

class HostPlan {
public:
  HostPlan(PlanOp plan, ModelOp model) : plan(plan), model(model) {}

  /// Of the schedules of a variant that can run on a host, in the model's
  /// order, which one does; of fewer it begins again.
  void setSchedule(unsigned place) { schedule = place; }

  /// Emits every variant of every step that can run on a host. Errors are
  /// reported at the steps.
  mlir::LogicalResult emit(KernelLibrary &library);

  /// One execution.
  struct Round {
    Placement placement = Placement::Aligned;
    /// Of each step the variant at this place among those whose guards hold.
    unsigned choice = 0;
    unsigned char poison = 0xff;
  };
  struct Result {
    reference::Tensors outputs;
    uint64_t faults = 0;
    /// The most variants of one step that could have run.
    unsigned choices = 0;
  };
  /// Runs it; the message says which step failed, and how.
  std::optional<Result> run(const KernelLibrary &library,
                            llvm::ArrayRef<reference::Tensor> inputs,
                            const reference::Dims &dims, Round round,
                            std::string &error);

  PlanOp getPlan() const { return plan; }
  ModelOp getModel() const { return model; }
  /// Variants that no run chose, as "step: variant".
  std::vector<std::string> getUnused() const;
  size_t countVariants() const;

private:
  struct Step {
    StepOp op;
    std::vector<HostVariant> variants;
  };
  PlanOp plan;
  ModelOp model;
  unsigned schedule = 0;
  std::vector<Step> steps;
};

} // namespace fusec

#endif // FUSEC_TEST_HOST_HOSTPLAN_H
