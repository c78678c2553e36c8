// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a plan as a device would: steps in order over one arena of bytes, with
// the slots, offsets and strides that the plan gives. Each step's region is
// evaluated by the reference, so that what is tested is where values lie.

#ifndef FUSEC_IR_REFERENCE_EVALUATEPLAN_H
#define FUSEC_IR_REFERENCE_EVALUATEPLAN_H

#include "ir/reference/Evaluate.h"

namespace fusec::reference {

/// Slots begin at multiples of this, as in the library.
constexpr int64_t slotAlignment = 256;

/// Evaluates a plan on the inputs of its model. The arena is poisoned at first,
/// and each of its bytes again when nothing will read it any more. Fails where
/// a buffer leaves its slot or its tensor, a step reads what no step has
/// written, reads and writes the same bytes, or an output is not written
/// entirely.
mlir::FailureOr<Evaluation> evaluate(PlanOp plan, llvm::ArrayRef<Tensor> inputs,
                                     const EvaluateOptions &options = {},
                                     Dims dims = {});

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_EVALUATEPLAN_H
