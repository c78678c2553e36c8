// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ways contractions of a block join: along K (segments) and along N
// (accumulators). Both leave the block in topological order.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_MERGECONTRACTIONS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_MERGECONTRACTIONS_H

#include "ir/FusecOps.h"

namespace fusec {

/// Sums of products become one product with several segments:
/// x W + s ((x A) B) + bias  ->  [x | s (x A)] . [W ; B] + bias.
void mergeSummedContractions(mlir::Block &block);

/// Products of one left operand whose results meet through pointwise ops
/// become contractions with several accumulators (gating), as many as one
/// kernel has registers for.
void groupContractions(mlir::Block &block);

/// Whether two products may be accumulators of one contraction, which has no
/// more of them than a kernel has registers for: of one left operand, with
/// right operands of one size that lie alike.
bool canBeGrouped(ContractionOp a, ContractionOp b);
/// One contraction in the place of the last of such products.
ContractionOp groupContractions(llvm::ArrayRef<ContractionOp> members);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_MERGECONTRACTIONS_H
