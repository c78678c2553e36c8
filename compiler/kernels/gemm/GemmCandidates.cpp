// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmCandidates.h"
#include "compiler/device/gemm_resident_config.h"
#include "compiler/device/gemm_skinny_config.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/gemm/WgmmaSchedules.h"
#include <numeric>

using namespace mlir;
using namespace fusec;

/// Accumulator registers of tf32x3, whose split factors and sums of a step need
/// as many again: of a thread, and of all threads of a block.
static constexpr int64_t maxTf32x3Accumulators = 64,
                         maxBlockTf32x3Accumulators = 16384;

/// Sides up to which the vector kernels keep all of the narrow operand.
static constexpr int64_t narrowest = 8;

/// Rows up to which the weights' bytes bound a product.
static constexpr int64_t skinnyMaxRows = 128;

GemmCandidates::GemmCandidates(StepOp step, const Target &target,
                               Products products,
                               const MatmulIteration &iteration)
    : step(step), target(target), iteration(iteration),
      context(step.getContext()),
      type(getElementType(ContractionOp(iteration.root).getLhs()[0])),
      element(getElementBytes(type)),
      accumulators(ContractionOp(iteration.root).getNumAccumulators()),
      tensorCores(type.isF16() || type.isBF16() ||
                  (type.isF32() && products == Products::Tf32)),
      mayUseTf32x3(type.isF32() && products == Products::Ieee) {}

bool GemmCandidates::usesTf32x3(const GemmSizes &sizes) const {
  return mayUseTf32x3 && std::accumulate(sizes.k.begin(), sizes.k.end(),
                                         int64_t(0)) >= tf32x3MinK;
}

bool GemmCandidates::holdsRows(GemmScheduleAttr schedule) const {
  if (iteration.reductions.empty())
    return true;
  GemmUnit unit = schedule.getUnit();
  return unit != GemmUnit::Resident && unit != GemmUnit::GemvM &&
         iteration.n.isConstant() && iteration.n.getValue() > 0 &&
         iteration.n.getValue() <= schedule.getTileN();
}

void GemmCandidates::add(GemmScheduleAttr schedule, const GemmSizes &sizes,
                         SmallVectorImpl<Candidate> &to) const {
  if (holdsRows(schedule))
    to.push_back({schedule, estimateGemm(target, sizes, schedule)});
}

bool GemmCandidates::isWideAlongK(bool narrowN) const {
  const MatrixAccess &wide = narrowN ? iteration.lhs[0] : iteration.rhs[0][0];
  return wide.liesAlongK(iteration.k[0]);
}

void GemmCandidates::addGemv(const GemmSizes &sizes,
                             SmallVectorImpl<Candidate> &to) const {
  auto rounded = [](int64_t size) {
    return size <= 1 ? 1 : size <= 2 ? 2 : size <= 4 ? 4 : 8;
  };
  // A kernel's narrow side is at most what it was built for, so that a side
  // that is only named has no such kernel without a guard.
  for (bool narrowN : {true, false}) {
    Expr side = narrowN ? iteration.n : iteration.m;
    if (!side.isConstant() || side.getValue() > narrowest)
      continue;
    GemmSizes own = sizes;
    own.wideAlongK = isWideAlongK(narrowN);
    int64_t width = rounded(side.getValue());
    add(GemmScheduleAttr::get(
            context, narrowN ? GemmUnit::GemvN : GemmUnit::GemvM,
            narrowN ? 0 : width, narrowN ? width : 0, 0, 128, 0, 0),
        own, to);
  }
}

static int64_t getThreadAccumulators(GemmUnit unit, const GemmTile &tile) {
  return unit != GemmUnit::Simt
             ? tile.m * tile.n / (32 * tile.divideM * tile.divideN)
             : tile.divideM * tile.divideN;
}

void GemmCandidates::addTiles(const GemmSizes &sizes, bool aligned,
                              SmallVectorImpl<Candidate> &to) const {
  auto addBoth = [&](GemmUnit unit, ArrayRef<GemmTile> rowTiles,
                     ArrayRef<GemmTile> tiles) {
    addTiles(unit, tiles, sizes, aligned, to);
    if (!iteration.reductions.empty())
      addTiles(unit, rowTiles, sizes, aligned, to);
  };
  if (usesTf32x3(sizes))
    addBoth(GemmUnit::Tf32x3, tf32x3RowTiles, tf32x3Tiles);
  if (!tensorCores)
    addBoth(GemmUnit::Simt, simtRowTiles, simtTiles);
  else if (element == 4)
    addBoth(GemmUnit::Mma, mmaRowTiles32, mmaTiles32);
  else
    addBoth(GemmUnit::Mma, mmaRowTiles, mmaTiles);
}

