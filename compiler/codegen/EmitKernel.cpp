// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Emitters.h"

using namespace mlir;
using namespace fusec;

bool fusec::gainsByEarlyStart(StepOp step, VariantAttr variant) {
  constexpr int64_t longest = 30000; // nanoseconds
  auto steps = cast<PlanOp>(step->getParentOp()).getOps<StepOp>();
  EstimateAttr estimate = variant.getEstimate();
  return step != *steps.begin() &&
         (!estimate || estimate.getNanoseconds() <= longest);
}

static FailureOr<KernelSource> emit(StepOp step, VariantAttr variant,
                                    StringRef symbol) {
  switch (step.getFamily()) {
  case Family::Pointwise:
    return emitPointwise(step, variant, symbol);
  case Family::Reduce:
    return emitReduce(step, variant, symbol);
  case Family::Gemm:
    return emitGemm(step, variant, symbol);
  case Family::Chain:
    return emitChain(step, variant, symbol);
  }
  return failure();
}

FailureOr<KernelSource> fusec::emitKernel(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  FailureOr<KernelSource> source = emit(step, variant, symbol);
  if (succeeded(source))
    source->startsEarly =
        !source->cooperative && gainsByEarlyStart(step, variant);
  return source;
}
