// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns that remove or move views, by the kind of view.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_VIEWPATTERNS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_VIEWPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace fusec {

/// Collapse, expand, transpose and broadcast.
void populateReshapePatterns(mlir::RewritePatternSet &patterns);
/// Slice and concat.
void populateSlicePatterns(mlir::RewritePatternSet &patterns);
/// Gathers that are slices, or that read and write in another order.
void populateGatherPatterns(mlir::RewritePatternSet &patterns);
/// Expands that follow a product move behind the pointwise ops that follow
/// them, which then run over the product's own dimensions.
void populateSinkPatterns(mlir::RewritePatternSet &patterns);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_VIEWPATTERNS_H
