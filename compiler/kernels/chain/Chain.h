// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_CHAIN_CHAIN_H
#define FUSEC_COMPILER_KERNELS_CHAIN_CHAIN_H

#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily chainFamily;

llvm::SmallVector<VariantAttr>
chooseChainVariants(StepOp step, const Target &target, Products products);
Estimates estimateChainStep(StepOp step, const Target &target,
                            Products products, llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitChain(StepOp step, VariantAttr variant,
                                        llvm::StringRef symbol);

/// Narrow products that follow one another within tiles of rows.
struct ChainPhaseSizes {
  double n, k; // k: of all segments
  double accumulators;
};
struct ChainSizes {
  double rows;
  llvm::SmallVector<ChainPhaseSizes> phases;
  double bytes;       // read and written by the kernel
  double copiedBytes; // to shared memory once a block: weights
  /// Elements that are copied one by one, since rows are not whole words: of
  /// weights, and of a row.
  double scattered, scatteredPerRow;
};
Estimate estimateChain(const Target &target, const ChainSizes &sizes,
                       ChainScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_CHAIN_CHAIN_H
