// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One schedule a unit, as wide as the columns: the left operand is made anew
// for each tile of columns.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/PairIteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/pairs/Pairs.h"
#include "compiler/kernels/pairs/device/pairs_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

static constexpr int64_t widestTile = 256;

Expr fusec::countPairParts(Expr rows, int64_t features, int64_t columns,
                           int64_t multiprocessors) {
  MLIRContext *context = rows.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr tiles = Expr::max(rows.ceilDiv(number(pairTileM)), number(1)) *
               int64_t(llvm::divideCeil(columns, widestTile));
  Expr parts = number(multiprocessors).floorDiv(tiles);
  return Expr::max(Expr::min(parts, number(pairSquares(features))), number(1));
}

/// The narrowest tile that has all columns, else the widest.
static int64_t getTileN(int64_t columns) {
  for (int64_t tile : {32, 64, 128})
    if (columns <= tile)
      return tile;
  return widestTile;
}

/// As many stages of weights as a block has memory for.
static int64_t getStages(const Target &target, int64_t tileN) {
  int64_t stages = 8;
  while (pairSharedBytes(tileN, stages) > int(target.sharedBytes))
    --stages;
  return stages;
}

/// Whether products and weights are of fp32, which FMA multiplies.
static bool isExact(const PairIteration &iteration) {
  return getElementType(PairProductOp(iteration.root).getWeights()).isF32();
}

static PairScheduleAttr getSchedule(const PairIteration &iteration,
                                    const Target &target, bool whole) {
  MLIRContext *context = PairProductOp(iteration.root).getContext();
  int64_t columns = iteration.columns;
  if (isExact(iteration))
    return PairScheduleAttr::get(context, PairUnit::Fma, pairFmaTileN, 0,
                                 false);
  // Only sm_90a has wgmma.
  if (target.major != 9)
    return PairScheduleAttr::get(context, PairUnit::Mma, pairMmaTileN,
                                 pairMmaStages, whole);
  int64_t tileN = getTileN(columns);
  return PairScheduleAttr::get(context, PairUnit::Wgmma, tileN,
                               getStages(target, tileN), whole);
}

static Estimate estimatePairs(StepOp step, const PairIteration &iteration,
                              const Target &target, PairScheduleAttr schedule,
                              int64_t dim) {
  Overlap time(target);
  StepBytes bytes = getStepBytesAt(step, dim);
  time.add(TimeBound::Memory,
           (bytes.read + bytes.written) /
               (target.rates.memory * 1e3 * target.pairs.memoryPart));
  double tilesM = std::ceil(double(getSampledValue(iteration.rows, dim)) /
                            pairTileM),
         tilesN =
             std::ceil(double(iteration.columns) / double(schedule.getTileN())),
         parts = getSampledValue(iteration.parts, dim);
  // The blocks of a wave take as long as the one with most of K.
  double waves = std::ceil(tilesM * tilesN * parts / target.multiprocessors);
  double depth =
      std::ceil(pairSquares(iteration.features) / parts) * pairSquare;
  double operations = 2.0 * pairTileM * schedule.getTileN() * depth;
  bool isWgmma = schedule.getUnit() == PairUnit::Wgmma;
  if (schedule.getUnit() == PairUnit::Fma)
    time.addClocks(TimeBound::Arithmetic,
                   waves * operations /
                       (target.rates.fma * target.simt.reached[0].part));
  else
    time.addClocks(
        TimeBound::Tensor,
        waves * operations /
            (target.rates.tensor *
             (isWgmma ? target.pairs.reached : target.pairs.reachedMma)));
  time.expose(target.pairs.startMicros);
  return time.get();
}

SmallVector<VariantAttr>
fusec::choosePairVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<PairIteration> iteration = analyzePairs(step);
  if (failed(iteration))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Pairs, context))};
  int64_t bytes = getElementBytes(iteration->x.getElementType());
  // Blocks of features are read by vectors of 16 bytes, but for FMA.
  bool whole = !isExact(*iteration) && iteration->features % pairBlock == 0 &&
               getOffsetAlignment(guardedAlignment, bytes,
                                  {iteration->offset, iteration->stride}) ==
                   guardedAlignment;
  auto variant = [&](ArrayRef<GuardAttr> guards, bool isWhole) {
    auto schedule = getSchedule(*iteration, target, isWhole);
    return makeVariant(context, guards,
                       {{schedule, estimatePairs(step, *iteration, target,
                                                 schedule, typicalDim)}});
  };
  SmallVector<GuardAttr> guards;
  if (whole)
    guards = getAlignmentGuards({iteration->x});
  SmallVector<VariantAttr> variants = {variant(guards, whole)};
  if (!guards.empty())
    variants.push_back(variant({}, false));
  return variants;
}
