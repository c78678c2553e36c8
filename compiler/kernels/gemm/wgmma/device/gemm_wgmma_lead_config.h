// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of a product that leads a wgmma matmul, see gemm_wgmma_lead.h, and
// their order among those of the matmul. Plain C++ arithmetic: generated
// kernels, the scheduler, the emitter and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_LEAD_CONFIG_H
#define FUSEC_KERNELS_GEMM_WGMMA_LEAD_CONFIG_H

#include "gemm_wgmma_tiles.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Columns of a leading product, at most; rows that a block computes at once:
/// for many columns as many as the consumers of a cooperative tile, so that B
/// is loaded once for them, for few ones less, so that more blocks have some.
/// Then the steps of its K that a stage holds.
constexpr int wgmmaLeadColumns = 64;
constexpr FUSEC_DEVICE int wgmmaLeadRows(int tileM, bool pingPong,
                                         int columns) {
  return pingPong || columns <= 32 ? 64 : 64 * wgmmaConsumers(tileM);
}
constexpr FUSEC_DEVICE int
wgmmaLeadDepth(int tileM, int tileN, int accumulators, int rows, int columns) {
  // Boxes of 16-bit elements are the widest.
  WgmmaBox box = wgmmaBox(false, columns, 2);
  return wgmmaStageBytes(tileM, tileN, accumulators) /
         ((rows + box.inner * box.count) * wgmmaRowBytes);
}
/// Flags of a leading product: one counts blocks that have ended, each other
/// one what is stored of a group of rows.
constexpr int wgmmaLeadFlags = 64;

/// The order of a leading product's tiles. A unit is one of them for each block
/// of a cluster. Where the clusters with a tile of the matmul less than others
/// have the time, they compute the units before tiles of theirs; otherwise all
/// clusters do, under their tiles. Either way each unit in the wave that is the
/// first to need its group of rows: what both read is read once, others lose
/// none of the memory's rate for what is not needed yet, and nobody waits for a
/// wave to come.
struct WgmmaLeadOrder {
  bool isFirst;
  /// Those that have units, from the `last` on.
  int leading, last;
  /// A group is a few bands of tiles, as many as the flags allow.
  int units, clusters, tiles, groupTiles, groupUnits, unitsOfRow;

  constexpr FUSEC_DEVICE WgmmaLeadOrder(int m, int tilesM, int tilesN,
                                        int launched, int tileM, int tileN,
                                        int cluster, int band, int leadRows)
      : isFirst(false), leading(0), last(launched - 1),
        units(tilesOf(m, leadRows * cluster)), clusters(launched),
        tiles(tilesM * tilesN), groupTiles(0), groupUnits(0),
        unitsOfRow(tileM / leadRows) {
    int rows = tilesOf(tilesOf(tilesM, band), wgmmaLeadFlags - 1) * band;
    groupTiles = rows * tilesN;
    groupUnits = rows * unitsOfRow;
    // 64 rows take about a fourth of the time of a tile of 256 columns.
    int spare = (launched - tiles % launched) % launched;
    isFirst = units * (leadRows / 64) <= spare * (tileN / 64);
    if (clusters > tiles)
      clusters = tiles;
    leading = isFirst ? spare : clusters;
    last = (isFirst ? launched : clusters) - 1;
  }

  /// Units that are done when all clusters have ended their tile of this index.
  constexpr FUSEC_DEVICE int unitsBy(int index) const {
    // Not all clusters have a tile in the last wave.
    if ((index + 2) * clusters > tiles)
      return units;
    int lastTile = (index + 1) * clusters - 1;
    return min((lastTile / groupTiles + 1) * groupUnits, units);
  }
  /// Of a cluster: the first of its units, which are `leading` apart, if that
  /// is from 0 to `leading`; how many it has had by the end of its tile of this
  /// index.
  constexpr FUSEC_DEVICE int firstUnit(int cluster) const {
    return last - cluster;
  }
  constexpr FUSEC_DEVICE int unitsBy(int cluster, int index) const {
    int first = firstUnit(cluster), all = unitsBy(index);
    return first >= 0 && first < leading && first < all
               ? tilesOf(all - first, leading)
               : 0;
  }
  /// The flag of a unit, and that of the last one that a row of tiles reads.
  constexpr FUSEC_DEVICE int flagOf(int unit) const {
    return unit / groupUnits;
  }
  constexpr FUSEC_DEVICE int flagOfRow(int row) const {
    return flagOf(min((row + 1) * unitsOfRow, units) - 1);
  }
  /// Units that a flag counts.
  constexpr FUSEC_DEVICE int counted(int flag) const {
    return min(units - flag * groupUnits, groupUnits);
  }

private:
  static constexpr FUSEC_DEVICE int min(int a, int b) { return a < b ? a : b; }
};

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_WGMMA_LEAD_CONFIG_H
