// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ways contractions of a block join: along K (segments) and along N
// (accumulators). Both leave the block in topological order.

#ifndef FUSEC_COMPILER_TRANSFORMS_MERGECONTRACTIONS_H
#define FUSEC_COMPILER_TRANSFORMS_MERGECONTRACTIONS_H

#include "mlir/IR/Block.h"

namespace fusec {

/// Sums of products become one product with several segments:
/// x W + s ((x A) B) + bias  ->  [x | s (x A)] . [W ; B] + bias.
void mergeSummedContractions(mlir::Block &block);

/// Products of one left operand whose results meet through pointwise ops
/// become contractions with several accumulators (gating), as many as one
/// kernel has registers for.
void groupContractions(mlir::Block &block);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_MERGECONTRACTIONS_H
