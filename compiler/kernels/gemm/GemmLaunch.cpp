// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of matmuls, by their units.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/EpilogueMaps.h"
#include "compiler/device/gemm_resident_config.h"
#include "compiler/device/gemm_skinny_config.h"
#include "compiler/kernels/gemm/Gemm.h"

using namespace mlir;
using namespace fusec;

BlockShape fusec::getTileBlock(GemmScheduleAttr schedule, int64_t accumulators,
                               int64_t element) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN(),
          k = schedule.getTileK(), divideM = schedule.getDivideM(),
          divideN = schedule.getDivideN();
  // Plain FMA widens 16 bits as it stores them in shared memory.
  if (schedule.getUnit() == GemmUnit::Simt)
    return {
        m / divideM * (n / divideN),
        simtSharedBytes(m, n, k, accumulators, std::max<int64_t>(element, 4))};
  return {32 * divideM * divideN,
          mmaSharedBytes(m, n, k, divideM, divideN, schedule.getStages(),
                         accumulators, element)};
}

namespace {
class GemmLauncher {
public:
  GemmLauncher(StepOp step, VariantAttr variant,
               const MatmulIteration &iteration)
      : step(step), variant(variant),
        schedule(cast<GemmScheduleAttr>(variant.getSchedule())),
        iteration(iteration), context(step.getContext()),
        accumulators(ContractionOp(iteration.root).getNumAccumulators()),
        element(getElementBytes(
            getElementType(ContractionOp(iteration.root).getLhs()[0]))) {}

  LaunchAttr get() const;

private:
  Expr number(int64_t value) const { return Expr::constant(context, value); }
  Expr countTiles(int64_t m, int64_t n) const {
    return iteration.m.ceilDiv(number(m)) * iteration.n.ceilDiv(number(n)) *
           getElementCount(iteration.batchSizes, context);
  }
  LaunchAttr getGemv() const;
  LaunchAttr getWgmma() const;
  LaunchAttr getSkinny() const;
  LaunchAttr getResident() const;

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  const MatmulIteration &iteration;
  MLIRContext *context;
  int64_t accumulators, element;
};
} // namespace

LaunchAttr GemmLauncher::getGemv() const {
  bool narrowN = schedule.getUnit() == GemmUnit::GemvN;
  int64_t threads = schedule.getDivideM();
  const MatrixAccess &wide = narrowN ? iteration.lhs[0] : iteration.rhs[0][0];
  bool alongK = wide.liesAlongK(iteration.k[0]);
  Expr outers = narrowN ? iteration.m : iteration.n;
  return LaunchAttr::get(outers.ceilDiv(number(gemvOuters(alongK, threads))) *
                             getElementCount(iteration.batchSizes, context),
                         threads);
}

/// Persistent: no more blocks than the device holds at once, nor than there are
/// tiles, unless those without one lead.
LaunchAttr GemmLauncher::getWgmma() const {
  int64_t clusterM = schedule.getClusterM(), clusterN = schedule.getClusterN(),
          cluster = clusterM * clusterN, tileM = schedule.getTileM(),
          tileN = schedule.getTileN();
  Expr clusters = number(schedule.getBlocks() / cluster);
  Expr withTiles = countTiles(tileM * clusterM, tileN * clusterN);
  clusters = schedule.getLead() ? clusters * Expr::min(withTiles, number(1))
                                : Expr::min(withTiles, clusters);
  EpilogueMaps maps = chooseEpilogueMaps(step, iteration, variant);
  int64_t shared =
      wgmmaSharedBytes(tileM, tileN, schedule.getStages(),
                       wgmmaStored(accumulators, schedule.splitsFactors()),
                       !maps.operands.empty());
  // Weights are streamed where few tiles of tokens read them.
  auto [tokens, tokenTile, tokenCluster] =
      schedule.getSwapped() ? std::tuple(iteration.n, tileN, clusterN)
                            : std::tuple(iteration.m, tileM, clusterM);
  bool streams =
      tokenCluster == 1 && (!tokens.isConstant() ||
                            tokens.getValue() <= wgmmaStreamedRows * tokenTile);
  auto launch = LaunchAttr::get(clusters * cluster, wgmmaThreadsOf(tileM),
                                shared, cluster)
                    .streaming(streams);
  return schedule.getLead() ? launch.asCooperative() : launch;
}

