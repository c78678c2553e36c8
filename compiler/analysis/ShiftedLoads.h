// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads of neighbours that begin anywhere in memory: vectors take what is
// around them, and shift it into place. Where only some of their lanes ask for
// a piece, the others load nothing.

#ifndef FUSEC_COMPILER_ANALYSIS_SHIFTEDLOADS_H
#define FUSEC_COMPILER_ANALYSIS_SHIFTEDLOADS_H

#include "compiler/analysis/VectorAccesses.h"

namespace fusec {

/// The loads that vectors of `width` lanes along the dim may shift, by their
/// nodes: also those that vectors hold as they lie, and none of more than
/// registers hold. `beginAnywhere`: vectors do not begin at multiples of the
/// width.
llvm::SmallVector<unsigned>
findShiftableLoads(StepOp step, const ScalarProgram &program,
                   llvm::ArrayRef<RegionStore> stores, unsigned dim,
                   int64_t width, bool beginAnywhere, Alignments alignments);

/// Whether all that lanes load for the pieces of a concat is shifted, so that
/// none of it is on its own.
bool areLoadsShifted(const ScalarProgram &program, unsigned piecewise,
                     unsigned dim, llvm::ArrayRef<unsigned> shifted);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_SHIFTEDLOADS_H