void GemmCandidates::addTiles(GemmUnit unit, ArrayRef<GemmTile> tiles,
                              const GemmSizes &sizes, bool aligned,
                              SmallVectorImpl<Candidate> &to) const {
  // Of an accumulator.
  int64_t bytes = std::max<int64_t>(element, 4);
  for (const GemmTile &tile : tiles) {
    auto schedule =
        GemmScheduleAttr::get(context, unit, tile.m, tile.n, tile.k,
                              tile.divideM, tile.divideN, tile.stages);
    int64_t shared = getTileBlock(schedule, accumulators, element).sharedBytes;
    int64_t registers =
        getThreadAccumulators(unit, tile) * accumulators * (bytes / 4);
    bool fits = shared <= target.sharedBytes &&
                registers <= maxThreadAccumulators &&
                (aligned || tile.anyAlignment || unit == GemmUnit::Simt);
    // Floats whose rows lie along M are read 32 at a time.
    if (unit != GemmUnit::Simt && element == 4 && tile.m < 32)
      fits &= llvm::all_of(iteration.lhs, [](auto &a) { return a.isAlongK(); });
    if (unit == GemmUnit::Tf32x3)
      fits &= registers <= maxTf32x3Accumulators &&
              tile.m * tile.n * accumulators <= maxBlockTf32x3Accumulators;
    // The smallest is there for every target and number of accumulators.
    bool isSmallest = unit != GemmUnit::Tf32x3 && iteration.reductions.empty();
    if (fits || (&tile == &tiles.back() && isSmallest))
      add(schedule, sizes, to);
  }
}

void GemmCandidates::addWgmma(const GemmSizes &sizes,
                              SmallVectorImpl<Candidate> &to) const {
  ArrayRef<WgmmaTiling> tilings(wgmmaTilings);
  if (mayUseTf32x3)
    tilings = wgmmaTf32x3Tilings;
  for (GemmScheduleAttr schedule :
       getWgmmaSchedules(step, iteration, tilings, target, mayUseTf32x3))
    add(schedule, sizes, to);
}

/// Tokens of a tile, which whole tiles of them fit best; all where their number
/// is only named, so that sizes can share a tile.
SmallVector<int> GemmCandidates::getSwappedTokens(int64_t m) const {
  SmallVector<int> result;
  if (!iteration.m.isConstant()) {
    for (int tokens = 64; tokens <= 256; tokens += 16)
      result.push_back(tokens);
    return result;
  }
  for (int64_t tiles = 1; tiles <= wgmmaStreamedRows; ++tiles) {
    int64_t tokens =
        llvm::alignTo(std::max<int64_t>(llvm::divideCeil(m, tiles), 64), 16);
    if (tokens <= 256 && !llvm::is_contained(result, tokens))
      result.push_back(tokens);
  }
  return result;
}

/// The tensor cores' rows come in blocks of 64, their columns in sixteens:
/// where a few tiles cover M, columns fit it better. Tiles of the epilogue then
/// move through tensor maps, or threads would read and write them across their
/// rows.
void GemmCandidates::addSwapped(const GemmSizes &sizes,
                                SmallVectorImpl<Candidate> &to) const {
  if (element != 2 || accumulators != 1 || !iteration.reductions.empty() ||
      sizes.m <= 64)
    return;
  MatmulIteration transposed = swapOperands(iteration);
  if (!mapsTiles(step, transposed))
    return;
  SmallVector<WgmmaTiling> tilings;
  for (int tokens : getSwappedTokens(sizes.m)) {
    tilings.push_back({128, tokens, 0});
    if (tokens >= 112)
      tilings.push_back({192, tokens, 0});
  }
  GemmSizes swapped = sizes;
  std::swap(swapped.m, swapped.n);
  for (GemmScheduleAttr schedule :
       getWgmmaSchedules(step, transposed, tilings, target))
    add(schedule.asSwapped(), swapped, to);
}

