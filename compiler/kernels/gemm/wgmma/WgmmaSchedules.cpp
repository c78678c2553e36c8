// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/wgmma/WgmmaSchedules.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/MappedMatrix.h"

using namespace mlir;
using namespace fusec;

/// Stages that hide the latency of a load; more help nothing.
static constexpr int64_t maxStages = 8;

/// Whether an operand of the epilogue is a matrix, which is loaded in tiles.
static bool isTile(const TileOperand &operand) {
  return !operand.access.rowStride.isConstant(0) &&
         !operand.access.columnStride.isConstant(0);
}

/// Whether a tile is moved by tensor map where the buffer is aligned.
static bool isMapped(const MatmulIteration &iteration, const TileAccess &access,
                     Type element) {
  int64_t alignment = getOffsetAlignment(
      guardedAlignment, getElementBytes(element), access.getRunOffsets());
  return succeeded(analyzeMappedTile(access, element, iteration.m, iteration.n,
                                     iteration.batchSizes, alignment));
}

static bool mapsResults(StepOp step, const MatmulIteration &iteration) {
  return llvm::all_of(iteration.stores, [&](const TileStore &o) {
    return isMapped(iteration, o.access,
                    step.getOutputBuffer(o.output).getElementType());
  });
}

bool fusec::mapsTiles(StepOp step, const MatmulIteration &iteration) {
  return mapsResults(step, iteration) &&
         llvm::all_of(iteration.operands, [&](const TileOperand &o) {
           return !isTile(o) ||
                  isMapped(iteration, o.access, getElementType(o.value));
         });
}

/// Whether a stage has room for the columns of B. Where they lie along N they
/// are loaded 64 at a time, whole lines: fewer take longer than what they save.
static bool holdsBoxes(const MatmulIteration &iteration, int64_t tileN,
                       int64_t element) {
  if (tileN % 64 == 0)
    return true;
  return llvm::all_of(
      llvm::zip_equal(iteration.rhs, iteration.k), [&](auto segment) {
        auto &[rhs, k] = segment;
        bool isShort = k.isConstant() &&
                       wgmmaKBytes(k.getValue() * element) < wgmmaRowBytes;
        return isShort ||
               llvm::all_of(rhs, [](auto &b) { return b.isAlongK(); });
      });
}

/// Registers of the epilogue's operands: those of 32 bits take two.
static int64_t countOperands(const MatmulIteration &iteration) {
  int64_t operands = 0;
  for (const TileOperand &o : iteration.operands)
    operands += getElementBytes(getElementType(o.value)) > 2 ? 2 : 1;
  return operands;
}

int64_t fusec::getRowBytesA(const MatmulIteration &iteration) {
  if (!iteration.made)
    return wgmmaRowBytes;
  Type multiplied = getElementType(ContractionOp(iteration.root).getLhs()[0]);
  return wgmmaRowBytes *
         getElementBytes(getElementType(iteration.lhs[0].value)) /
         getElementBytes(multiplied);
}

/// Whether A, where it is made, has whole steps of the ring: boxes of a shorter
/// K are narrower.
static bool canMake(const MatmulIteration &iteration) {
  if (!iteration.made)
    return true;
  Expr k = iteration.k[0];
  return !iteration.isRhsMade && k.isConstant() &&
         wgmmaKBytes(k.getValue() * 2) == wgmmaRowBytes;
}

SmallVector<WgmmaScheduleAttr>
fusec::getWgmmaSchedules(StepOp step, const MatmulIteration &iteration,
                         ArrayRef<WgmmaTiling> tilings, const Target &target,
                         bool splitsFactors) {
  ContractionOp root = iteration.root;
  int64_t accumulators = root.getNumAccumulators();
  int64_t element = getElementBytes(getElementType(root.getLhs()[0]));
  int64_t stored = wgmmaStored(accumulators, splitsFactors);
  int64_t operands = countOperands(iteration);
  if (!canMake(iteration))
    return {};
  int64_t rowBytesA = getRowBytesA(iteration);
  bool loads = llvm::any_of(iteration.operands, isTile);
  bool isStaged = !mapsResults(step, iteration);
  auto fits = [&](const WgmmaTiling &tiling) {
    if (!holdsBoxes(iteration, tiling.tileN, element))
      return false;
    // What reduces rows is built for consumers of 64 of them.
    if (!iteration.reductions.empty() &&
        wgmmaBlocksM(tiling.tileM, tiling.schedule) > 1)
      return false;
    // Results without tensor maps are staged before they are evaluated, which
    // takes registers.
    if (isStaged &&
        wgmmaAccumulatorRegisters(tiling.tileM, tiling.tileN, tiling.schedule,
                                  stored) > maxThreadAccumulators)
      return false;
    if (iteration.made)
      return wgmmaMadeFits(tiling, accumulators, operands, target.sharedBytes,
                           loads, rowBytesA);
    return splitsFactors ? wgmmaTf32x3Fits(tiling, accumulators, operands,
                                           target.sharedBytes, loads)
                         : wgmmaFits(tiling, accumulators, operands,
                                     target.sharedBytes, loads);
  };
  SmallVector<WgmmaScheduleAttr> schedules;
  for (WgmmaTiling tiling : tilings) {
    tiling.stages =
        wgmmaStagesIn(target.sharedBytes, tiling.tileM, tiling.tileN, stored,
                      maxStages, loads, rowBytesA);
    if (!fits(tiling))
      continue;
    int64_t cluster = tiling.clusterM * tiling.clusterN * tiling.clusterK;
    int64_t grid = target.multiprocessors / cluster * cluster;
    bool isPingPong = tiling.schedule == WgmmaSchedule::PingPong;
    schedules.push_back(
        WgmmaScheduleAttr::get(step.getContext(), tiling.tileM, tiling.tileN,
                               wgmmaRowBytes / element, tiling.stages,
                               tiling.clusterM, tiling.clusterN, grid,
                               isPingPong, splitsFactors)
            .withClusterK(tiling.clusterK));
  }
  return schedules;
}
