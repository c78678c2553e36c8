// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles a block has, in which order, and which stages of them.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_WALK_H
#define FUSEC_KERNELS_GEMM_WGMMA_WALK_H

#include "prelude.h"

#include "gemm_wgmma_tiles.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// The number of a block within its cluster, which lies along the grid. (The
/// register that holds it is not known to be uniform.)
template <class Config> FUSEC_DEVICE int wgmmaRank() {
  return launch::block() % Config::cluster;
}

/// The place of this block's tile when its cluster has the t-th.
template <class Config>
FUSEC_DEVICE WgmmaTile wgmmaPlace(const Shape &shape, int t, int rank) {
  TilePlace tile = wgmmaTileOf(
      t, wgmmaTilesM(shape.m, Config::tileM, Config::clusterM),
      wgmmaTilesM(shape.n, Config::tileN, Config::clusterN), Config::band);
  tile.m = tile.m * Config::clusterM + (Config::clusterM > 1 ? rank : 0);
  tile.n = tile.n * Config::clusterN + (Config::clusterN > 1 ? rank : 0);
  // What else would be computed once for all tiles, and take registers over
  // their matmuls.
  int zero = 0;
  primitive::pin(zero);
  return {tile, wgmmaFirstOf(tile.m, Config::tileM, shape.m + zero),
          wgmmaMovesColumns<Config>(shape.n)
              ? wgmmaFirstOf(tile.n, Config::tileN, shape.n + zero)
              : tile.n * Config::tileN};
}
/// Its first row as the epilogue sees it: a cluster may have tiles too many.
template <class Config>
FUSEC_DEVICE int wgmmaStoredRow(const Shape &shape, WgmmaTile tile) {
  return Config::clusterM == 1 || tile.m * Config::tileM < shape.m ? tile.row
                                                                   : shape.m;
}

/// Tiles of clusters.
template <class Config> FUSEC_DEVICE int wgmmaTiles(const Shape &shape) {
  return wgmmaTilesM(shape.m, Config::tileM, Config::clusterM) *
         wgmmaTilesM(shape.n, Config::tileN, Config::clusterN) * shape.batch;
}

/// The stages of a segment that the block multiplies: all, or its part of them.
struct WgmmaStages {
  int first, count;
};
template <class Config, class Segment, class SegmentType>
FUSEC_DEVICE WgmmaStages wgmmaStagesOf(const SegmentType &segment, int rank) {
  if constexpr (Config::clusterK == 1) {
    return {0, Segment::tiles(segment)};
  } else {
    KRange part =
        rangeOf(segment.k, Config::tileK, Split{rank, Config::clusterK});
    return {part.first / Config::tileK,
            tilesOf(part.last - part.first, Config::tileK)};
  }
}
template <class Config, class Segment, class SegmentType>
FUSEC_DEVICE int wgmmaCountOf(const SegmentType &segment) {
  return wgmmaStagesOf<Config, Segment>(segment, wgmmaRank<Config>()).count;
}

/// Calls body(tile, rank, index) for each tile of this block, by the order of
/// its cluster; one where K is split. If `Always`, a block without any has one
/// turn all the same, which is told by a tile.batch that the shape does not
/// have.
template <class Config, bool Always, class Body>
FUSEC_DEVICE void forEachWgmmaTile(const Shape &shape, Body body) {
  int rank = wgmmaRank<Config>(), tiles = wgmmaTiles<Config>(shape);
  int t = launch::block() / Config::cluster, index = 0;
  if constexpr (Config::clusterK > 1) {
    if (t < tiles)
      body(wgmmaPlace<Config>(shape, t, rank), rank, index);
  } else {
    for (; t < tiles || (Always && index == 0);
         t += launch::blocks() / Config::cluster)
      body(wgmmaPlace<Config>(shape, t, rank), rank, index++);
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_WALK_H
