// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_lead_config.h"
#include "compiler/kernels/gemm/GemmUnits.h"

using namespace mlir;
using namespace fusec;

/// Bytes that a miss of the L2 cache fetches, at most.
static constexpr int64_t widestPromotion = 256;

/// What a miss fetches of a resident root's rows. Beyond what is asked for it
/// gains 3% where a row of results has two lines or more and costs 3% where it
/// has one, measured on an H200.
static unsigned getResidentPromotion(const MatmulIteration &iteration) {
  int64_t widest = 0;
  for (const TileStore &store : iteration.stores)
    widest = std::max<int64_t>(
        widest, getElementBytes(iteration.epilogue[store.node].type));
  return iteration.n.getValue() * widest > wgmmaRowBytes ? 256 : 128;
}

/// What a miss fetches of B, whose rows along K have so many bytes. Over rows
/// this long blocks drift apart, and what lies beside the asked for has left L2
/// when they come to it: on an H200 2048 x 512 with K = 186,624 takes 3.5%
/// (fp32: 5%) less with 128, 128 x 512 with 131,072 4%; 1024 x 1024 with 32,768
/// takes 4% more.
static unsigned getRowPromotion(Expr k, int64_t elementBytes) {
  constexpr int64_t longRow = 128 << 10;
  return k.isConstant() && k.getValue() * elementBytes >= longRow ? 128 : 256;
}

SmallVector<Attribute> fusec::chooseCopies(const UnitStep &at) {
  GemmScheduleAttr schedule = at.schedule;
  if (!schedule.usesTensorMaps())
    return {};
  SmallVector<Attribute> copies;
  auto add = [&](int64_t tile, int64_t kBytes, bool rounds, int64_t promotion) {
    copies.push_back(CopyAttr::get(at.variant.getContext(), tile, kBytes,
                                   rounds, promotion));
  };
  bool isWgmma = schedule.isWgmma(), rounds = !schedule.splitsFactors();
  // Blocks of a cluster along one axis share the load of the other matrix;
  // those of skinny tiles split K.
  int64_t sharesA = schedule.isSkinny() ? 1 : schedule.getClusterN(),
          sharesB = schedule.isSkinny() ? 1 : schedule.getClusterM();
  for (Expr k : at.iteration.k) {
    int64_t kBytes = isWgmma && k.isConstant()
                         ? wgmmaKBytes(k.getValue() * at.element)
                         : wgmmaRowBytes;
    add(schedule.getTileM() / sharesA, kBytes, rounds,
        schedule.getUnit() == GemmUnit::Resident
            ? getResidentPromotion(at.iteration)
            : widestPromotion);
    add(schedule.getTileN() / sharesB, kBytes, rounds,
        isWgmma ? getRowPromotion(k, at.element) : widestPromotion);
  }
  if (int64_t lead = schedule.getLead()) {
    add(wgmmaLeadRows(schedule.getTileM(),
                      schedule.getUnit() == GemmUnit::PingPong, lead),
        wgmmaRowBytes, /*rounds=*/true, widestPromotion);
    add(lead, wgmmaRowBytes, /*rounds=*/true, widestPromotion);
  }
  return copies;
}
