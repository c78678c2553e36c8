// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a module's plans: emitted in order, those that differ in names
// alone once, under symbols that are unique within a target.

#ifndef FUSEC_COMPILER_BUNDLE_KERNELSET_H
#define FUSEC_COMPILER_BUNDLE_KERNELSET_H

#include "compiler/codegen/KernelSource.h"
#include "compiler/codegen/nvrtc/Nvrtc.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <set>

namespace fusec {

struct EmittedKernel {
  std::string target;
  std::string symbol;
  std::string text;   // with the names of the first step that launches it
  unsigned steps = 0; // that launch it
  /// Bytes of the stack that functions which it calls need; more are a fault.
  unsigned stackBytes = 0;
};

/// How a variant launches its kernel; `source` has neither text nor names, as
/// the kernel may be another step's.
struct EmittedLaunch {
  size_t kernel;
  KernelSource source;
};

struct EmittedPlan {
  PlanOp plan;
  /// By step, then by variant; of steps that are never launched, none.
  std::vector<std::vector<EmittedLaunch>> steps;
};

class KernelSet {
public:
  /// Emits every variant of every step. Fails with a diagnostic at the step.
  mlir::LogicalResult emit(mlir::ModuleOp module);

  llvm::ArrayRef<EmittedPlan> getPlans() const { return plans; }
  llvm::ArrayRef<EmittedKernel> getKernels() const { return kernels; }

  /// What NVRTC is asked for, one request a kernel.
  std::vector<CompileRequest>
  getRequests(llvm::ArrayRef<std::string> options) const;

private:
  mlir::FailureOr<EmittedLaunch> emit(StepOp step, VariantAttr variant,
                                      llvm::StringRef target);

  std::vector<EmittedPlan> plans;
  std::vector<EmittedKernel> kernels;
  /// (target, form) -> kernel; the symbols of a target's kernels.
  std::map<std::pair<std::string, std::string>, size_t> byForm;
  std::map<std::string, UniqueNames> symbols;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_KERNELSET_H
