// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns of `fusec-simplify-views`, by the kind of view they remove.

#ifndef FUSEC_COMPILER_TRANSFORMS_VIEWPATTERNS_H
#define FUSEC_COMPILER_TRANSFORMS_VIEWPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace fusec {

/// Collapse, expand, transpose and broadcast.
void populateReshapePatterns(mlir::RewritePatternSet &patterns);
/// Slice, concat and gathers that are slices.
void populateSlicePatterns(mlir::RewritePatternSet &patterns);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_VIEWPATTERNS_H
