// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels can be compiled for: one table of limits, features and costs.

#ifndef FUSEC_COMPILER_SCHEDULE_TARGETS_H
#define FUSEC_COMPILER_SCHEDULE_TARGETS_H

#include "compiler/schedule/Costs.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace fusec {

/// `name`: as `--arch` takes it. What no kernel of a target needs is 0.
struct Target : Costs {
  llvm::StringRef name;
  unsigned major, minor;    // compute capability
  unsigned sharedBytes;     // dynamic shared memory a block may have
  unsigned threads;         // of a multiprocessor
  unsigned multiprocessors; // of a typical device: what a schedule should fill
  unsigned minDriver;       // as cuDriverGetVersion says it
};

/// CUDA C Programming Guide, "Technical Specifications per Compute Capability";
/// rates from the vendor's data sheets, those of sm_90a measured on an H200.
/// `ptx` is compute_80 with what every device since then has.
llvm::ArrayRef<Target> getTargets();
/// Null where there is no target of the name.
const Target *findTarget(llvm::StringRef name);

/// A coefficient that is fitted to measurements, under the name that it has in
/// the files of devices/.
struct Coefficient {
  llvm::StringLiteral name;
  double &(*get)(Costs &costs);
};
llvm::ArrayRef<Coefficient> getCoefficients();

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TARGETS_H
