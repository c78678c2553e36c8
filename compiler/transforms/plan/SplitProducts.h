// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product over ranges of K and the sum of its parts, as two steps in place of
// one: the mechanics, for the pass that decides by the cost model.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_SPLITPRODUCTS_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_SPLITPRODUCTS_H

#include "compiler/transforms/plan/CutStep.h"

namespace fusec {

/// The product of a matmul step where its K can be split: the only one, of
/// matrices without a batch, whose sums are kept in fp32, of a constant K. Else
/// null, and the reason.
ContractionOp getSplittableProduct(StepOp step, std::string &reason);

/// Into how many ranges K can be split, ascending: at most `most`, none shorter
/// than `leastK` together but the last. Each is of whole tiles, so that only
/// the last one reads beyond K, where matrices are zero to all kernels.
llvm::SmallVector<int64_t> getSplits(ContractionOp product, int64_t most,
                                     int64_t leastK);

/// Puts the two before the step, which stays. The first one's product counts
/// ranges of K as a batch, of fp32 results; the second one adds them in order
/// of K and evaluates the step's epilogue.
CutStep splitProduct(StepOp step, ContractionOp product, int64_t parts);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_SPLITPRODUCTS_H
