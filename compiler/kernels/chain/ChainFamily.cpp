// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/chain/Chain.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return ChainScheduleAttr::get(context, 1, 128, 1, 64);
}

/// How many elements of a row of the tile are copied at once.
static int64_t getCopyWidth(StepOp step, VariantAttr variant,
                            const ChainTile &tile) {
  if (!tile.isContiguous())
    return 1;
  BufferOp buffer = step.getInputBuffer(tile.value);
  int64_t bytes = getElementBytes(buffer.getElementType());
  // A single row has no stride.
  SmallVector<Expr> offsets = {tile.offset};
  if (tile.perRow || tile.rows > 1)
    offsets.push_back(tile.rowStride);
  return getOffsetAlignment(getAlignment(buffer, variant), bytes, offsets) /
         bytes;
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
  SmallVector<int64_t> copies;
  for (const ChainTile &tile : iteration->tiles)
    if (!tile.isHeld)
      copies.push_back(getCopyWidth(step, variant, tile));
  return LaunchAttr::get(
             Expr::min(tiles, Expr::constant(context, schedule.getBlocks())),
             schedule.getThreads(),
             iteration->getSharedBytes(schedule.getRows()))
      .withAccesses(getAccesses(context, Walk::Dimension, 1, copies, {}));
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
