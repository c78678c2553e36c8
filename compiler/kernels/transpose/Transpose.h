// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H
#define FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H

#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily transposeFamily;

/// Of a block, and blocks for which a multiprocessor has registers.
constexpr int64_t transposeThreads = 256, transposeResident = 4;

llvm::SmallVector<VariantAttr>
chooseTransposeVariants(StepOp step, const Target &target, Products products);
/// Whether a dim is a whole number of vectors.
inline bool isWhole(Expr size, int64_t width) {
  return size.mod(Expr::constant(size.getContext(), width)).isConstant(0);
}
mlir::FailureOr<KernelSource> emitTranspose(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H
