// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pointwise ops alone lead to, in either direction.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_POINTWISEPATHS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_POINTWISEPATHS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace fusec {

bool isPointwise(mlir::Operation *op);

/// Whether the value is a product, or computed from one by pointwise ops alone.
bool isFromProduct(mlir::Value value);

/// Whether results of both reach one op through pointwise ops alone, and
/// expands, which later move behind these.
bool meetThroughPointwise(mlir::Operation *a, mlir::Operation *b);
/// The block's ops in classes: two that meet are of one class, others may be.
llvm::EquivalenceClasses<mlir::Operation *>
classifyByPointwiseUsers(mlir::Block &block);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_POINTWISEPATHS_H
