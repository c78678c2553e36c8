// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of which tables the integers among a model's inputs stand for, so
// that whoever makes up inputs meets all rows, and none that do not exist.

#ifndef FUSEC_COMPILER_ANALYSIS_INDEXRANGES_H
#define FUSEC_COMPILER_ANALYSIS_INDEXRANGES_H

#include "ir/FusecOps.h"
#include "runtime/format/Manifest.h"

namespace fusec {

/// For each input of a model, at any level, what format::TensorSpec says of it.
/// Indices are traced through views, conversions, clips and arithmetic with
/// constants; an input that leads to a table in other ways indexes nothing.
std::vector<std::vector<format::IndexRange>> findIndexRanges(ModelOp model);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_INDEXRANGES_H
