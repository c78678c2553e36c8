// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return PointwiseScheduleAttr::get(context, 256, 1, 64);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  FailureOr<PointwiseIteration> iteration = analyzePointwise(step);
  if (failed(iteration))
    return {};
  MLIRContext *context = step.getContext();
  Expr count = getElementCount(iteration->program.getSizes(), context);
  Expr perBlock =
      Expr::constant(context, schedule.getThreads() * schedule.getVector());
  return LaunchAttr::get(
      limitBlocks(count.ceilDiv(perBlock), schedule.getBlocks()),
      schedule.getThreads());
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  std::map<std::string, Expr> sizes;
  if (auto iteration = analyzePointwise(step); succeeded(iteration))
    for (auto [i, size] : llvm::enumerate(iteration->program.getSizes()))
      sizes[fmt::format("size{}", i)] = size;
  return sizes;
}

const KernelFamily fusec::pointwiseFamily = {
    getPlain,  choosePointwiseVariants, nullptr,
    getLaunch, emitPointwise,           getNamedSizes};
