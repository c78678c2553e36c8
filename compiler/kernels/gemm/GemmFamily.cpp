// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/gemm/Gemm.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return SimtScheduleAttr::get(context, 32, 32, 16, 2, 2);
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  auto iteration = analyzeMatmul(step);
  if (failed(iteration))
    return {};
  std::map<std::string, Expr> sizes = {
      {"m", iteration->m},
      {"n", iteration->n},
      {"batch", getElementCount(iteration->batchSizes, step.getContext())}};
  for (auto [i, k] : llvm::enumerate(iteration->k))
    sizes[i ? fmt::format("k{}", i + 1) : "k"] = k;
  return sizes;
}

const KernelFamily fusec::gemmFamily = {getPlain,         chooseGemmVariants,
                                        estimateGemmStep, getGemmLaunch,
                                        emitGemm,         getNamedSizes};
