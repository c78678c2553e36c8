// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmEfficiency.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fusec;

namespace {
/// What tiles of at least this size reach.
struct Reached {
  double size, efficiency;
};
} // namespace

/// By the elements of a tile's accumulators.
static constexpr Reached mma[] = {{128 * 256, 0.48},
                                  {128 * 128, 0.37},
                                  {128 * 64, 0.3},
                                  {64 * 64, 0.22},
                                  {0, 0.1}};
static constexpr Reached mmaTf32[] = {{64 * 64, 0.24}, {0, 0.15}};
/// mma.sync reaches 0.6 of sm_90a's peak; of four instructions issued three
/// split and add, which leaves room for that, but little more. Tiles of one
/// size of warp differ in what they copy.
static constexpr Reached tf32x3[] = {{128 * 128, 0.55},
                                     {128 * 64, 0.53},
                                     {64 * 64, 0.47},
                                     {16 * 128, 0.35},
                                     {0, 0.2}};
/// By the elements of a thread: what it loads from shared memory an FMA.
static constexpr Reached simt[] = {
    {64, 0.72}, {32, 0.65}, {16, 0.52}, {0, 0.22}};

/// By the columns of all accumulators, which share what is read of A. Narrow
/// tiles, and single blocks of 64 rows, wait for shared memory. So do
/// cooperative ones of up to 192 columns, a little; the widest, of two
/// accumulators, leave room for three stages.
static constexpr Reached wgmma[] = {{257, 0.8}, {193, 0.83}, {129, 0.817},
                                    {97, 0.81}, {65, 0.766}, {0, 0.57}};
static constexpr Reached pingPong[] = {
    {257, 0.8}, {97, 0.83}, {65, 0.766}, {0, 0.57}};
static constexpr Reached wgmmaOf64Rows[] = {{128, 0.735}, {0, 0.51}};
/// Of a third of the peak in tf32: 1024 to 4096 cubed, 8192 x 1024 x 4096.
static constexpr Reached wgmmaTf32x3[] = {{128, 0.92}, {0, 0.71}};

static double find(llvm::ArrayRef<Reached> table, double size) {
  return llvm::find_if(table, [&](Reached r) { return size >= r.size; })
      ->efficiency;
}

/// Shared memory gives 128 bytes a clock, and takes them: a step of 64 writes
/// both tiles once, then each block of 64 rows reads its own and all columns.
/// Fitted to 67 to 1100 tokens of 4096 x 4096, 4096 x 12288 and 11008 x 4096.
static double getSwappedEfficiency(GemmScheduleAttr schedule, double columns) {
  double rows = schedule.getTileM(), clocks = rows * columns / 32;
  double shared = 2 * rows + columns * (rows / 64 + 1);
  double reached = rows == 192 ? 0.8 : 0.84;
  if (schedule.getStages() < 4)
    reached *= 0.87;
  return std::min(clocks / shared, 0.97) * reached;
}

/// The part that long runs of tiles leave: blocks lose step, and L2 no longer
/// has what another block read, unless clusters share it. `waves`: tiles of a
/// block.
static double getLongRunPart(GemmScheduleAttr schedule, const GemmSizes &sizes,
                             double columns, double k, double waves) {
  bool isPingPong = schedule.getUnit() == GemmUnit::PingPong;
  bool clusters = schedule.getClusterM() * schedule.getClusterN() > 1;
  bool severalB = sizes.accumulators > 1;
  // Of a long K a ping-pong has little to hide (16384 cubed; SwiGLU there).
  bool isLong = k > 8192;
  if (isLong && waves > 8)
    return clusters ? 1 : 0.94;
  if (isLong)
    return isPingPong ? 0.96 : 1;
  // Of shorter ones narrow ping-pongs read most (K = 1024 to 4096, 1 to 41
  // tiles a block).
  if (isPingPong && columns <= 160 && !clusters) {
    double lost = severalB ? 0.055 * std::clamp((waves - 4) / 8, 0.0, 1.0)
                           : 0.09 * std::clamp((waves - 2) / 2, 0.0, 1.0);
    return 1 - lost * std::clamp((k - 1024) / 3072, 0.0, 1.0);
  }
  if (isPingPong && columns <= 160 && !severalB)
    return 0.97;
  if (waves <= 4 || clusters)
    return 1;
  return severalB ? 0.98 : 0.99;
}

static double getWgmmaEfficiency(GemmScheduleAttr schedule,
                                 const GemmSizes &sizes, double columns) {
  bool isPingPong = schedule.getUnit() == GemmUnit::PingPong;
  int64_t rows = schedule.getTileM();
  double reached = rows == 64   ? find(wgmmaOf64Rows, columns)
                   : isPingPong ? find(pingPong, columns)
                                : find(wgmma, columns);
  double k = std::accumulate(sizes.k.begin(), sizes.k.end(), int64_t(0));
  // In tf32 the widest tiles reach 0.92, in the probes of K from 2048 on.
  if (sizes.element == 4)
    return columns >= 256 && rows == 128 && k >= 2048 ? 0.92 : reached * 1.025;
  double waves = std::ceil(sizes.m / double(rows)) *
                 std::ceil(sizes.n / double(schedule.getTileN())) *
                 sizes.batch / schedule.getBlocks();
  // A consumer that has the only tile of its block takes turns with nobody.
  if (isPingPong && rows == 128 && sizes.accumulators == 1 && waves <= 1)
    reached *= 0.97;
  return reached * getLongRunPart(schedule, sizes, columns, k, waves);
}

double fusec::getEfficiency(GemmScheduleAttr schedule, const GemmSizes &sizes) {
  double columns = double(schedule.getTileN()) * sizes.accumulators;
  double area = schedule.getTileM() * columns;
  if (schedule.getSwapped())
    return getSwappedEfficiency(schedule, columns);
  switch (schedule.getUnit()) {
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong:
    return getWgmmaEfficiency(schedule, sizes, columns);
  case GemmUnit::WgmmaTf32x3:
    return find(wgmmaTf32x3, columns);
  case GemmUnit::Mma:
    return find(sizes.element == 4 ? llvm::ArrayRef<Reached>(mmaTf32) : mma,
                area);
  case GemmUnit::Tf32x3:
    return find(tf32x3, area);
  default:
    return find(simt, schedule.getDivideM() * schedule.getDivideN());
  }
}
