// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmUnits.h"

using namespace mlir;
using namespace fusec;

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

MatrixCopies fusec::chooseCopies(const UnitStep &at, Expr k) {
  GemmScheduleAttr schedule = at.schedule;
  MatrixCopies copies;
  auto &[a, b] = copies;
  a.rounds = b.rounds = !schedule.splitsFactors();
  // Blocks of a cluster along one axis share the load of the other matrix;
  // those of skinny tiles split K.
  bool sharesLoads = !schedule.isSkinny();
  if (schedule.usesTensorMaps()) {
    a.tile = schedule.getTileM() / (sharesLoads ? schedule.getClusterN() : 1);
    b.tile = schedule.getTileN() / (sharesLoads ? schedule.getClusterM() : 1);
  }
  if (schedule.getUnit() == GemmUnit::Resident)
    a.promotion = getResidentPromotion(at.iteration);
  if (!schedule.isWgmma())
    return copies;
  if (k.isConstant())
    a.kBytes = b.kBytes = wgmmaKBytes(k.getValue() * at.element);
  b.promotion = getRowPromotion(k, at.element);
  return copies;
}
