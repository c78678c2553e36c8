// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that share a left operand as accumulators of one contraction: when
// that can be, and how. Passes decide for which.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_ACCUMULATORS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_ACCUMULATORS_H

#include "ir/FusecOps.h"

namespace fusec {

/// Whether two products may be accumulators of one contraction, which has no
/// more of them than a kernel has registers for: of one left operand, with
/// right operands of one size that lie alike.
bool canBeGrouped(ContractionOp a, ContractionOp b);
/// One contraction in the place of the last of such products. Users may stand
/// before it: the block is to be sorted afterwards.
ContractionOp groupContractions(llvm::ArrayRef<ContractionOp> members);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_ACCUMULATORS_H
