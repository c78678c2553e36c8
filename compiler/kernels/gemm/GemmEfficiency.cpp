// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmEfficiency.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fusec;

static double find(llvm::ArrayRef<Reached> table, double size) {
  return llvm::find_if(table, [&](Reached r) { return size >= r.size; })->part;
}

/// Shared memory gives 128 bytes a clock, and takes them: a step of 64 writes
/// both tiles once, then each block of 64 rows reads its own and all columns.
static double getSwappedEfficiency(const SwappedCosts &costs,
                                   GemmScheduleAttr schedule, double columns) {
  double rows = schedule.getTileM(), clocks = rows * columns / 32;
  double shared = 2 * rows + columns * (rows / 64 + 1);
  double reached = rows == 192 ? costs.reachedBy192 : costs.reached;
  if (schedule.getStages() < costs.stages)
    reached *= costs.fewStages;
  return std::min(clocks / shared, costs.mostPart) * reached;
}

/// The part that long runs of tiles leave: blocks lose step, and L2 no longer
/// has what another block read, unless clusters share it. `waves`: tiles of a
/// block.
static double getLongRunPart(const LongRunCosts &costs,
                             GemmScheduleAttr schedule, const GemmSizes &sizes,
                             double columns, double k, double waves) {
  bool isPingPong = schedule.getUnit() == GemmUnit::PingPong;
  bool clusters = schedule.getClusterM() * schedule.getClusterN() > 1;
  bool severalB = sizes.accumulators > 1;
  // Of a long K a ping-pong has little to hide .
  bool isLong = k > costs.longK;
  if (isLong && waves > costs.longWaves)
    return clusters ? 1 : costs.longPart;
  if (isLong)
    return isPingPong ? costs.longPingPong : 1;
  bool isNarrow = isPingPong && columns <= costs.narrowColumns;
  // Of shorter ones narrow ping-pongs read most.
  if (isNarrow && !clusters) {
    double lost =
        severalB
            ? costs.narrowTwoLost * std::clamp((waves - costs.narrowTwoFrom) /
                                                   costs.narrowTwoOver,
                                               0.0, 1.0)
            : costs.narrowLost *
                  std::clamp((waves - costs.narrowFrom) / costs.narrowOver, 0.0,
                             1.0);
    return 1 - lost * std::clamp((k - costs.narrowFromK) / costs.narrowOverK,
                                 0.0, 1.0);
  }
  if (isNarrow && !severalB)
    return costs.narrowClusters;
  if (waves <= costs.waves || clusters)
    return 1;
  return severalB ? costs.partTwo : costs.part;
}

static double getWgmmaEfficiency(const Costs &costs, GemmScheduleAttr schedule,
                                 const GemmSizes &sizes, double columns) {
  const WgmmaCosts &wgmma = costs.wgmma;
  bool isPingPong = schedule.getUnit() == GemmUnit::PingPong;
  int64_t rows = schedule.getTileM();
  double reached = rows == 64   ? find(wgmma.reachedBy64Rows, columns)
                   : isPingPong ? find(wgmma.reachedPingPong, columns)
                                : find(wgmma.reached, columns);
  double k = std::accumulate(sizes.k.begin(), sizes.k.end(), int64_t(0));
  // In tf32 the widest tiles reach more, of a long K.
  if (sizes.element == 4)
    return columns >= 256 && rows == 128 && k >= wgmma.tf32WideK
               ? wgmma.tf32WidePart
               : reached * wgmma.tf32Part;
  double waves = std::ceil(sizes.m / double(rows)) *
                 std::ceil(sizes.n / double(schedule.getTileN())) *
                 sizes.batch / schedule.getBlocks();
  // A consumer that has the only tile of its block takes turns with nobody.
  if (isPingPong && rows == 128 && sizes.accumulators == 1 && waves <= 1)
    reached *= wgmma.alonePart;
  return reached *
         getLongRunPart(costs.longRun, schedule, sizes, columns, k, waves);
}

double fusec::getEfficiency(const Costs &costs, GemmScheduleAttr schedule,
                            const GemmSizes &sizes) {
  double columns = double(schedule.getTileN()) * sizes.accumulators;
  double area = schedule.getTileM() * columns;
  if (schedule.getSwapped())
    return getSwappedEfficiency(costs.swapped, schedule, columns);
  switch (schedule.getUnit()) {
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong:
    return getWgmmaEfficiency(costs, schedule, sizes, columns);
  case GemmUnit::WgmmaTf32x3:
    return find(costs.wgmma.reachedTf32x3, columns);
  case GemmUnit::Mma:
    return find(sizes.element == 4
                    ? llvm::ArrayRef<Reached>(costs.mma.reachedTf32)
                    : costs.mma.reached,
                area);
  case GemmUnit::Tf32x3:
    return find(costs.tf32x3.reached, area);
  default:
    return find(costs.simt.reached,
                schedule.getDivideM() * schedule.getDivideN());
  }
}
