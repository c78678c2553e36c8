// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ side of FusecAttributes.td, and helpers for tensor types with sizes.

#ifndef FUSEC_IR_FUSECATTRIBUTES_H
#define FUSEC_IR_FUSECATTRIBUTES_H

#include "ir/Expr.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/Value.h"

#include "ir/FusecEnums.h.inc"
#include "ir/FusecScheduleInterface.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/FusecAttributes.h.inc"

namespace fusec {

/// The sizes of a tensor type: constants, or expressions from its encoding.
llvm::SmallVector<Expr> getSizes(mlir::Type type);
llvm::SmallVector<Expr> getSizes(mlir::Value value);
unsigned getRank(mlir::Value value);
mlir::Type getElementType(mlir::Value value);

/// The tensor type with these sizes; it carries `#fusec.sizes` exactly where
/// one of them is not a constant.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<Expr> sizes,
                                     mlir::Type elementType);

/// The number of elements: the product of the sizes.
Expr getElementCount(llvm::ArrayRef<Expr> sizes, mlir::MLIRContext *context);

/// Bytes of one element in memory; bool takes one.
int64_t getElementBytes(mlir::Type elementType);

} // namespace fusec

#endif // FUSEC_IR_FUSECATTRIBUTES_H
