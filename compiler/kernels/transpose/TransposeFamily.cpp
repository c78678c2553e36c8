// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/TransposeIteration.h"
#include "compiler/kernels/transpose/Transpose.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return TransposeScheduleAttr::get(context, 32, 32, 1, 1, 64);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return {};
  auto countTiles = [&](unsigned dim, int64_t extent) {
    return iteration->getSize(dim).ceilDiv(
        Expr::constant(step.getContext(), extent));
  };
  Expr tiles = iteration->getBatch() *
               countTiles(iteration->along, schedule.getAlong()) *
               countTiles(iteration->across(), schedule.getAcross());
  return LaunchAttr::get(limitBlocks(tiles, 0), transposeThreads)
      .withResident(transposeResident);
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return {};
  return {{"along", iteration->getSize(iteration->along)},
          {"across", iteration->getSize(iteration->across())},
          {"batch", iteration->getBatch()}};
}

const KernelFamily fusec::transposeFamily = {
    getPlain,  chooseTransposeVariants, /*estimate=*/nullptr,
    getLaunch, emitTranspose,           getNamedSizes};
