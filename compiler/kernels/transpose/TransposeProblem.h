// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schedules of a transposition depend on.

#ifndef FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSEPROBLEM_H
#define FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSEPROBLEM_H

#include "compiler/kernels/transpose/Transpose.h"

namespace fusec {

/// An access to a buffer of the step, of elements that lie along a dim.
struct TransposeAccess {
  BufferOp buffer;
  Expr offset;
};

/// How many elements the accesses along a dim take at a time.
struct TransposeAccesses {
  llvm::SmallVector<TransposeAccess> all;
  int64_t width = 1;
};

struct TransposeProblem {
  TransposeIteration iteration;
  TransposeAccesses loads, stores;
  // Of tiles of whole rows, else one; a guarded variant's.
  int64_t wholeRowLoad = 1;
  /// That are read as results are stored.
  llvm::SmallVector<BufferOp> others = {};

  llvm::SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                             bool isGuarded,
                                             int64_t bits) const;
  Candidate getCandidate(StepOp step, const Target &target,
                         TransposeScheduleAttr schedule) const;
  bool gainsByLargeTiles() const;
  bool areSingleHalves(bool isGuarded) const;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_TRANSPOSE_TRANSPOSEPROBLEM_H
