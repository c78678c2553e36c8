// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops on single elements that are numbers or sizes. Nothing stands
// for a result that no expression says, or that would wrap.

#ifndef FUSEC_FRONTENDS_ONNX_KNOWNARITHMETIC_H
#define FUSEC_FRONTENDS_ONNX_KNOWNARITHMETIC_H

#include "ir/FusecOps.h"

namespace fusec::onnx {

/// The value if it is one of the element type; wrapped numbers are not sizes.
std::optional<Expr> fitting(std::optional<Expr> value, mlir::Type type);

std::optional<Expr> applyUnary(mlir::Operation *op, Expr a);
std::optional<Expr> applyBinary(mlir::Operation *op, Expr a, Expr b);

/// Whether the op means the same on whole floats as on integers.
bool isSameOnWholeFloats(mlir::Operation *op);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_KNOWNARITHMETIC_H
