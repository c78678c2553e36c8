// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step of a plan as a model of its own, so that its kernel can be run and
// timed alone.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_ISOLATESTEP_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_ISOLATESTEP_H

#include "ir/FusecOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fusec {

/// A model of the fused level with one fusion. Its inputs, "in0" and on, are
/// all that the step reads, weights included except for integers, which index
/// tables; its outputs are "out0" and on. Matrices whose rows lie apart come
/// with what is between them; all else is dense, also where the step's is a
/// slice of a larger buffer.
mlir::OwningOpRef<mlir::ModuleOp> isolateStep(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_ISOLATESTEP_H
