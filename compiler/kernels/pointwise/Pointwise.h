// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
#define FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily pointwiseFamily;

llvm::SmallVector<VariantAttr>
choosePointwiseVariants(StepOp step, const Target &target, Products products);
mlir::FailureOr<KernelSource> emitPointwise(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);

/// Points that some blocks of the grid compute.
struct PointwisePiece {
  PointwiseIteration iteration;
  Expr count; // of elements, with those that rows leave over
  VectorAccesses accesses;
  /// Rows begin anywhere: vectors from where what is stored is aligned, and
  /// single elements before and behind.
  bool byRows = false;

  /// Of vectors that a row may meet.
  Expr getChunks() const;
};
using PointwisePieces = std::vector<PointwisePiece>;
/// Of buffers that are so aligned.
mlir::FailureOr<PointwisePieces> analyzePointwisePieces(StepOp step,
                                                        Alignments alignments);
/// Of each piece: a thread takes as many elements as the schedule says, or more
/// where the grid has no more blocks.
llvm::SmallVector<Expr> getBlocks(const PointwisePieces &pieces,
                                  PointwiseScheduleAttr schedule);

/// What a kernel of the family moves.
struct PointwiseWork {
  double bytes = 0;    // read and written
  double elements = 0; // points
  double vectors = 0;  // of any width
};
/// Every element on its own; a thread has as many on their way as the schedule
/// says.
Estimate estimatePointwise(const Target &target, const PointwiseWork &work,
                           PointwiseScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
