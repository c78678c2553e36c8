// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/TransposeIteration.h"
#include "compiler/kernels/transpose/Transpose.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return TransposeScheduleAttr::get(context, 32, 32, 1, 1, 64);
}

/// Whether rows of what is stored begin where vectors do.
static bool storesAlign(StepOp step, VariantAttr variant,
                        const TransposeIteration &iteration) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  if (!isWhole(iteration.getSize(iteration.across()), schedule.getStore()))
    return false;
  return llvm::all_of(iteration.points.stores, [&](const RegionStore &store) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    return isVectorAccess(store.offset, iteration.across(), schedule.getStore(),
                          getElementBytes(buffer.getElementType()),
                          getAlignment(buffer, variant));
  });
}

static AccessesAttr getAccesses(StepOp step, VariantAttr variant,
                                const TransposeIteration &iteration) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  const ScalarProgram &program = iteration.points.program;
  int64_t width = schedule.getStore();
  Walk walk = width > 1 && !storesAlign(step, variant, iteration)
                  ? Walk::Memory
                  : Walk::Dimension;
  SmallVector<int64_t> loads =
      getLoadWidths(step, variant, program, iteration.across(),
                    walk == Walk::Memory ? 1 : width);
  for (auto [node, elements] : llvm::zip_equal(getReads(program), loads))
    if (llvm::is_contained(iteration.loads, node))
      elements = schedule.getLoad();
  SmallVector<int64_t> stores(iteration.points.stores.size(), width);
  return getAccesses(step.getContext(), walk, width, loads, stores);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return {};
  auto countTiles = [&](Expr size, int64_t extent) {
    return size.ceilDiv(Expr::constant(step.getContext(), extent));
  };
  Expr across = iteration->getSize(iteration->across());
  if (schedule.getStore() > 1 && !storesAlign(step, variant, *iteration))
    across = across + (schedule.getStore() - 1);
  Expr tiles =
      iteration->getBatch() *
      countTiles(iteration->getSize(iteration->along), schedule.getAlong()) *
      countTiles(across, schedule.getAcross());
  return LaunchAttr::get(limitBlocks(tiles, 0), transposeThreads)
      .withResident(transposeResident)
      .withAccesses(getAccesses(step, variant, *iteration));
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
