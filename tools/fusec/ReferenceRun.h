// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model by the reference evaluator.

#ifndef FUSEC_TOOLS_FUSEC_REFERENCERUN_H
#define FUSEC_TOOLS_FUSEC_REFERENCERUN_H

#include "ir/reference/EvaluatePlan.h"
#include "tools/fusec/Arguments.h"

namespace fusec {

/// The same elements; the result refers to the tensor's memory.
reference::Tensor toReference(const data::Tensor &tensor,
                              mlir::MLIRContext *context);
/// A copy. Throws Failure.
data::Tensor fromReference(const reference::Tensor &tensor);

/// Evaluates the model as it now stands: any level that a `fusec.model` has.
/// Inputs are in the model's order and outlive the call; `outside` gets the
/// number of elements whose index was out of range. Throws Failure.
std::vector<data::Tensor>
runReference(ModelOp model, const std::vector<data::Tensor> &inputs,
             const reference::EvaluateOptions &options = {},
             std::map<std::string, int64_t> dims = {},
             int64_t *outside = nullptr);

/// The same for a plan of the model, in a poisoned arena.
std::vector<data::Tensor> runReference(PlanOp plan,
                                       const std::vector<data::Tensor> &inputs);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_REFERENCERUN_H
