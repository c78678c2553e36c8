// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H
#define FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily reduceFamily;

llvm::SmallVector<VariantAttr>
chooseReduceVariants(StepOp step, const Target &target, Products products);
Estimates estimateReduceStep(StepOp step, const Target &target,
                             Products products, llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitReduce(StepOp step, VariantAttr variant,
                                         llvm::StringRef symbol);

/// Whether a warp reduces several rows at a time.
inline bool sharesWarp(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Warp && schedule.getGroups() > 1;
}

/// Loads along rows that more than one pass over a row needs, and that accesses
/// of `vector` elements can be: what a schedule can keep.
llvm::SmallVector<unsigned>
getKeptLoads(StepOp step, const RowIteration &iteration, int64_t vector);

/// `rows` reductions of `length` elements each.
struct RowSizes {
  double rows, length;
  double bytes;     // read and written by the kernel
  unsigned passes;  // how often a row is walked
  bool alongRow;    // whether neighbours in memory are neighbours of a row
  double columns;   // rows that are neighbours in memory where they are not
  unsigned element; // bytes of what is read most
};
Estimate estimateReduce(const Target &target, const RowSizes &sizes,
                        ReduceScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_REDUCE_REDUCE_H
