// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H
#define FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H

#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily pairsFamily;

/// Into how many parts K is cut: so many that blocks fill a device, of one tile
/// of columns where that is enough for all of them.
Expr countPairParts(Expr rows, int64_t features, int64_t columns,
                    int64_t multiprocessors);

llvm::SmallVector<VariantAttr>
choosePairVariants(StepOp step, const Target &target, Products products);
mlir::FailureOr<KernelSource> emitPairs(StepOp step, VariantAttr variant,
                                        llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H
