// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The variants of a step on a target: the fastest schedule first, under the
// guards that it needs, and one without guards last.

#ifndef FUSEC_COMPILER_SCHEDULE_SCHEDULES_H
#define FUSEC_COMPILER_SCHEDULE_SCHEDULES_H

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/TypicalSizes.h"
#include "compiler/schedule/CostModel.h"
#include "compiler/schedule/TuningFile.h"

namespace fusec {

/// The target that the plan is named after. An error at the plan where there is
/// none of the name, and null.
const Target *getPlanTarget(PlanOp plan);

/// The schedule that is always right: for steps that have no better one.
mlir::Attribute getPlainSchedule(Family family, mlir::MLIRContext *context);

struct ChoiceOptions {
  Products products = Products::Ieee;
  /// Schedules that a variant keeps: the fastest, and as the last the smallest,
  /// each a chance to compile without spilling. 0: every candidate.
  unsigned limit = 5;
  /// Measured schedules, which go before the cost model's.
  const TuningFile *tuning = nullptr;
};
llvm::SmallVector<VariantAttr> chooseVariants(StepOp step, const Target &target,
                                              const ChoiceOptions &options);

// One function a family; variants hold all candidates.
llvm::SmallVector<VariantAttr> choosePointwiseVariants(StepOp step,
                                                       const Target &target);
llvm::SmallVector<VariantAttr> chooseReduceVariants(StepOp step,
                                                    const Target &target);
llvm::SmallVector<VariantAttr>
chooseGemmVariants(StepOp step, const Target &target, Products products);
llvm::SmallVector<VariantAttr> chooseChainVariants(StepOp step,
                                                   const Target &target);

/// The fastest schedule's time where named dimensions are each of `dims`;
/// nothing where the region is not of the family's form, or fits on no block.
using Estimates = llvm::SmallVector<std::optional<Estimate>>;
Estimates estimateGemmStep(StepOp step, const Target &target, Products products,
                           llvm::ArrayRef<int64_t> dims);
Estimates estimateReduceStep(StepOp step, const Target &target,
                             llvm::ArrayRef<int64_t> dims);
Estimates estimateChainStep(StepOp step, const Target &target,
                            llvm::ArrayRef<int64_t> dims);

/// What the cost model knows of a matmul step where named dimensions are `dim`.
GemmSizes getGemmSizes(StepOp step, const MatmulIteration &iteration,
                       int64_t dim);

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

/// The variant of a matmul `step` with a schedule that computes `leading`, the
/// A of its last segment, in the same launch; behind it, where that needs more
/// guards, the variant itself. Only the latter where that is not possible or
/// not faster.
llvm::SmallVector<VariantAttr> leadVariant(StepOp leading, StepOp step,
                                           VariantAttr variant,
                                           const Target &target,
                                           Products products);

Candidate getFastest(llvm::ArrayRef<Candidate> candidates);
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

#endif // FUSEC_COMPILER_SCHEDULE_SCHEDULES_H
