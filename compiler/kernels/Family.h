// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rooms of the kernels: what a family must know of its steps, one table
// each in a folder of its own.

#ifndef FUSEC_COMPILER_KERNELS_FAMILY_H
#define FUSEC_COMPILER_KERNELS_FAMILY_H

#include "compiler/Options.h"
#include "compiler/codegen/KernelSource.h"
#include "compiler/kernels/Candidates.h"

namespace fusec {

struct KernelFamily {
  /// The schedule that is always right: for steps that have no better one.
  mlir::Attribute (*getPlainSchedule)(mlir::MLIRContext *context);
  /// The fastest schedule first, under the guards that it needs, and one
  /// without guards last; variants hold all candidates.
  llvm::SmallVector<VariantAttr> (*chooseVariants)(StepOp step,
                                                   const Target &target,
                                                   Products products);
  /// Of the fastest schedule; null where no decision asks for it.
  Estimates (*estimate)(StepOp step, const Target &target, Products products,
                        llvm::ArrayRef<int64_t> dims);
  /// Null where the region is not of the family's form. Whether it starts early
  /// is told later; `prefetches`: whether it then could.
  LaunchAttr (*getLaunch)(StepOp step, VariantAttr variant);
  /// Prints the kernel under one of the step's variants, which has a launch.
  mlir::FailureOr<KernelSource> (*emit)(StepOp step, VariantAttr variant,
                                        llvm::StringRef symbol);
  /// What names its problems in tuning files; empty where the region is not of
  /// the family's form: it then has one schedule.
  std::map<std::string, Expr> (*getSizes)(StepOp step);
};
const KernelFamily &getKernelFamily(Family family);

inline mlir::Attribute getPlainSchedule(Family family,
                                        mlir::MLIRContext *context) {
  return getKernelFamily(family).getPlainSchedule(context);
}
Estimates estimateStep(StepOp step, const Target &target, Products products,
                       llvm::ArrayRef<int64_t> dims);

/// Emits the kernel of a step under one of its variants, which has a launch.
/// The IR is not changed. Fails with a diagnostic where the region is not one
/// that the family's emitter prints: a bug of the passes before.
mlir::FailureOr<KernelSource> emitKernel(StepOp step, VariantAttr variant,
                                         llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_FAMILY_H
