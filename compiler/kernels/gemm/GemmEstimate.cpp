// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of matmuls, by their units.

#include "compiler/device/gemm_resident_config.h"
#include "compiler/device/gemm_skinny_config.h"
#include "compiler/device/gemm_wgmma_lead_config.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/gemm/GemmEfficiency.h"
#include <cmath>

using namespace fusec;

static Estimate estimateGemv(const Target &target, const GemmSizes &sizes,
                             GemmScheduleAttr schedule) {
  Overlap time(target);
  bool narrowN = schedule.getUnit() == GemmUnit::GemvN;
  double outers = double(narrowN ? sizes.m : sizes.n) * sizes.batch;
  double narrow = narrowN ? sizes.n : sizes.m, k = 0;
  for (int64_t segment : sizes.k)
    k += segment;
  // A warp that goes along K waits for each of its steps.
  time.exposeClocks(memoryLatency);
  if (sizes.wideAlongK)
    time.exposeClocks(std::ceil(k * sizes.element / 512) * memoryLatency / 2);
  // Measured: 0.8 of the memory's rate along K, a fifth across.
  time.add(TimeBound::Memory, sizes.bytes / (target.rates.memory * 1e3 *
                                             (sizes.wideAlongK ? 0.8 : 0.2)));
  double warps = schedule.getDivideM() / 32;
  // Along K a warp takes one outer index, its lanes 16 bytes each; across, 64
  // outer indices a block and the warps split K.
  double steps =
      sizes.wideAlongK
          ? std::ceil(k * sizes.element / 512) *
                std::ceil(outers / (target.multiprocessors * 64.0))
          : std::ceil(k / (warps * 4)) *
                std::ceil(outers / 64 / (target.multiprocessors * 2.0));
  time.addClocks(TimeBound::Latency, steps * memoryLatency / 2);
  // Instructions a weight: fitted to 1 to 8 rows of weights of 8 to 134 MB.
  time.addClocks(TimeBound::Arithmetic,
                 sizes.wideAlongK
                     ? outers * k * sizes.accumulators * (14 + 6.8 * narrow) /
                           (128 * target.multiprocessors)
                     : 2 * outers * narrow * k * sizes.accumulators /
                           (target.rates.fma * 0.4 * target.multiprocessors));
  return time.get();
}

/// What an epilogue's reductions of rows take that nothing hides: `rounds`
/// tiles one after another, of which a thread has `points`, and the code, which
/// is fetched once; fitted to softmax of 64 columns and LayerNorm of 256.
static void exposeReductions(Overlap &time, const GemmSizes &sizes,
                             double rounds, double points,
                             double codeClocks = 8000) {
  if (sizes.reductions)
    time.exposeClocks(rounds * points * 84 * sizes.reductions + codeClocks);
}

/// Fitted over 1 to 128 rows of weights of 4 to 134 MB: reading them, and the
/// rows of A again for every 64 columns.
static Estimate estimateSkinny(const Target &target, const GemmSizes &sizes,
                               GemmScheduleAttr schedule) {
  Overlap time(target);
  double tokens = schedule.getTileM();
  double rounds = std::ceil(sizes.m / tokens);
  time.add(TimeBound::Memory, sizes.bytes * rounds /
                                  (target.rates.memory * 1e3) *
                                  (1.065 + tokens / 64 * 0.06));
  // A block's ring keeps about 60 bytes a clock on their way.
  double tiles =
      rounds * std::ceil(double(sizes.n) / schedule.getTileN()) * sizes.batch;
  time.addClocks(TimeBound::Latency,
                 sizes.bytes / (tiles * schedule.getClusterM() * 60));
  // A step of a block, alone or beside another one. Fitted to 1 to 128 rows of
  // 4096 x 1024 to 11008.
  if (schedule.splitsFactors()) {
    double steps = 0;
    for (int64_t k : sizes.k)
      steps += std::ceil(k / double(schedule.getTileK()));
    double perUnit = tiles * schedule.getClusterM() / target.multiprocessors;
    double clocks =
        perUnit > 1 ? 260 + 6 * tokens : std::max(490.0, 330 + 8.9 * tokens);
    time.addClocks(TimeBound::Tensor, steps / schedule.getClusterM() *
                                          std::ceil(perUnit) * clocks);
  }
  exposeReductions(time, sizes, 1,
                   tokens * schedule.getTileN() / schedule.getClusterM() / 128,
                   2000);
  // Each block starts, fills its ring and sends its sums to its cluster.
  double beside =
      target.multiprocessors * std::max<int64_t>(schedule.getDivideM(), 1);
  double waves = std::ceil(tiles * schedule.getClusterM() / beside);
  time.expose(1.5 * waves);
  if (schedule.getClusterM() > 1)
    time.exposeClocks(waves * tokens * schedule.getTileN() *
                      sizes.accumulators * 0.6);
  // What one without another beside it hides nothing of.
  if (schedule.getDivideM() <= 1)
    time.expose(2 * (schedule.getClusterM() > 2 ? waves : waves - 1));
  return time.get();
}

