// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements along one dim of an iteration its accesses can take
// together.

#ifndef FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H
#define FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H

#include "compiler/analysis/Iteration.h"

namespace fusec {

/// Whether offsets with this expression can be accessed by vectors of
/// `width` elements of `bytes` bytes: consecutive lanes adjacent, each vector
/// aligned.
bool isVectorAccess(Expr offset, unsigned dim, int64_t width, int64_t bytes,
                    unsigned alignment);

struct VectorAccesses {
  int64_t width = 1;                        // elements
  llvm::SmallVector<BufferOp> aligned = {}; // these must be, to 16 bytes
};

/// The widest vectors of at most 16 bytes that every store and most loads along
/// `dim` can take. `hasTail`: the kernel computes what is left of the dim by
/// single elements; else the dim must be a multiple of the width.
VectorAccesses analyzeVectorAccesses(StepOp step, const ScalarProgram &program,
                                     llvm::ArrayRef<RegionStore> stores,
                                     unsigned dim, bool hasTail);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H
