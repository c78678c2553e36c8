// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
#define FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H

#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily pointwiseFamily;

llvm::SmallVector<VariantAttr>
choosePointwiseVariants(StepOp step, const Target &target, Products products);
mlir::FailureOr<KernelSource> emitPointwise(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);

/// Every element on its own. `bytes`: read and written; `vector`: elements of
/// an access.
Estimate estimatePointwise(const Target &target, double bytes, double elements,
                           PointwiseScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
