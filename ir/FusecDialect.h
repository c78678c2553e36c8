// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_IR_FUSECDIALECT_H
#define FUSEC_IR_FUSECDIALECT_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"

#include "ir/FusecDialect.h.inc"

namespace fusec {

// Levels of the dialect; an op carries that of the stage which creates it.
template <typename Op>
class TensorLevel : public mlir::OpTrait::TraitBase<Op, TensorLevel> {};
template <typename Op>
class FusedLevel : public mlir::OpTrait::TraitBase<Op, FusedLevel> {};
template <typename Op>
class PlannedLevel : public mlir::OpTrait::TraitBase<Op, PlannedLevel> {};

/// Operands have the result's sizes and an element type the op is defined for.
llvm::LogicalResult verifyPointwise(mlir::Operation *op);
template <typename Op>
class PointwiseShape : public mlir::OpTrait::TraitBase<Op, PointwiseShape> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyPointwise(op);
  }
};

} // namespace fusec

#endif // FUSEC_IR_FUSECDIALECT_H
