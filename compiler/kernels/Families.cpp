// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/bag/Bag.h"
#include "compiler/kernels/chain/Chain.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/pairs/Pairs.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include "compiler/kernels/reduce/Reduce.h"
#include "compiler/kernels/scan/Scan.h"
#include "compiler/kernels/transpose/Transpose.h"

using namespace mlir;
using namespace fusec;

const KernelFamily &fusec::getKernelFamily(Family family) {
  switch (family) {
  case Family::Pointwise:
    return pointwiseFamily;
  case Family::Reduce:
    return reduceFamily;
  case Family::Gemm:
    return gemmFamily;
  case Family::Chain:
    return chainFamily;
  case Family::Pairs:
    return pairsFamily;
  case Family::Transpose:
    return transposeFamily;
  case Family::Bag:
    return bagFamily;
  case Family::Scan:
    return scanFamily;
  }
  llvm_unreachable("every family has a room");
}

Estimates fusec::estimateStep(StepOp step, const Target &target,
                              Products products, ArrayRef<int64_t> dims) {
  auto estimate = getKernelFamily(step.getFamily()).estimate;
  return estimate ? estimate(step, target, products, dims)
                  : Estimates(dims.size());
}

FailureOr<KernelSource> fusec::emitKernel(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  if (!variant.getLaunch())
    return step.emitOpError("has a variant without a launch, as regions have "
                            "that are not of their family's form; run "
                            "'fusec-plan-launches' first");
  return getKernelFamily(step.getFamily()).emit(step, variant, symbol);
}
