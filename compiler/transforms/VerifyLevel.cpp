// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between stages: which ops may occur at a level.

#include "compiler/Passes.h"
#include "compiler/analysis/Views.h"
#include "ir/FusecOps.h"

namespace fusec {
#define GEN_PASS_DEF_VERIFYLEVEL
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

static LogicalResult verifyTensorLevel(Operation *op) {
  if (op->hasTrait<FusedLevel>())
    return op->emitOpError(
        "belongs to the fused level; expected the tensor level only");
  if (op->hasTrait<PlannedLevel>())
    return op->emitOpError(
        "belongs to the planned level; expected the tensor level only");
  return success();
}

static LogicalResult verifyFusedLevel(Operation *op) {
  if (op->hasTrait<PlannedLevel>())
    return op->emitOpError("belongs to the planned level; expected the tensor "
                           "and the fused level only");
  if (isa<MatmulOp>(op))
    return op->emitOpError(
        "is not of the fused level; run 'fusec-form-contractions' first");
  // What moves no data may stay between the kernels.
  if (isa<IndexedOpInterface>(op) && isa<ModelOp>(op->getParentOp()) &&
      !isView(op))
    return op->emitOpError(
        "belongs to no fusion; run 'fusec-form-fusions' first");
  return success();
}

static LogicalResult verifyPlannedLevel(Operation *op) {
  if (!op->getParentOfType<PlanOp>())
    return success();
  if (isa<FusionOp>(op))
    return op->emitOpError(
        "is not of the planned level; run 'fusec-build-plans' first");
  if (isa<MatmulOp>(op))
    return op->emitOpError(
        "is not of the fused level; run 'fusec-form-contractions' first");
  return success();
}

namespace {
struct VerifyLevel : fusec::impl::VerifyLevelBase<VerifyLevel> {
  using VerifyLevelBase::VerifyLevelBase;

  void runOnOperation() override {
    LogicalResult (*verify)(Operation *) = level == "tensor" ? verifyTensorLevel
                                           : level == "fused" ? verifyFusedLevel
                                           : level == "planned"
                                               ? verifyPlannedLevel
                                               : nullptr;
    if (!verify) {
      emitError(getOperation()->getLoc())
          << "expected level 'tensor', 'fused' or 'planned', got '" << level
          << "'";
      return signalPassFailure();
    }
    bool valid = true;
    getOperation()->walk([&](Operation *op) {
      if (op != getOperation() && failed(verify(op)))
        valid = false;
    });
    if (!valid)
      signalPassFailure();
  }
};
} // namespace