LaunchAttr GemmLauncher::getSkinny() const {
  int64_t tileM = schedule.getTileM(), tileN = schedule.getTileN(),
          cluster = schedule.getClusterM();
  bool splits = schedule.splitsFactors();
  int64_t shared = skinnySharedBytes(tileM, tileN / 64, schedule.getStages(),
                                     cluster, accumulators, splits);
  return LaunchAttr::get(countTiles(tileM, tileN) * cluster,
                         skinnyThreads(tileM, splits), shared, cluster)
      .withResident(std::max<int64_t>(schedule.getDivideM(), 1));
}

LaunchAttr GemmLauncher::getResident() const {
  int64_t tileN = schedule.getTileN(), consumers = schedule.getDivideM(),
          blocksK = 0, staged = 0;
  for (Expr k : iteration.k)
    blocksK += residentBlocksK(k.getValue(), element);
  EpilogueMaps maps = chooseEpilogueMaps(step, iteration, variant);
  for (auto &[store, tile] : maps.results)
    staged += residentStagedBytes(tileN, wgmmaRowBytes / tile.box.inner);
  return LaunchAttr::get(
      Expr::min(countTiles(residentRows, tileN), number(schedule.getBlocks())),
      128 * (1 + consumers),
      residentSharedBytes(tileN, accumulators, schedule.getStages(), consumers,
                          staged, blocksK));
}

LaunchAttr GemmLauncher::get() const {
  switch (schedule.getUnit()) {
  case GemmUnit::Simt:
  case GemmUnit::Mma:
  case GemmUnit::Tf32x3: {
    BlockShape block = getTileBlock(schedule, accumulators, element);
    return LaunchAttr::get(countTiles(schedule.getTileM(), schedule.getTileN()),
                           block.threads, block.sharedBytes);
  }
  case GemmUnit::GemvM:
  case GemmUnit::GemvN:
    return getGemv();
  case GemmUnit::Wgmma:
  case GemmUnit::PingPong:
  case GemmUnit::WgmmaTf32x3:
    return getWgmma();
  case GemmUnit::Skinny:
  case GemmUnit::SkinnyTf32x3:
    return getSkinny();
  case GemmUnit::Resident:
    return getResident();
  }
  return {};
}

/// Constant weights need not wait for the kernel before.
static bool canPrefetch(StepOp step, const MatmulIteration &iteration,
                        GemmScheduleAttr schedule) {
  if (schedule.getLead() || !(schedule.isWgmma() || schedule.isSkinny()))
    return false;
  auto isWeight = [&](const MatrixAccess &access) {
    return step.getInputBuffer(access.value).getKind() == BufferKind::Weight;
  };
  return llvm::all_of(schedule.getSwapped() ? ArrayRef(iteration.lhs[0])
                                            : ArrayRef(iteration.rhs[0]),
                      isWeight);
}

LaunchAttr fusec::getGemmLaunch(StepOp step, VariantAttr variant) {
  FailureOr<MatmulIteration> iteration = analyzeMatmul(step);
  if (failed(iteration))
    return {};
  auto schedule = cast<GemmScheduleAttr>(variant.getSchedule());
  if (schedule.getSwapped()) {
    if (!canSwapOperands(*iteration))
      return {};
    *iteration = swapOperands(std::move(*iteration));
  }
  LaunchAttr launch = GemmLauncher(step, variant, *iteration).get();
  return launch.starting(/*early=*/false,
                         canPrefetch(step, *iteration, schedule));
}
