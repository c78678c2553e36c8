// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/MappedMatrix.h"
#include "compiler/device/gemm_wgmma_config.h"
#include "compiler/schedule/Schedules.h"

using namespace mlir;
using namespace fusec;

namespace {
struct Tile {
  int64_t m, n, k, divideM, divideN, stages;
};
} // namespace

// Largest first; one that leaves multiprocessors idle gives way to the next.
static const Tile mmaTiles[] = {{128, 128, 64, 2, 4, 3},
                                {128, 64, 64, 4, 2, 3},
                                {64, 64, 64, 2, 2, 4},
                                {32, 32, 64, 2, 2, 4}};
static const Tile mmaTiles32[] =
    { // tf32: half as many elements a row of shared memory
        {128, 128, 32, 2, 4, 3},
        {128, 64, 32, 4, 2, 3},
        {64, 64, 32, 2, 2, 4},
        {32, 32, 32, 2, 2, 4}};
static const Tile simtTiles[] = {
    {128, 64, 16, 8, 4, 2}, {64, 64, 16, 4, 4, 2}, {32, 32, 16, 2, 2, 2}};

static int64_t sharedBytes(GemmUnit unit, const Tile &tile,
                           int64_t accumulators, int64_t bytes) {
  if (unit == GemmUnit::Mma)
    return mmaSharedBytes(tile.m, tile.n, tile.k, tile.divideM, tile.divideN,
                          tile.stages, accumulators, bytes);
  return simtSharedBytes(tile.m, tile.n, tile.k, accumulators, bytes);
}

// Of wgmma: rows, columns of one accumulator, blocks of a cluster along M.
// Clusters first: they load B once for both of their blocks.
static const struct WgmmaTile {
  int64_t m, n, cluster;
} wgmmaTiles[] = {{128, 256, 2}, {128, 128, 2}, {128, 128, 1}, {128, 64, 1}};

/// Below these a 128-row tile with its pipeline is mostly padding.
static constexpr int64_t wgmmaMinM = 64, wgmmaMinN = 64, wgmmaMinK = 64;

/// Stages that hide the latency of a load; more help nothing.
static constexpr int64_t wgmmaMaxStages = 8;

/// The schedule by wgmma and the conditions on sizes that it adds, or null
/// where the root does not suit it.
static Attribute chooseWgmma(const MatmulIteration &iteration, StepOp step,
                             const Target &target, Type type,
                             SmallVectorImpl<GuardAttr> &guards) {
  MLIRContext *context = step.getContext();
  int64_t accumulators = iteration.root->getNumResults();
  int64_t bytes = getElementBytes(type);
  int64_t m = getTypicalValue(iteration.m), n = getTypicalValue(iteration.n);
  int64_t batch =
      getTypicalValue(getElementCount(iteration.batchSizes, context));
  int64_t k = 0;
  for (Expr size : iteration.k)
    k += std::min(getTypicalValue(size), int64_t(1) << 31);
  if (target.name != "sm_90a" || accumulators > wgmmaMaxAccumulators ||
      m < wgmmaMinM || n < wgmmaMinN || k < wgmmaMinK)
    return nullptr;

  auto addMatrix = [&](const MatrixAccess &access) {
    auto mapped = analyzeMapped(access, iteration.batchSizes);
    return succeeded(mapped) && (mapped->alongK || bytes == 2) &&
           succeeded(addMapGuards(*mapped, getInputBuffer(step, access.value),
                                  guards));
  };
  SmallVector<BufferOp> users;
  for (auto [lhs, rhs] : llvm::zip_equal(iteration.lhs, iteration.rhs)) {
    if (!addMatrix(lhs) || !llvm::all_of(rhs, addMatrix))
      return nullptr;
    users.push_back(getInputBuffer(step, lhs.value));
    for (const MatrixAccess &access : rhs)
      users.push_back(getInputBuffer(step, access.value));
  }
  llvm::append_range(guards, getAlignmentGuards(users));

  const WgmmaTile *chosen = nullptr;
  int64_t stages = 0;
  for (const WgmmaTile &tile : wgmmaTiles) {
    if (accumulators * tile.n > 256)
      continue; // registers of a consumer
    bool isLast = &tile == std::end(wgmmaTiles) - 1;
    if (!isLast && (tile.m * tile.cluster >= 2 * m || tile.n >= 2 * n))
      continue; // more than half of it would be padding
    int64_t fit = wgmmaMaxStages;
    while (wgmmaSharedBytes(tile.m, tile.n, fit, accumulators) >
           int64_t(target.sharedBytes))
      --fit;
    chosen = &tile;
    stages = fit;
    int64_t blocks = tilesOf(m, tile.m) * int64_t(tilesOf(n, tile.n)) * batch;
    if (blocks >= target.multiprocessors)
      break;
  }
  int64_t grid = target.multiprocessors / chosen->cluster * chosen->cluster;
  return GemmScheduleAttr::get(context, GemmUnit::Wgmma, chosen->m, chosen->n,
                               wgmmaRowBytes / bytes, chosen->cluster, grid,
                               stages);
}

/// Accumulator registers a thread may hold without spilling.
static constexpr int64_t maxAccumulators = 128;

static int64_t accumulatorsPerThread(GemmUnit unit, const Tile &tile,
                                     int64_t accumulators) {
  int64_t perThread = unit == GemmUnit::Mma
                          ? tile.m * tile.n / (32 * tile.divideM * tile.divideN)
                          : tile.divideM * tile.divideN;
  return perThread * accumulators;
}

