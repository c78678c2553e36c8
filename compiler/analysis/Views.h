// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements and compute none, and where they lead.

#ifndef FUSEC_COMPILER_ANALYSIS_VIEWS_H
#define FUSEC_COMPILER_ANALYSIS_VIEWS_H

#include "ir/FusecOps.h"
#include "ir/IndexMap.h"

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

/// The same value outside of the fusions that it is passed to or comes from.
mlir::Value leaveFusions(mlir::Value value);

/// Where each element of `value` is read through its views: the tensor behind
/// them and its index in terms of `value`'s. Stops at concats.
struct ViewSource {
  mlir::Value value;
  IndexMap map;
};
ViewSource traceViews(mlir::Value value);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_VIEWS_H
