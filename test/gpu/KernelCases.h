// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs of fusec-gpu-kernels: each kernel family, in text.

#ifndef FUSEC_TEST_GPU_KERNELCASES_H
#define FUSEC_TEST_GPU_KERNELCASES_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace fusec {

/// `$(m n T)` stands for the tensor type with these sizes and this element
/// type; T is each of `types` in turn. Inputs are %x, %y, %z and %w.
struct KernelCase {
  const char *name;
  std::vector<const char *> types;
  std::vector<std::vector<const char *>> inputs; // sizes, then the element type
  const char *header, *body;
  /// Of one with a matmul root: at how many of the sizes whose matrices have
  /// tensor maps, the last ones, all of its schedules are run.
  unsigned mappedPoints = 0;
  /// By what the functions behind sums multiply their errors.
  double loss = 1;
  /// What the text of one of these schedules has, so that a case that is there
  /// for a kernel is known to run it.
  const char *schedule = nullptr;
};

/// Types that have all of a case's ops.
inline const std::vector<const char *> floats = {"f32", "f16", "bf16", "f64"};

llvm::ArrayRef<KernelCase> getKernelCases();
/// Those of them that have a matmul root, in a file of their own.
llvm::ArrayRef<KernelCase> getProductCases();

} // namespace fusec

#endif // FUSEC_TEST_GPU_KERNELCASES_H
