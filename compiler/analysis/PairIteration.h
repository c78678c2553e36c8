// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step of the pairs family multiplies, and where its rows lie.

#ifndef FUSEC_COMPILER_ANALYSIS_PAIRITERATION_H
#define FUSEC_COMPILER_ANALYSIS_PAIRITERATION_H

#include "ir/FusecOps.h"

namespace fusec {

struct PairIteration {
  PairProductOp root;
  BufferOp x, weights, sums;
  /// Of x: from its buffer's start to the first row, and from row to row, in
  /// elements; those of a row lie one after another.
  Expr offset, stride;
  Expr rows, parts;
  int64_t features, columns;
};

/// Fails where the region is more than one product of pairs and views of its
/// rows.
mlir::FailureOr<PairIteration> analyzePairs(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_PAIRITERATION_H
