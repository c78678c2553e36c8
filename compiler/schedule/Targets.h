// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels can be compiled for: one table of limits and features.

#ifndef FUSEC_COMPILER_SCHEDULE_TARGETS_H
#define FUSEC_COMPILER_SCHEDULE_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fusec {

/// What a typical device of the target does in a second: the constants of the
/// cost model.
struct Rates {
  double clock;  // GHz, under load
  double memory; // GB/s, read and written together
  double l2;     // bytes a clock that a multiprocessor gets from L2
  double fma;    // fp32 flops a clock and multiprocessor
  double tensor; // dense 16-bit flops a clock and multiprocessor; tf32: half
  double launch; // microseconds from one kernel of a stream to the next
  double place;  // microseconds from placing one block to placing the next
};

struct Target {
  llvm::StringRef name;
  unsigned major, minor;    // compute capability
  unsigned sharedBytes;     // dynamic shared memory a block may have
  unsigned threads;         // of a multiprocessor
  unsigned multiprocessors; // of a typical device: what a schedule should fill
  unsigned minDriver;       // as cuDriverGetVersion says it
  Rates rates;
};

/// CUDA C Programming Guide, "Technical Specifications per Compute Capability";
/// rates from the vendor's data sheets, those of sm_90a measured on an H200.
/// `ptx` is compute_80 with what every device since then has.
llvm::ArrayRef<Target> getTargets();
/// Null where there is no target of the name.
const Target *findTarget(llvm::StringRef name);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TARGETS_H
