// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H
#define FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H

#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily pairsFamily;

llvm::SmallVector<VariantAttr>
choosePairVariants(StepOp step, const Target &target, Products products);
mlir::FailureOr<KernelSource> emitPairs(StepOp step, VariantAttr variant,
                                        llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_PAIRS_PAIRS_H
