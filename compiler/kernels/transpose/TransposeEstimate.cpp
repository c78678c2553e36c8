// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/transpose/TransposeProblem.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Elements of all tiles but the smallest, at least.
static constexpr int64_t fullTile = 1536;
/// Points of whole tiles for each that there is.
static double getWaste(Expr size, int64_t extent) {
  double points = getSampledValue(size, typicalDim);
  return points ? std::ceil(points / extent) * extent / points : 1;
}

/// What of a neighbour's sectors is loaded L2 has, and what is stored of them
/// is written in parts: of which these shares are moved, as 41 odd shapes say.
static constexpr double splitLoads = 0.25, splitStores = 0.625;
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
  double narrower =
      schedule.getThreads() > transposeThreads ? costs.manyThreadsWidth : 1;
  auto getRate = [&](const TransposeAccesses &accesses, int64_t width) {
    return getStreamingRate(target, widest(accesses, width) * narrower);
  };
  Overlap time(target);
  // A tile is loaded, then stored: so many vectors of a thread together that
  // wait for what is in no tile.
  int64_t vectors = llvm::divideCeil(schedule.getAlong() * schedule.getAcross(),
                                     store * schedule.getThreads()),
          rounds = readsBesideTiles(iteration)
                       ? llvm::divideCeil(vectors, mostAtOnce)
                       : 1;
  double tiles = getSampledValue(iteration.getBatch(), typicalDim);
  for (auto [size, extent] : {std::pair(along, schedule.getAlong()),
                              std::pair(across, schedule.getAcross())})
    tiles *= std::ceil(double(getSampledValue(size, typicalDim)) / extent);
  // Single elements of tiles that do not all run together are waited for once
  // more.
  bool waitsAgain = schedule.getThreads() > transposeThreads && load == 1 &&
                    store == 1 &&
                    tiles > double(target.multiprocessors) * target.threads /
                                double(schedule.getThreads());
  time.exposeClocks((1 + rounds + waitsAgain) * target.rates.memoryLatency);
  time.add(TimeBound::Launch, tiles * target.rates.place);
  double split =
      getSplitSectors(loads, load, schedule.getAlong()) * splitLoads +
      getSplitSectors(stores, store, schedule.getAcross()) * splitStores;
  // Threads without an element leave fewer loads on their way, most where a
  // warp has them.
  double waste =
      std::pow(getWaste(across, schedule.getAcross()), costs.acrossWaste) *
      (load != wholeRowLoad || load == 1
           ? std::pow(getWaste(along, schedule.getAlong()), costs.alongWaste)
           : 1);
  if (load > 1 && schedule.getAlong() * schedule.getAcross() < fullTile)
    waste *= costs.smallTileLoss;
  time.add(TimeBound::Memory, (double(bytes.read) / getRate(loads, load) +
                               double(bytes.written) / getRate(stores, store)) *
                                  waste * (1 + split));
  return {schedule, time.get()};
}
