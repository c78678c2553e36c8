// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/gemm/device/gemm_config.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

static bool isMatmul(StepOp step) {
  return llvm::any_of(step.getVariants().getAsRange<VariantAttr>(),
                      [](VariantAttr variant) {
                        return isa<GemmScheduleAttr>(variant.getSchedule());
                      });
}

static LogicalResult checkExtents(StepOp step) {
  FailureOr<MatmulIteration> iteration = analyzeMatmul(step);
  if (failed(iteration))
    return success();
  std::pair<Expr, const char *> sizes[] = {
      {iteration->m, "rows"},
      {iteration->n, "columns"},
      {getElementCount(iteration->batchSizes, step.getContext()), "matrices"}};
  // Nothing is computed then, and no kernel launched.
  if (llvm::any_of(sizes, [](auto &size) { return size.first.isConstant(0); }))
    return success();
  auto check = [&](Expr size, const char *what) -> LogicalResult {
    if (!size.isConstant() || size.getValue() <= mostExtent)
      return success();
    return mlir::emitError(step.getLoc())
           << "expected a product of at most " << mostExtent << " " << what
           << ", found " << size.getValue()
           << "; split it, or give it parts in turn";
  };
  LogicalResult result = success();
  for (auto [size, what] : sizes)
    if (failed(check(size, what)))
      result = failure();
  for (Expr k : iteration->k)
    if (failed(check(k, "summands")))
      result = failure();
  return result;
}

LogicalResult fusec::checkExtents(ModuleOp module) {
  LogicalResult result = success();
  for (PlanOp plan : module.getOps<PlanOp>()) {
    PlanBuffers buffers(plan);
    for (StepOp step : plan.getOps<StepOp>())
      if (isMatmul(step) && failed(::checkExtents(step)))
        result = failure();
  }
  return result;
}
