// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return GemmScheduleAttr::get(context, GemmUnit::Simt, 32, 32, 16, 2, 2, 2);
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

const GemmUnitRoom &fusec::getGemmUnit(GemmUnit unit) {
  switch (unit) {
  case GemmUnit::Simt:
    return simtUnit;
  case GemmUnit::Mma:
  case GemmUnit::Tf32x3:
    return mmaUnit;
  case GemmUnit::GemvM:
  case GemmUnit::GemvN:
    return gemvUnit;
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong:
  case GemmUnit::WgmmaTf32x3:
    return wgmmaUnit;
  case GemmUnit::Skinny:
  case GemmUnit::SkinnyTf32x3:
    return skinnyUnit;
  case GemmUnit::Resident:
    return residentUnit;
  }
  llvm_unreachable("every unit has a room");
}

Estimate fusec::estimateGemm(const Target &target, const GemmSizes &sizes,
                             GemmScheduleAttr schedule) {
  return getGemmUnit(schedule.getUnit()).estimate(target, sizes, schedule);
}

const KernelFamily fusec::gemmFamily = {getPlain,         chooseGemmVariants,
                                        estimateGemmStep, getGemmLaunch,
                                        emitGemm,         getNamedSizes};
