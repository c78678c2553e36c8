// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/transpose/TransposeProblem.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Elements of all tiles but the smallest, at least.
static constexpr int64_t fullTile = 1536;
/// What stored rows that begin anywhere lose: vectors by what finds their place
/// in each row of the tile, single elements by being many.
static double getStoredRowsLoss(const TransposeCosts &costs, int64_t store) {
  return store > 1
             ? costs.storedVectorsLoss + costs.storedElementLoss * double(store)
             : costs.storedSinglesLoss;
}

/// Points of whole tiles for each that there is.
static double getWaste(Expr size, int64_t extent) {
  double points = getSampledValue(size, typicalDim);
  return points ? std::ceil(points / extent) * extent / points : 1;
}

/// How much more is moved where rows of a tile begin anywhere: the cache has
/// sectors of 32 bytes.
static double getSplitSectors(const TransposeAccesses &accesses, int64_t width,
                              int64_t extent) {
  double most = 0;
  for (TransposeAccess access : accesses.all) {
    double bytes = getElementBytes(access.buffer.getElementType());
    if (width * bytes < 16)
      most = std::max(most, (32 - width * bytes) / (extent * bytes));
  }
  return most;
}

Candidate TransposeProblem::getCandidate(StepOp step, const Target &target,
                                         TransposeScheduleAttr schedule) const {
  const TransposeCosts &costs = target.transpose;
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  auto widest = [](const TransposeAccesses &accesses, int64_t width) {
    int64_t most = 1;
    for (TransposeAccess access : accesses.all)
      most = std::max<int64_t>(
          most, width * getElementBytes(access.buffer.getElementType()));
    return double(most);
  };
  int64_t load = schedule.getLoad(), store = schedule.getStore();
  Expr along = iteration.getSize(iteration.along),
       across = iteration.getSize(iteration.across());
  // Single elements are stored where vectors of rows can be.
  double narrowest = storesByRows
                         ? widest(loads, load)
                         : std::min(widest(loads, load), widest(stores, store));
  Overlap time(target);
  // A tile is loaded, then stored: of rows that begin anywhere one vector of a
  // thread after another, and so many together that wait for what is in no
  // tile.
  int64_t vectors = llvm::divideCeil(schedule.getAlong() * schedule.getAcross(),
                                     store * transposeThreads),
          rounds = storesByRows && store > 1 ? vectors
                   : readsBesideTiles(iteration)
                       ? llvm::divideCeil(vectors, mostAtOnce)
                       : 1;
  time.exposeClocks((1 + rounds) * target.rates.memoryLatency);
  double tiles = getSampledValue(iteration.getBatch(), typicalDim);
  for (auto [size, extent] : {std::pair(along, schedule.getAlong()),
                              std::pair(across, schedule.getAcross())})
    tiles *= std::ceil(double(getSampledValue(size, typicalDim)) / extent);
  time.add(TimeBound::Launch, tiles * target.rates.place);
  // Of rows that begin anywhere neighbours of a tile are loaded with it; a
  // cache has them.
  double split = getSplitSectors(loads, load, schedule.getAlong()) +
                 getSplitSectors(stores, store, schedule.getAcross());
  if (loadsByRows && load > 1)
    split += double(load - 1) / schedule.getAlong() *
             (storesByRows && store == 1 ? costs.neighbourSinglesPart
                                         : costs.neighbourPart);
  if (storesByRows && store > 1)
    split += double(store - 1) / schedule.getAcross() * costs.neighbourPart;
  // Threads without an element leave fewer loads on their way, most where a
  // warp has them.
  double waste =
      std::pow(getWaste(across, schedule.getAcross()), costs.acrossWaste) *
      (load != wholeRowLoad || load == 1
           ? std::pow(getWaste(along, schedule.getAlong()), costs.alongWaste)
           : 1);
  if (load > 1 && schedule.getAlong() * schedule.getAcross() < fullTile)
    waste *= costs.smallTileLoss;
  if (storesByRows)
    waste *= getStoredRowsLoss(costs, store);
  if (loadsByRows && load > 1) {
    double before = storesByRows && store > 1 ? double(store) - 1 : 0,
           turns = double(schedule.getAlong() / load + 1) *
                   (double(schedule.getAcross()) + before) / transposeThreads;
    waste *= std::pow(std::ceil(turns) / turns, costs.alongWaste);
    // In one wave all tiles are loaded, then all are stored.
    double waves = tiles * transposeThreads /
                   (double(target.threads) * target.multiprocessors);
    waste *= 1 + costs.lastPart / std::max(1.0, waves);
  }
  time.add(TimeBound::Memory, (bytes.read + bytes.written) /
                                  getStreamingRate(target, narrowest) * waste *
                                  (1 + split / 2));
  return {schedule, time.get()};
}
