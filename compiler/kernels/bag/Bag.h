// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_BAG_BAG_H
#define FUSEC_COMPILER_KERNELS_BAG_BAG_H

#include "compiler/analysis/BagIteration.h"
#include "compiler/kernels/Family.h"
#include "compiler/kernels/bag/device/bag_config.h"

namespace fusec {

extern const KernelFamily bagFamily;

/// The tensors of indices, which tables share, and how many indices there are:
/// of bags with offsets all, of a named number those of a bag.
struct BagIds {
  llvm::SmallVector<BufferOp> buffers;
  llvm::SmallVector<Expr> counts;
  llvm::SmallVector<int> ofTables; // which of them
};
BagIds listIds(const BagIteration &iteration);

/// How a kernel divides its work.
struct BagWork {
  std::vector<BagShape> shapes; // a table
  std::vector<BagSlot> slots;   // those with most to read first
  int64_t tileBags;
  int forms;          // BagForm of all, 0 with offsets
  bool hasSharedBags; // by several warps
};
BagWork divideBags(const BagIteration &iteration, BagScheduleAttr schedule);
/// Indices of a bag, or as many as it is taken to have.
int64_t getTypicalCount(const BagShape &shape);
/// Accesses by which a lane reads its part of a row at once: of rows that are
/// reduced all, of others one after another.
int64_t getSlots(const BagIteration &iteration, const BagShape &shape,
                 BagScheduleAttr schedule);
/// Blocks that a multiprocessor has registers for.
int64_t getResident(const BagIteration &iteration, const BagWork &work,
                    BagScheduleAttr schedule);

llvm::SmallVector<VariantAttr>
chooseBagVariants(StepOp step, const Target &target, Products products);
/// Of the fastest division of bags at each size.
Estimates estimateBags(StepOp step, const Target &target, Products products,
                       llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitBag(StepOp step, VariantAttr variant,
                                      llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_BAG_BAG_H
