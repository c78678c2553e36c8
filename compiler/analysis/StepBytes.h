// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes kernels read and write: each tensor once, of tables the rows
// that are looked up. And how much they compute.

#ifndef FUSEC_COMPILER_ANALYSIS_STEPBYTES_H
#define FUSEC_COMPILER_ANALYSIS_STEPBYTES_H

#include "compiler/analysis/TypicalSizes.h"
#include "ir/FusecOps.h"

#include <map>
#include <string>
#include <vector>

namespace fusec {

struct StepBytes {
  uint64_t read = 0, written = 0;
};

/// Dimensions that are not given are `typicalDim`.
StepBytes getStepBytes(StepOp step, const std::map<std::string, int64_t> &dims);
/// At a sampled size, see getSampledValue().
StepBytes getStepBytesAt(StepOp step, int64_t dim);
StepBytes getPlanBytes(PlanOp plan, const std::map<std::string, int64_t> &dims);

/// The same in terms of dimensions. Operations are two a multiply-add of a
/// contraction, one an element of another result, or of what is reduced; views,
/// conversions and what is looked up are none.
struct StepWork {
  Expr read, written, operations;
};
StepWork getStepWork(StepOp step);

/// The named dimensions of a model's inputs, in order of their first use.
std::vector<std::string> getDimNames(ModelOp model);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_STEPBYTES_H
