// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/PairIteration.h"
#include "compiler/kernels/pairs/Pairs.h"
#include "compiler/kernels/pairs/device/pairs_config.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return PairScheduleAttr::get(context, PairUnit::Mma, pairMmaTileN,
                               pairMmaStages, /*whole=*/false);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<PairScheduleAttr>(variant.getSchedule());
  FailureOr<PairIteration> iteration = analyzePairs(step);
  if (failed(iteration))
    return {};
  auto number = [&](int64_t value) {
    return Expr::constant(step.getContext(), value);
  };
  Expr blocks = iteration->rows.ceilDiv(number(pairTileM)) * iteration->parts *
                llvm::divideCeil(iteration->columns, schedule.getTileN());
  if (schedule.getUnit() == PairUnit::Fma)
    return LaunchAttr::get(blocks, pairFmaThreads);
  if (schedule.getUnit() == PairUnit::Mma)
    return LaunchAttr::get(blocks, pairMmaThreads, pairMmaSharedBytes);
  return LaunchAttr::get(
             blocks, pairThreads,
             pairSharedBytes(schedule.getTileN(), schedule.getStages()))
      .starting(/*early=*/false, /*prefetches=*/true);
}

/// One schedule a unit: there is nothing to tune.
static std::map<std::string, Expr> getNamedSizes(StepOp) { return {}; }

const KernelFamily fusec::pairsFamily = {
    getPlain,  choosePairVariants, /*estimate=*/nullptr,
    getLaunch, emitPairs,          getNamedSizes};
