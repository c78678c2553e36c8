// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/EpilogueMaps.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/kernels/gemm/resident/device/gemm_resident_config.h"

using namespace mlir;
using namespace fusec;

static int64_t getBytes(BufferOp buffer) {
  return getElementBytes(buffer.getElementType());
}

namespace {
/// An operand or a result that a tensor map can move.
struct Tile {
  size_t index;
  int64_t bytes; // of an element
  bool alongRows;
};
} // namespace

static int64_t sum(ArrayRef<Tile> tiles) {
  int64_t bytes = 0;
  for (const Tile &tile : tiles)
    bytes += tile.bytes;
  return bytes;
}

EpilogueMaps fusec::chooseEpilogueMaps(StepOp step,
                                       const MatmulIteration &iteration,
                                       VariantAttr variant) {
  auto schedule = cast<GemmScheduleAttr>(variant.getSchedule());
  auto analyze = [&](BufferOp buffer, const TileAccess &access) {
    int64_t alignment =
        getOffsetAlignment(getAlignment(buffer, variant), getBytes(buffer),
                           access.getRunOffsets());
    return analyzeMappedTile(access, buffer.getElementType(), iteration.m,
                             iteration.n, iteration.batchSizes, alignment);
  };
  // What rows are reduced for is evaluated in runs of them.
  if (!iteration.reductions.empty())
    return {};
  MLIRContext *context = step.getContext();
  EpilogueMaps maps;
  if (schedule.getUnit() == GemmUnit::Resident) {
    for (auto [i, store] : llvm::enumerate(iteration.stores)) {
      BufferOp buffer = step.getOutputBuffer(store.output);
      auto matrix = analyze(buffer, store.access);
      if (succeeded(matrix) && matrix->alongK)
        maps.results.push_back(
            TileMapAttr::get(context, i, wgmmaRowBytes / getBytes(buffer),
                             residentResultRows, wgmmaRowBytes));
    }
    return maps;
  }
  if (!schedule.isWgmma())
    return {};
  SmallVector<Tile> results, operands;
  for (auto [i, store] : llvm::enumerate(iteration.stores)) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    auto matrix = analyze(buffer, store.access);
    if (failed(matrix))
      return {};
    results.push_back({i, getBytes(buffer), !matrix->alongK});
  }
  for (auto [i, operand] : llvm::enumerate(iteration.operands)) {
    BufferOp buffer = step.getInputBuffer(operand.value);
    auto matrix = analyze(buffer, operand.access);
    if (succeeded(matrix))
      operands.push_back({i, getBytes(buffer), !matrix->alongK});
  }
  int64_t tileN = schedule.getTileN();
  if (!wgmmaResultColumns(tileN, std::max(sum(results), sum(operands))))
    operands.clear();
  int64_t bytes = std::max(sum(results), sum(operands));
  if (!wgmmaResultColumns(tileN, bytes))
    return {};
  auto getMap = [&](const Tile &tile) {
    WgmmaResultBox box =
        wgmmaResultBox(tileN, bytes, tile.bytes, tile.alongRows);
    return TileMapAttr::get(context, tile.index, box.inner, box.outer,
                            box.swizzle);
  };
  maps.results = llvm::map_to_vector(results, getMap);
  maps.operands = llvm::map_to_vector(operands, getMap);
  return maps;
}
