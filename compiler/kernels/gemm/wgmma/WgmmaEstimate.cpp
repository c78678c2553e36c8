// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/TiledEstimate.h"
#include "compiler/kernels/gemm/wgmma/WgmmaSchedules.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_lead_config.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fusec;

/// Shared memory gives 128 bytes a clock, and takes them: a step of 64 writes
/// both tiles once, then each block of 64 rows reads its own and all columns.
static double getSwappedEfficiency(const SwappedCosts &costs,
                                   WgmmaScheduleAttr schedule, double columns) {
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
                             WgmmaScheduleAttr schedule, const GemmSizes &sizes,
                             double columns, double k, double waves) {
  bool isPingPong = schedule.getPingPong();
  bool clusters = schedule.getClusterM() * schedule.getClusterN() > 1;
  bool severalB = sizes.accumulators > 1;
  // Of a long K a ping-pong has little to hide.
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

static double getPlainEfficiency(const Costs &costs, WgmmaScheduleAttr schedule,
                                 const GemmSizes &sizes, double columns) {
  const WgmmaCosts &wgmma = costs.wgmma;
  bool isPingPong = schedule.getPingPong();
  int64_t rows = schedule.getTileM();
  double reached = rows == 64   ? getReached(wgmma.reachedBy64Rows, columns)
                   : isPingPong ? getReached(wgmma.reachedPingPong, columns)
                                : getReached(wgmma.reached, columns);
  double k = std::accumulate(sizes.k.begin(), sizes.k.end(), int64_t(0));
  // In tf32 the widest tiles reach more, of a long K.
  if (sizes.element == 4)
    return columns >= 256 && rows == 128 && k >= wgmma.tf32WideK
               ? wgmma.tf32WidePart
               : reached * wgmma.tf32Part;
  double waves = std::ceil(sizes.m / double(rows)) *
                 std::ceil(sizes.n / double(schedule.getTileN())) *
                 sizes.batch * schedule.getClusterK() / schedule.getBlocks();
  // So they do in 16 bits, where blocks have one tile of a long K.
  if (columns >= 256 && rows == 128 && sizes.accumulators == 1 &&
      k >= wgmma.wideLongK && waves <= 1)
    return wgmma.wideLongPart;
  // A consumer that has the only tile of its block takes turns with nobody.
  if (isPingPong && rows == 128 && sizes.accumulators == 1 && waves <= 1)
    reached *= wgmma.alonePart;
  return reached *
         getLongRunPart(costs.longRun, schedule, sizes, columns, k, waves);
}

/// The part of the tensor cores' peak that the inner loop of a tile reaches.
static double getEfficiency(const Costs &costs, WgmmaScheduleAttr schedule,
                            const GemmSizes &sizes) {
  double columns = double(schedule.getTileN()) * sizes.accumulators;
  if (schedule.getSwapped())
    return getSwappedEfficiency(costs.swapped, schedule, columns);
  if (schedule.getTf32x3())
    return getReached(costs.wgmma.reachedTf32x3, columns);
  return getPlainEfficiency(costs, schedule, sizes, columns);
}

/// What wgmma kernels do not hide.
static void exposeWgmma(Overlap &time, const WgmmaCosts &costs,
                        WgmmaScheduleAttr schedule, const TileRun &run) {
  const GemmSizes &sizes = run.sizes;
  double stepsK = run.stepsK, perBlock = run.perUnit;
  double tileM = schedule.getTileM(), tileN = schedule.getTileN(),
         tileK = schedule.getTileK(), accumulators = sizes.accumulators;
  double clusterM = schedule.getClusterM();
  // A ping-pong hides most of its epilogues and starts and ends later;
  // cooperative consumers end one after another and hide some of all but the
  // last.
  bool pingPong = schedule.getPingPong();
  double stored = tileM * tileN / schedule.getClusterK() * sizes.element *
                  costs.storedByteClocks;
  time.exposeClocks(stored *
                    (pingPong ? costs.storedPingPong * perBlock
                              : costs.storedCooperative * (perBlock - 1) + 1));
  // The longer its tiles, the longer the second consumer waits for its first,
  // unless a block has no second tile.
  if (pingPong)
    time.expose(perBlock > 1 ? costs.pingPongMicros +
                                   costs.pingPongMegaMicros * stepsK * tileK /
                                       1024 * tileN * accumulators / 128
                             : costs.pingPongAloneMicros);
  if (schedule.getCluster() > 1)
    time.expose(costs.clusterMicros);
  if (schedule.getClusterK() > 1)
    time.expose(costs.meetingMicros);
  // B of few rows of tiles leaves L2 first, unless blocks share it: then up
  // to so many bytes of it take lines that have to be written back.
  if (clusterM > 1 && sizes.m <= wgmmaStreamedRows * tileM)
    time.expose(costs.writtenBackMicros *
                std::min(sizes.n * stepsK * tileK * sizes.element *
                             accumulators / costs.writtenBackBytes,
                         1.0));
  // Rows of a box outside of A, which only tiles of more rows than A have,
  // are asked of L2 all the same, at one place and at once by all blocks; the
  // first of them hide.
  double outside = std::max(tileM - sizes.m - costs.hiddenRows, 0.0),
         together = std::min(run.tiles, double(schedule.getBlocks()));
  time.exposeClocks(perBlock * stepsK * together * outside *
                    costs.outsideClocks);
}

/// How much longer L2 takes where rows of neither matrix begin at lines: the
/// copy engine then asks for two of them a row of a box. With the rows of one
/// at lines nothing is lost.
static double getSpread(const WgmmaCosts &costs, const GemmSizes &sizes) {
  if (sizes.rowAlignment >= 64)
    return 1;
  return sizes.rowAlignment >= 32 ? costs.rowsAt32 : costs.rowsAt16;
}

/// A tile's products while its A is made: one consumer makes what the other one
/// multiplies. Shared memory gives and takes 128 bytes a clock beside them: A
/// is written and read once, B read by each block of 64 rows.
static double addMaking(const GemmSizes::Made &made, const TileRun &run,
                        double products) {
  const MadeCosts &costs = run.target.made;
  double rows = run.kernel.tileM, columns = run.area / rows,
         steps = run.kernel.tileK * run.stepsK;
  double shared =
      steps * (2 * rows * made.bytes + columns * 2 * (1 + rows / 64)) / 128;
  products = std::max(products, costs.sharedPart * shared);
  double making = rows * steps * countInstructions(costs, made) /
                  run.target.rates.issuedThreads;
  return std::max(making, products) +
         costs.exposed * std::min(making, products);
}

Estimate fusec::estimateWgmma(const Target &target, const GemmSizes &sizes,
                              GemmScheduleAttr attribute) {
  auto schedule = llvm::cast<WgmmaScheduleAttr>(attribute);
  bool isPingPong = schedule.getPingPong();
  int64_t threads = wgmmaThreadsOf(schedule.getTileM());
  GemmSizes part = sizes; // what one block of a cluster along K multiplies
  for (int64_t &k : part.k)
    k = llvm::divideCeil(k, schedule.getClusterK());
  TileRun run(target, part,
              {schedule.getTileM(),
               schedule.getTileN(),
               schedule.getTileK(),
               schedule.getStages(),
               schedule.getClusterM(),
               schedule.getClusterN(),
               {threads, target.sharedBytes},
               target.wgmma.registers},
              schedule.getBlocks() / schedule.getClusterK());
  run.spread = getSpread(target.wgmma, sizes);
  double peak = target.rates.tensor;
  if (sizes.element == 4)
    peak /= schedule.getTf32x3() ? 6 : 2;
  double products =
      run.getProductClocks(peak * getEfficiency(target, schedule, part));
  Overlap time = sizes.made ? run.overlap(TimeBound::Tensor,
                                          addMaking(*sizes.made, run, products))
                            : run.overlap(TimeBound::Tensor, products);
  exposeWgmma(time, target.wgmma, schedule, run);
  if (sizes.made)
    time.exposeClocks(target.made.start +
                      (sizes.made->readsAlongK ? target.made.alongK : 0));
  // The consumers of a ping-pong have tiles of their own.
  exposeReductions(
      time, target, sizes, std::ceil(run.perUnit / (isPingPong ? 2 : 1)),
      run.area / sizes.accumulators / double(isPingPong ? 128 : threads - 128),
      target.tile.reductionCodeClocks);
  return time.get();
}

double fusec::estimateLead(const Target &target, const GemmSizes &sizes,
                           const GemmSizes &lead, WgmmaScheduleAttr schedule) {
  int tileM = schedule.getTileM(), tileN = schedule.getTileN(),
      cluster = schedule.getClusterM();
  int rows = wgmmaLeadRows(tileM, schedule.getPingPong(), schedule.getLead());
  WgmmaLeadOrder order(lead.m, wgmmaTilesM(lead.m, tileM, cluster),
                       tilesOf(sizes.n, tileN), schedule.getBlocks() / cluster,
                       tileM, tileN, cluster, schedule.getBand() / cluster,
                       rows);
  // A flag has to be seen; clusters with a tile less have the time for more.
  double flag = target.lead.flagMicros;
  if (order.isFirst)
    return flag;
  // Stages of the ring that the matmul lacks meanwhile.
  double steps = std::ceil(lead.k[0] / double(schedule.getTileK()));
  double clocks = steps * target.lead.stepClocks;
  return flag + std::ceil(double(order.units) / order.clusters) * clocks /
                    (target.rates.clock * 1e3);
}
