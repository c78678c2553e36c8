// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/chain/Chain.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return ChainScheduleAttr::get(context, 1, 128, 1, 64);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<ChainScheduleAttr>(variant.getSchedule());
  std::string reason;
  FailureOr<ChainIteration> iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return {};
  MLIRContext *context = step.getContext();
  Expr tiles =
      iteration->rows.ceilDiv(Expr::constant(context, schedule.getRows()));
  return LaunchAttr::get(
      Expr::min(tiles, Expr::constant(context, schedule.getBlocks())),
      schedule.getThreads(), iteration->getSharedBytes(schedule.getRows()));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  std::string reason;
  auto iteration = analyzeChain(step, reason);
  if (failed(iteration))
    return {};
  std::map<std::string, Expr> sizes = {{"m", iteration->rows}};
  for (auto [i, phase] : llvm::enumerate(iteration->phases))
    sizes[fmt::format("n{}", i)] = phase.matmul.n;
  return sizes;
}

const KernelFamily fusec::chainFamily = {getPlain,          chooseChainVariants,
                                         estimateChainStep, getLaunch,
                                         emitChain,         getNamedSizes};
