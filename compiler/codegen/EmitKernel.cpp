// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Emitters.h"

using namespace mlir;
using namespace fusec;

FailureOr<KernelSource> fusec::emitKernel(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  if (!variant.getLaunch())
    return step.emitOpError("has a variant without a launch, as regions have "
                            "that are not of their family's form; run "
                            "'fusec-plan-launches' first");
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