/// Fitted over streams of 0.05 to 1.6 GB.
static Estimate estimateResident(const Target &target, const GemmSizes &sizes,
                                 GemmScheduleAttr schedule) {
  Overlap time(target);
  double area = double(residentRows) * schedule.getTileN() * sizes.accumulators;
  double perUnit = std::ceil(std::ceil(double(sizes.m) / residentRows) /
                             schedule.getBlocks());
  time.addClocks(TimeBound::Arithmetic, perUnit * area * 12 / 128);
  time.add(TimeBound::Memory, (sizes.bytes + 0.2 * sizes.written) /
                                  (target.rates.memory * 1e3 * 1.1));
  time.expose(2.6);
  return time.get();
}

/// What wgmma kernels do not hide. `tiles` of the launch with `stepsK` steps
/// each, of which the busiest block has `perBlock`.
static void exposeWgmma(Overlap &time, const GemmSizes &sizes,
                        GemmScheduleAttr schedule, double tiles, double stepsK,
                        double perBlock) {
  double tileM = schedule.getTileM(), tileN = schedule.getTileN(),
         tileK = schedule.getTileK(), accumulators = sizes.accumulators;
  double clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN();
  // A ping-pong hides most of its epilogues and starts and ends later;
  // cooperative consumers end one after another and hide some of all but the
  // last.
  bool pingPong = schedule.getUnit() == GemmUnit::PingPong;
  double stored = tileM * tileN * sizes.element * 0.05;
  time.exposeClocks(stored *
                    (pingPong ? 0.36 * perBlock : 0.65 * (perBlock - 1) + 1));
  // The longer its tiles, the longer the second consumer waits for its first,
  // unless a block has no second tile.
  if (pingPong)
    time.expose(perBlock > 1 ? 0.6 + 0.3 * stepsK * tileK / 1024 * tileN *
                                         accumulators / 128
                             : 0.7);
  if (clusterM * clusterN > 1)
    time.expose(0.5);
  // B of few rows of tiles leaves L2 first, unless blocks share it: then up
  // to 32 MB of it take lines that have to be written back.
  if (clusterM > 1 && sizes.m <= wgmmaStreamedRows * tileM)
    time.expose(2 * std::min(sizes.n * stepsK * tileK * sizes.element *
                                 accumulators / (32 << 20),
                             1.0));
  // Rows of a box outside of A, which only tiles of more rows than A have,
  // are asked of L2 all the same, at one place and at once by all blocks; the
  // first 16 hide. Fitted over 40 to 192 rows of 4096 x 4096 and 12288.
  double outside = std::max(tileM - sizes.m - 16, 0.0),
         together = std::min(tiles, double(schedule.getBlocks()));
  time.exposeClocks(perBlock * stepsK * together * outside * 0.06);
}

