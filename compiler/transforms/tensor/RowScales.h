// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scale by rows commutes with a product, whose epilogue then applies it.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_ROWSCALES_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_ROWSCALES_H

#include "mlir/IR/Block.h"

namespace fusec {

/// (r x) . W -> r (x . W), where r has one value a row: a norm before a linear
/// layer then computes r alone, and the scaled x is never stored. Of 16-bit
/// operands the product stays fp32 until it is scaled.
void moveRowScales(mlir::Block &block);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_ROWSCALES_H
