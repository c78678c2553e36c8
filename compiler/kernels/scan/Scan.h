// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_SCAN_SCAN_H
#define FUSEC_COMPILER_KERNELS_SCAN_SCAN_H

#include "compiler/analysis/ScanIteration.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily scanFamily;

llvm::SmallVector<VariantAttr>
chooseScanVariants(StepOp step, const Target &target, Products products);
Estimates estimateScanStep(StepOp step, const Target &target, Products products,
                           llvm::ArrayRef<int64_t> dims);
/// Whether a block moves rows as one run of memory and a thread sums a row.
inline bool isHeld(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Thread;
}
/// The scan as the schedule walks it: of held rows, dim 1 is the position in
/// the run of all rows.
ScanIteration getWalked(const ScanIteration &iteration,
                        ReduceScheduleAttr schedule);
/// Rows, or columns beside each other, of which a block takes a part of the
/// axis.
Expr getStrips(const ScanIteration &iteration, ReduceScheduleAttr schedule);
mlir::FailureOr<KernelSource> emitScan(StepOp step, VariantAttr variant,
                                       llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_SCAN_SCAN_H
