// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the variants of every family are made of: candidates with their times,
// and the guards under which they may run.

#ifndef FUSEC_COMPILER_KERNELS_CANDIDATES_H
#define FUSEC_COMPILER_KERNELS_CANDIDATES_H

#include "compiler/analysis/TypicalSizes.h"
#include "compiler/kernels/Estimate.h"

namespace fusec {

/// A schedule that a variant may take.
struct Candidate {
  mlir::Attribute schedule;
  Estimate estimate;
};
/// A variant of the candidate whose schedule is `first`, else of the fastest,
/// with the others behind it by time and the last of `candidates`, the
/// smallest, at the end; null where there are none. `dim` is what named
/// dimensions were taken for.
VariantAttr makeVariant(mlir::MLIRContext *context,
                        llvm::ArrayRef<GuardAttr> guards,
                        llvm::SmallVector<Candidate> candidates,
                        int64_t dim = typicalDim, mlir::Attribute first = {});

Candidate getFastest(llvm::ArrayRef<Candidate> candidates);
/// The first in the list that no other beats by more than a hundredth; null
/// where there are none.
mlir::Attribute getFirstFast(llvm::ArrayRef<Candidate> candidates);
/// A variant for each range of `size` in which one schedule is about as fast as
/// any, from the largest sizes down, as many as gain enough; `under` holds for
/// all of them.
void addBuckets(
    Expr size, llvm::ArrayRef<GuardAttr> under,
    llvm::function_ref<llvm::SmallVector<Candidate>(int64_t dim)> candidatesAt,
    llvm::SmallVectorImpl<VariantAttr> &variants);

/// Threads of a pointwise kernel's block. With 256, RoPE takes 3% longer on an
/// H200; with 64 it takes as long as placing the blocks does, which is why
/// grids of many blocks are limited.
constexpr int64_t pointwiseThreads = 128;

/// Of the schedules whose loops stride over a grid of at most `limit` blocks
/// (0: as many as there are), the fastest; of equals the one with a limit,
/// which larger sizes than the model's need.
Candidate chooseGridLimit(const Target &target, int64_t threads, Expr blocks,
                          llvm::function_ref<Candidate(int64_t limit)> getAt);

/// The guard under which every buffer of the step, and `count` threads, can be
/// indexed with 32 bits; nothing where sizes already tell that they can.
struct IndexWidth {
  bool alwaysNarrow = false, neverNarrow = false;
  llvm::SmallVector<GuardAttr> guards;
};
IndexWidth getIndexWidth(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_CANDIDATES_H
