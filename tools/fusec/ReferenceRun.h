// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model by the reference evaluator.

#ifndef FUSEC_TOOLS_FUSEC_REFERENCERUN_H
#define FUSEC_TOOLS_FUSEC_REFERENCERUN_H

#include "ir/reference/Evaluate.h"
#include "tools/fusec/Arguments.h"

namespace fusec {

/// Evaluates the model as it now stands: any level that a `fusec.model` has.
/// Inputs are in the model's order and outlive the call. Throws Failure.
std::vector<data::Tensor> runReference(ModelOp model, const std::vector<data::Tensor> &inputs,
                                       const reference::EvaluateOptions &options = {},
                                       std::map<std::string, int64_t> dims = {});

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_REFERENCERUN_H
