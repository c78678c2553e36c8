// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far grids go whose loops stride over them.

#ifndef FUSEC_COMPILER_ANALYSIS_GRIDLIMIT_H
#define FUSEC_COMPILER_ANALYSIS_GRIDLIMIT_H

#include "ir/Expr.h"

namespace fusec {

/// Loops stride over the grid beyond this many blocks: enough to fill any GPU
/// many times over, and within every limit.
constexpr int64_t maxGridBlocks = 1 << 20;

/// `blocks`, if that is not more than `most` (0: no other limit) and than any
/// GPU needs.
inline Expr limitBlocks(Expr blocks, int64_t most) {
  return Expr::min(
      blocks, Expr::constant(blocks.getContext(), most ? most : maxGridBlocks));
}

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_GRIDLIMIT_H
