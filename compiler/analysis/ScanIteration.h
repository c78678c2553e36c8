// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of cumulative sums: what is summed at each point, and what is
// stored of the sums.

#ifndef FUSEC_COMPILER_ANALYSIS_SCANITERATION_H
#define FUSEC_COMPILER_ANALYSIS_SCANITERATION_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

/// Parts of the axis that blocks sum on their own; each adds what is before its
/// part. The sums are a result of the region, where blocks find those of
/// others.
struct ScanParts {
  int64_t count;
  Expr length;     // of each but the last ones
  unsigned output; // the result
  Expr offset;     // in it, where dim 1 is the part
};

/// Dim 0 is the outer index, dim 1 runs along the axis, dim 2 is the index
/// behind it.
struct ScanIteration {
  ScalarProgram program;
  CumSumOp op;
  unsigned operand; // node
  /// What is kept of an item until what lies before it is known: the operand,
  /// or the narrower number that it is a cast of.
  unsigned item;
  llvm::SmallVector<RegionStore> stores;
  std::optional<ScanParts> parts = {};

  /// Whether neighbours in memory are neighbours along the axis.
  bool isAlongRows() const { return program.getSizes()[2].isConstant(1); }
};
/// Fails where there is more than one root, but for sums of parts of the same,
/// or results are computed at other points than the sums.
mlir::FailureOr<ScanIteration> analyzeScan(llvm::ArrayRef<mlir::Value> outputs,
                                           ScalarProgram::Inside isInside,
                                           OutputStrides outputStrides);
/// The same for a step of the scan family.
mlir::FailureOr<ScanIteration> analyzeScan(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_SCANITERATION_H
