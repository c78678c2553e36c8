// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_IR_FUSECOPS_H
#define FUSEC_IR_FUSECOPS_H

#include "ir/FusecAttributes.h"
#include "ir/FusecDialect.h"
#include "ir/FusecInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "ir/FusecOps.h.inc"

namespace fusec {
/// Whether the op is a constant, or one that sessions may replace.
inline bool isWeight(mlir::Operation *op) {
  return mlir::isa<ConstantOp, ReplaceableOp>(op);
}
} // namespace fusec

#endif // FUSEC_IR_FUSECOPS_H
