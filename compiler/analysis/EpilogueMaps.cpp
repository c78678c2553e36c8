// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/EpilogueMaps.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/device/gemm_resident_config.h"

using namespace mlir;
using namespace fusec;

static int64_t getBytes(BufferOp buffer) {
  return getElementBytes(buffer.getElementType());
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
  EpilogueMaps maps;
  if (schedule.getUnit() == GemmUnit::Resident) {
    for (const TileStore &store : iteration.stores) {
      BufferOp buffer = step.getOutputBuffer(store.output);
      int row = wgmmaRowBytes / getBytes(buffer);
      auto matrix = analyze(buffer, store.access);
      if (succeeded(matrix) && matrix->alongK)
        maps.results[&store] = {*matrix,
                                {row, residentResultRows, wgmmaRowBytes}};
    }
    return maps;
  }
  if (!schedule.isWgmma())
    return {};
  int64_t results = 0, operands = 0;
  for (const TileStore &store : iteration.stores) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    auto matrix = analyze(buffer, store.access);
    if (failed(matrix))
      return {};
    maps.results[&store].matrix = *matrix;
    results += getBytes(buffer);
  }
  for (const TileOperand &operand : iteration.operands) {
    BufferOp buffer = step.getInputBuffer(operand.value);
    auto matrix = analyze(buffer, operand.access);
    if (failed(matrix))
      continue;
    maps.operands[&operand].matrix = *matrix;
    operands += getBytes(buffer);
  }
  int64_t tileN = schedule.getTileN();
  if (!wgmmaResultColumns(tileN, std::max(results, operands))) {
    maps.operands.clear();
    operands = 0;
  }
  int64_t bytes = std::max(results, operands);
  if (!wgmmaResultColumns(tileN, bytes))
    return {};
  for (auto &[store, tile] : maps.results)
    tile.box = wgmmaResultBox(tileN, bytes,
                              getBytes(step.getOutputBuffer(store->output)),
                              !tile.matrix.alongK);
  for (auto &[operand, tile] : maps.operands)
    tile.box = wgmmaResultBox(tileN, bytes,
                              getBytes(step.getInputBuffer(operand->value)),
                              !tile.matrix.alongK);
  return maps;
}
