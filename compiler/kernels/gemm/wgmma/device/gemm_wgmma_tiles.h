// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tiles a wgmma matmul is made of, where they begin, and the order in
// which blocks take them. Plain C++ arithmetic: generated kernels, the
// scheduler and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_TILES_H
#define FUSEC_KERNELS_GEMM_WGMMA_TILES_H

#include "gemm_wgmma_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Tiles of all blocks of a cluster along M (or N). A grid is any multiple of
/// the cluster, at best as many clusters as there are such tiles or
/// multiprocessors.
constexpr FUSEC_DEVICE int wgmmaTilesM(int m, int tileM, int cluster) {
  return tilesOf(tilesOf(m, tileM), cluster);
}
/// Blocks that have work; a grid needs no more.
constexpr FUSEC_DEVICE long long wgmmaBlocks(const WgmmaTiling &tiling, int m,
                                             int n, int batch) {
  return (long long)wgmmaTilesM(m, tiling.tileM, tiling.clusterM) *
         wgmmaTilesM(n, tiling.tileN, tiling.clusterN) * batch *
         tiling.clusterM * tiling.clusterN * tiling.clusterK;
}

/// The place of a cluster's tiles, in tiles of a cluster: `band` rows at a
/// time, down before across.
constexpr FUSEC_DEVICE TilePlace wgmmaTileOf(int id, int tilesM, int tilesN,
                                             int band) {
  int perBatch = tilesM * tilesN;
  int inBatch = id % perBatch;
  int first = inBatch / (band * tilesN) * band;
  int rows = tilesM - first < band ? tilesM - first : band;
  int inBand = inBatch - first * tilesN;
  return TilePlace{id / perBatch, first + inBand % rows, inBand / rows};
}

/// A tile, its first row and its first column.
struct WgmmaTile : TilePlace {
  int row, column;
};

/// Where the index-th of the tiles that make up `size` begins: the last, and
/// those that a cluster has too many, early enough to end inside, if there are
/// as many elements as a tile has. The copy engine asks L2 for what lies
/// outside of a matrix, too, and slowly. What two tiles compute they both
/// store, bit by bit the same.
constexpr FUSEC_DEVICE int wgmmaFirstOf(int index, int tile, int size) {
  int first = index * tile, last = size > tile ? size - tile : 0;
  return first < last ? first : last;
}
/// Whether tiles may end inside of so many columns, and all of them do: those
/// that lie along a row are read and written in eights.
template <class Config>
constexpr FUSEC_DEVICE bool wgmmaMovesColumns(int size) {
  return Config::swapped || size % 8 == 0;
}
template <class Config>
constexpr FUSEC_DEVICE bool wgmmaHasWholeTiles(int size) {
  return wgmmaMovesColumns<Config>(size) && size >= Config::tileN;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_WGMMA_TILES_H
