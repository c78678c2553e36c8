// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What evaluating a model and evaluating its plans share: the check of inputs.

#ifndef FUSEC_IR_REFERENCE_INPUTS_H
#define FUSEC_IR_REFERENCE_INPUTS_H

#include "ir/reference/Evaluate.h"

namespace fusec::reference {

/// Checks the inputs' number, types and sizes, and the model's constraints;
/// binds the dimensions on the way.
mlir::LogicalResult bindInputs(ModelOp model, llvm::ArrayRef<Tensor> inputs,
                               const EvaluateOptions &options, Dims &dims);

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_INPUTS_H
