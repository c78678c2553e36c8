// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements and compute none.

#ifndef FUSEC_COMPILER_ANALYSIS_VIEWS_H
#define FUSEC_COMPILER_ANALYSIS_VIEWS_H

#include "ir/FusecOps.h"

namespace fusec {

inline bool isView(mlir::Operation *op) {
  auto indexed = llvm::dyn_cast<IndexedOpInterface>(op);
  return indexed && indexed.getFusionKind() == FusionKind::View;
}

/// Whether the op shows elements of one tensor; a concat shows those of
/// several.
inline bool isViewOfOne(mlir::Operation *op) {
  return isView(op) && !llvm::isa<ConcatOp>(op);
}

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_VIEWS_H
