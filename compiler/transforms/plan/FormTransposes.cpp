// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise steps whose loads and stores lie along different dimensions become
// transposes, where both dimensions fill a tile.

#include "compiler/Passes.h"
#include "compiler/analysis/TransposeIteration.h"
#include "compiler/analysis/TypicalSizes.h"
#include "compiler/kernels/Family.h"
#include "ir/PlanBuffers.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMTRANSPOSES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// Of either dimension. Elements of shorter ones lie in so few sectors that the
/// first cache has them when they are read again.
static constexpr int64_t leastExtent = 16;

static bool gainsByTiles(StepOp step) {
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return false;
  auto isLong = [&](unsigned dim) {
    return getSampledValue(iteration->getSize(dim), typicalDim) >= leastExtent;
  };
  return isLong(iteration->along) && isLong(iteration->across());
}

namespace {
struct FormTransposes : fusec::impl::FormTransposesBase<FormTransposes> {
  void runOnOperation() override {
    PlanOp plan = getOperation();
    PlanBuffers buffers(plan);
    MLIRContext *context = &getContext();
    for (StepOp step : plan.getOps<StepOp>()) {
      if (step.getFamily() != Family::Pointwise || !gainsByTiles(step))
        continue;
      step.setFamily(Family::Transpose);
      auto plain = VariantAttr::get(
          context, {}, getPlainSchedule(Family::Transpose, context));
      step.setVariantsAttr(ArrayAttr::get(context, {plain}));
    }
  }
};
} // namespace