SmallVector<VariantAttr> fusec::chooseGemmVariants(StepOp step,
                                                   const Target &target,
                                                   Precision precision) {
  MLIRContext *context = step.getContext();
  Block &block = step.getBody().front();
  auto iteration = analyzeMatmul(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](Value v) { return getStrides(getInputBuffer(step, v)); },
      [&](unsigned i) { return getStrides(getOutputBuffer(step, i)); });
  if (failed(iteration))
    return {
        VariantAttr::get(context, {}, getPlainSchedule(Family::Gemm, context))};

  ContractionOp root = iteration->root;
  Type type = getElementType(root.getLhs()[0]);
  int64_t accumulators = root.getNumAccumulators(),
          bytes = getElementBytes(type);
  bool tensorCores = type.isF16() || type.isBF16() ||
                     (type.isF32() && precision == Precision::Tf32);
  int64_t m = getTypicalValue(iteration->m), n = getTypicalValue(iteration->n);
  int64_t batch =
      getTypicalValue(getElementCount(iteration->batchSizes, context));

  Attribute schedule;
  auto narrow = [](int64_t size) {
    return size <= 1 ? 1 : size <= 2 ? 2 : size <= 4 ? 4 : 8;
  };
  if (n <= 8 && iteration->n.isConstant()) {
    schedule = GemmScheduleAttr::get(context, GemmUnit::GemvN, 0, narrow(n), 0,
                                     128, 0, 0);
  } else if (m <= 8 && iteration->m.isConstant()) {
    schedule = GemmScheduleAttr::get(context, GemmUnit::GemvM, narrow(m), 0, 0,
                                     128, 0, 0);
  } else {
    GemmUnit unit = tensorCores ? GemmUnit::Mma : GemmUnit::Simt;
    ArrayRef<Tile> tiles = !tensorCores ? ArrayRef<Tile>(simtTiles)
                           : bytes == 4 ? ArrayRef<Tile>(mmaTiles32)
                                        : ArrayRef<Tile>(mmaTiles);
    int64_t accumulatorBytes = tensorCores                          ? bytes
                               : type.isF64() || type.isInteger(64) ? 8
                                                                    : 4;
    const Tile *chosen = &tiles.back();
    for (const Tile &tile : tiles) {
      if (&tile != &tiles.back() && (tile.m >= 2 * m || tile.n >= 2 * n))
        continue; // more than half of it would be padding
      if (sharedBytes(unit, tile, accumulators, accumulatorBytes) >
              target.sharedBytes ||
          accumulatorsPerThread(unit, tile, accumulators) > maxAccumulators)
        continue;
      int64_t blocks = tilesOf(m, tile.m) * tilesOf(n, tile.n) * batch;
      if (blocks >= target.multiprocessors) {
        chosen = &tile;
        break;
      }
    }
    schedule =
        GemmScheduleAttr::get(context, unit, chosen->m, chosen->n, chosen->k,
                              chosen->divideM, chosen->divideN, chosen->stages);
  }

  // Wide copies need aligned addresses, of those matrices whose strides allow
  // them; the emitter picks the width from what the guards promise.
  SmallVector<BufferOp> matrices;
  auto addWide = [&](BufferOp buffer, ArrayRef<Expr> strides) {
    int64_t bytes = getElementBytes(
        cast<RankedTensorType>(buffer.getType()).getElementType());
    int64_t aligned = 16;
    for (Expr stride : strides)
      for (Expr term : getTerms(stride))
        if (int64_t step = splitCoefficient(term).first * bytes; step != bytes)
          aligned = std::min(aligned, step & -step);
    if (aligned > bytes)
      matrices.push_back(buffer);
  };
  for (const MatrixAccess &a : iteration->lhs)
    addWide(getInputBuffer(step, a.value), {a.outerStride, a.kStride, a.batch});
  for (auto &segment : iteration->rhs)
    for (const MatrixAccess &b : segment)
      addWide(getInputBuffer(step, b.value),
              {b.outerStride, b.kStride, b.batch});
  for (const TileOperand &o : iteration->operands)
    addWide(getInputBuffer(step, o.value),
            {o.access.rowStride, o.access.columnStride, o.access.batch});
  for (const TileStore &o : iteration->stores)
    addWide(getOutputBuffer(step, o.output),
            {o.access.rowStride, o.access.columnStride, o.access.batch});
  SmallVector<GuardAttr> guards = getAlignmentGuards(matrices);
  SmallVector<VariantAttr> variants;
  SmallVector<GuardAttr> mapGuards;
  if (Attribute wgmma =
          tensorCores ? chooseWgmma(*iteration, step, target, type, mapGuards)
                      : nullptr) {
    for (GuardAttr guard : guards)
      if (!llvm::is_contained(mapGuards, guard))
        mapGuards.push_back(guard);
    variants.push_back(VariantAttr::get(context, mapGuards, wgmma));
    if (mapGuards.empty())
      return variants;
    // Under equal guards the next variant would never run.
    if (mapGuards.size() == guards.size())
      guards.clear();
  }
  if (!guards.empty())
    variants.push_back(VariantAttr::get(context, guards, schedule));
  variants.push_back(VariantAttr::get(context, {}, schedule));
  return variants;
}
