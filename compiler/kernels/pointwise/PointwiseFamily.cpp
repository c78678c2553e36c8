// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return PointwiseScheduleAttr::get(context, 256, 1, 64);
}

static AccessesAttr getAccesses(StepOp step, VariantAttr variant,
                                const PointwisePiece &piece) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  int64_t width = piece.getWidth(schedule.getVector());
  const ScalarProgram &program = piece.iteration.program;
  SmallVector<int64_t> loads, stores;
  if (piece.isByRows()) {
    for (unsigned read : getReads(program))
      loads.push_back(isBesideStores(step, piece.iteration, read, width,
                                     [&](BufferOp buffer) {
                                       return getAlignment(buffer, variant);
                                     })
                          ? width
                          : 1);
    stores.assign(piece.iteration.stores.size(), width);
  } else {
    loads = getLoadWidths(step, variant, program, piece.getDim(), width);
    if (auto row = findPickedRow(step, piece.iteration);
        row && schedule.getHolds()) {
      SmallVector<unsigned> reads = getReads(program);
      loads[llvm::find(reads, row->load) - reads.begin()] =
          getFillWidth(step, piece.iteration, *row, [&](BufferOp buffer) {
            return getAlignment(buffer, variant);
          });
    }
    for (ArrayRef<RegionStore> group : piece.getStoreGroups())
      llvm::append_range(
          stores, getStoreWidths(step, variant, group, piece.getDim(), width));
  }
  return fusec::getAccesses(step.getContext(), piece.walk, width, loads,
                            stores);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  FailureOr<PointwisePieces> pieces = analyzePointwisePieces(
      step, [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  if (failed(pieces))
    return {};
  Expr blocks = Expr::constant(step.getContext(), 0);
  for (Expr some : getBlocks(*pieces, schedule))
    blocks = blocks + some;
  return LaunchAttr::get(blocks, schedule.getThreads())
      .withAccesses(
          llvm::map_to_vector(*pieces, [&](const PointwisePiece &piece) {
            return getAccesses(step, variant, piece);
          }));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  std::map<std::string, Expr> sizes;
  if (auto iteration = analyzePointwise(step); succeeded(iteration))
    for (auto [i, size] : llvm::enumerate(iteration->program.getSizes()))
      sizes[fmt::format("size{}", i)] = size;
  return sizes;
}

const KernelFamily fusec::pointwiseFamily = {
    getPlain,  choosePointwiseVariants, estimatePointwiseStep,
    getLaunch, emitPointwise,           getNamedSizes};