Estimate fusec::estimateGemm(const Target &target, const GemmSizes &sizes,
                             GemmScheduleAttr schedule) {
  GemmUnit unit = schedule.getUnit();
  if (unit == GemmUnit::GemvM || unit == GemmUnit::GemvN)
    return estimateGemv(target, sizes, schedule);
  if (schedule.isSkinny())
    return estimateSkinny(target, sizes, schedule);
  if (unit == GemmUnit::Resident)
    return estimateResident(target, sizes, schedule);
  bool isWgmma = schedule.isWgmma();
  double tileM = schedule.getTileM(), tileN = schedule.getTileN(),
         tileK = schedule.getTileK(), accumulators = sizes.accumulators;
  double clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN();
  double tiles = std::ceil(std::ceil(sizes.m / tileM) / clusterM) * clusterM *
                 std::ceil(std::ceil(sizes.n / tileN) / clusterN) * clusterN *
                 sizes.batch;
  double stepsK = 0;
  for (int64_t k : sizes.k)
    stepsK += std::ceil(k / tileK);

  BlockShape block =
      isWgmma
          ? BlockShape{wgmmaThreadsOf(schedule.getTileM()), target.sharedBytes}
          : getTileBlock(schedule, sizes.accumulators, sizes.element);
  double threads = block.threads, shared = block.sharedBytes,
         sums = tileM * tileN * accumulators / threads;
  double registers = isWgmma                    ? 168
                     : unit == GemmUnit::Simt   ? sums + 40
                     : unit == GemmUnit::Tf32x3 ? 2 * sums + 50
                                                : sums + 70;
  double resident = std::max(
      1.0, std::floor(std::min({target.sharedBytes / std::max(shared, 1.0),
                                target.threads / threads,
                                65536 / (registers * threads)})));

  double area = tileM * tileN * accumulators;
  double peak = unit == GemmUnit::Simt ? target.rates.fma : target.rates.tensor;
  if (unit != GemmUnit::Simt && sizes.element == 4)
    peak /= schedule.splitsFactors() ? 6 : 2;
  if (unit == GemmUnit::Simt && sizes.element == 8)
    peak /= target.major == 9 || target.name == "sm_80" ? 2 : 32;
  double math =
      2 * area * tileK * stepsK / (peak * getEfficiency(schedule, sizes));
  // Copies of single elements take more instructions than the products.
  if (unit == GemmUnit::Mma && !sizes.wideCopies)
    math *= 2.3;
  double l2 = (tileM / clusterN + accumulators * tileN / clusterM) * tileK *
              sizes.element * stepsK / target.rates.l2;
  // What a block waits for where nothing else runs beside it.
  double stages = std::max<double>(schedule.getStages(), 2);
  double chain = stepsK * std::max(1.5 * memoryLatency / (stages - 1), 60.0);

  // The busiest multiprocessor's tiles.
  double units = isWgmma ? schedule.getBlocks() : target.multiprocessors;
  double perUnit = std::max(1.0, std::ceil(tiles / units));
  double together = std::min(resident, perUnit);
  // Splits and loads hide only behind other warps; 8 to 512 rows of 4096 x 4096
  // left 4 to 16 of them.
  if (unit == GemmUnit::Tf32x3)
    math *= 1 + 0.24 * std::max(0.0, std::log2(1024 / (together * threads)));
  Overlap time(target);
  time.addClocks(unit == GemmUnit::Simt ? TimeBound::Arithmetic
                                        : TimeBound::Tensor,
                 perUnit * math);
  time.addClocks(TimeBound::L2, perUnit * l2);
  time.addClocks(TimeBound::Latency, std::ceil(perUnit / together) * chain);
  time.add(TimeBound::Memory, sizes.bytes / (target.rates.memory * 1e3 * 0.85));
  // The first loads, and epilogues that nothing hides.
  time.exposeClocks(memoryLatency + l2Latency);
  if (isWgmma) {
    exposeWgmma(time, sizes, schedule, tiles, stepsK, perUnit);
  } else if (unit == GemmUnit::Mma) {
    // Instructions an element, of blocks that share the issue slots.
    time.exposeClocks(perUnit * area / accumulators * 34 / 128);
  } else {
    time.exposeClocks(std::ceil(perUnit / together) * area / threads * 12);
  }
  // The consumers of a ping-pong have tiles of their own.
  bool alone = unit == GemmUnit::PingPong;
  exposeReductions(time, sizes,
                   isWgmma ? std::ceil(perUnit / (alone ? 2 : 1))
                           : std::ceil(perUnit / together),
                   area / accumulators /
                       (alone     ? 128
                        : isWgmma ? threads - 128
                                  : threads));
  return time.get();
}

double fusec::estimateLead(const Target &target, const GemmSizes &sizes,
                           const GemmSizes &lead, GemmScheduleAttr schedule) {
  int tileM = schedule.getTileM(), tileN = schedule.getTileN(),
      cluster = schedule.getClusterM();
  int rows = wgmmaLeadRows(tileM, schedule.getUnit() == GemmUnit::PingPong,
                           schedule.getLead());
  WgmmaLeadOrder order(lead.m, wgmmaTilesM(lead.m, tileM, cluster),
                       tilesOf(sizes.n, tileN), schedule.getBlocks() / cluster,
                       tileM, tileN, cluster, 16 / cluster, rows);
  // A flag has to be seen; clusters with a tile less have the time for more.
  constexpr double flag = 1.5;
  if (order.isFirst)
    return flag;
  // Stages of the ring that the matmul lacks meanwhile; fitted to 512 to 8192
  // rows of 4096 x 1024 to 4096.
  double steps = std::ceil(lead.k[0] / double(schedule.getTileK()));
  double clocks = steps * 275;
  return flag + std::ceil(double(order.units) / order.clusters) * clocks /
                    (target.rates.clock * 1e3);
}
