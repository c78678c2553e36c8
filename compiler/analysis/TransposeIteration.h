// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise regions whose loads and stores lie along different dimensions.

#ifndef FUSEC_COMPILER_ANALYSIS_TRANSPOSEITERATION_H
#define FUSEC_COMPILER_ANALYSIS_TRANSPOSEITERATION_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

/// What is loaded lies along one dim of the iteration, what is stored along its
/// last one: a tile of both turns one into the other.
struct TransposeIteration {
  PointwiseIteration points;
  unsigned along;                    // a dim before the last one
  llvm::SmallVector<unsigned> loads; // nodes that lie along it

  unsigned across() const { return points.program.getSizes().size() - 1; }
  Expr getSize(unsigned dim) const { return points.program.getSizes()[dim]; }
  /// Of all dims but the two.
  Expr getBatch() const;
};

/// Tiles of shared memory that a block may have.
constexpr unsigned mostTransposeTiles = 2;

/// Fails where no load needs a tile: each lies as the stores do, or is read at
/// some of the points only, or reads few elements again and again.
mlir::FailureOr<TransposeIteration> analyzeTranspose(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_TRANSPOSEITERATION_H
