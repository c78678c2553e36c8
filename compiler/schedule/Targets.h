// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels can be compiled for: one table of limits and features.

#ifndef FUSEC_COMPILER_SCHEDULE_TARGETS_H
#define FUSEC_COMPILER_SCHEDULE_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fusec {

struct Target {
  llvm::StringRef name;
  unsigned major, minor;    // compute capability
  unsigned sharedBytes;     // dynamic shared memory a block may have
  unsigned multiprocessors; // of a typical device: what a schedule should fill
  unsigned minDriver;       // as cuDriverGetVersion says it
};

/// CUDA C Programming Guide, "Technical Specifications per Compute Capability".
/// `ptx` is compute_80 with what every device since then has.
llvm::ArrayRef<Target> getTargets();
/// Null where there is no target of the name.
const Target *findTarget(llvm::StringRef name);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TARGETS_H
