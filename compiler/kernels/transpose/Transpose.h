// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H
#define FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H

#include "compiler/analysis/TransposeIteration.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily transposeFamily;

/// Of a block, and of one that moves single elements, so many of them each.
constexpr int64_t transposeThreads = 256, manyThreads = 512, leastOfMany = 8;
/// Vectors of which a thread loads what is in no tile together.
constexpr int64_t mostAtOnce = 4;

llvm::SmallVector<VariantAttr>
chooseTransposeVariants(StepOp step, const Target &target, Products products);
/// Whether a dim is a whole number of vectors.
inline bool isWhole(Expr size, int64_t width) {
  return size.mod(Expr::constant(size.getContext(), width)).isConstant(0);
}
/// Whether the rows of a tile are whole ones of what the node loads, which lie
/// one behind the other, and begin where vectors of the schedule's loads do.
bool isOfWholeRows(StepOp step, const TransposeIteration &iteration,
                   unsigned node, TransposeScheduleAttr schedule);
/// Of all that are loaded.
bool areOfWholeRows(StepOp step, const TransposeIteration &iteration,
                    TransposeScheduleAttr schedule);
/// Whether points need more than the tiles, beside what a row of them shares.
bool readsBesideTiles(const TransposeIteration &iteration);
mlir::FailureOr<KernelSource> emitTranspose(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSE_H