void GemmCandidates::addSkinny(const GemmSizes &sizes,
                               SmallVectorImpl<Candidate> &to) const {
  // Sums that reduce rows are not those that FMA would replace.
  if (sizes.m > skinnyMaxRows ||
      (mayUseTf32x3 && !iteration.reductions.empty()) ||
      !llvm::all_of(iteration.lhs, [](auto &a) { return a.isAlongK(); }))
    return;
  // Where their number is only named, tiles for more of them, too, so that
  // sizes can share one.
  int64_t fewest = skinnyTokens(sizes.m),
          most =
              iteration.m.isConstant() ? fewest : skinnyTokens(skinnyMaxRows);
  for (int64_t tokens = fewest; tokens <= most; tokens += 8)
    addSkinny(sizes, tokens, to);
}

void GemmCandidates::addSkinny(const GemmSizes &sizes, int64_t tokens,
                               SmallVectorImpl<Candidate> &to) const {
  bool weightsAlongK =
      llvm::all_of(iteration.rhs, [](auto &b) { return b[0].isAlongK(); });
  // One block of columns a tile, unless rows are reduced, which takes as many
  // as a row has.
  int64_t blocks = iteration.reductions.empty() || sizes.n <= 64 ? 1
                   : sizes.n <= 128                              ? 2
                                                                 : 4;
  int64_t cluster = skinnyCluster(sizes.n, blocks, target.multiprocessors);
  // Two blocks a multiprocessor read weights fastest; many tokens leave room
  // for one, and split factors need the whole ring where there is but one.
  int64_t grid = skinnyGrid(sizes.m, sizes.n, 1, tokens, blocks, cluster);
  bool isSpread = grid <= int64_t(target.multiprocessors);
  int64_t together = tokens >= 48 && (!mayUseTf32x3 || isSpread) ? 1 : 2;
  int64_t stages = skinnyStages(tokens, blocks, cluster, accumulators, together,
                                mayUseTf32x3);
  if (isSkinnyLegal(tokens, blocks, stages, cluster, accumulators,
                    weightsAlongK, element, mayUseTf32x3))
    add(GemmScheduleAttr::get(
            context, mayUseTf32x3 ? GemmUnit::SkinnyTf32x3 : GemmUnit::Skinny,
            tokens, 64 * blocks, wgmmaRowBytes / element, together, 0, stages,
            cluster, 1, 0),
        sizes, to);
}

void GemmCandidates::addResident(const GemmSizes &sizes,
                                 SmallVectorImpl<Candidate> &to) const {
  if (!iteration.n.isConstant() || sizes.batch != 1 || sizes.n > 256 ||
      !llvm::all_of(iteration.k, [](Expr k) { return k.isConstant(); }))
    return;
  auto isUnbatched = [](const MatrixAccess &access) {
    return access.batch.isConstant(0);
  };
  bool weightsAlongK = iteration.rhs[0][0].isAlongK();
  for (auto [lhs, rhs] : llvm::zip_equal(iteration.lhs, iteration.rhs))
    if (!isUnbatched(lhs) || !llvm::all_of(rhs, isUnbatched) ||
        rhs[0].isAlongK() != weightsAlongK)
      return;
  int64_t tileN = residentTileN(sizes.n, weightsAlongK), blocksK = 0,
          staged = 0;
  if (!isResidentLegal(tileN, accumulators, weightsAlongK, element))
    return;
  for (int64_t k : sizes.k)
    blocksK += residentBlocksK(std::min<int64_t>(k, 1 << 20), element);
  // As many as may be mapped.
  for (const TileStore &store : iteration.stores)
    staged += residentStagedBytes(
        tileN, getElementBytes(iteration.epilogue[store.node].type));
  int64_t consumers = residentConsumers(tileN, accumulators);
  int64_t stages = residentStages(tileN, accumulators, consumers, staged,
                                  blocksK, target.sharedBytes);
  if (blocksK == 0 || stages < blocksK)
    return;
  add(GemmScheduleAttr::get(context, GemmUnit::Resident, residentRows, tileN,
                            wgmmaRowBytes / element, consumers, 0, stages, 1, 1,
                            target.multiprocessors),
      sizes, to);
}

SmallVector<Candidate> GemmCandidates::getAt(int64_t dim, bool mapped,
                                             bool aligned) const {
  GemmSizes sizes = getGemmSizes(step, iteration, dim);
  SmallVector<Candidate> candidates;
  addGemv(sizes, candidates);
  if (mapped && usesWgmma(sizes)) {
    addWgmma(sizes, candidates);
    addSwapped(sizes, candidates);
    addSkinny(sizes, candidates);
  }
  if (mapped && tensorCores)
    addResident(sizes, candidates);
  sizes.wideCopies = aligned;
  addTiles(sizes, aligned, candidates);
  return candidates;
}
