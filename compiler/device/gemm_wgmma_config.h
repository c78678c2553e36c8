// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a wgmma tile, the boxes of its tensor maps and the layout of
// its shared memory. Plain C++ arithmetic: generated kernels, the scheduler,
// the emitter and the host tests share it.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_CONFIG_H
#define FUSEC_DEVICE_GEMM_WGMMA_CONFIG_H

#include "gemm_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// One row of a swizzle atom: a tile's extent along K, and the widest box of an
/// outer-major matrix, are this many bytes.
constexpr int wgmmaRowBytes = 128;
constexpr int wgmmaConsumers = 2;
constexpr int wgmmaThreads = 128 * (1 + wgmmaConsumers);

/// A producer warpgroup and two consumers, each with half of the rows; `tileN`
/// counts the columns of one accumulator. The blocks of a cluster (1 or 2) have
/// neighbouring tiles along M, and each loads its share of their B for all.
template <int TileM, int TileN, int TileK, int Stages, int Cluster = 1>
struct WgmmaConfig {
  static constexpr int tileM = TileM, tileN = TileN, tileK = TileK;
  static constexpr int stages = Stages, cluster = Cluster;
  static constexpr int blocksM = TileM / wgmmaConsumers / 64;
  static constexpr int threads = wgmmaThreads;
  static_assert(TileM == 128 || TileM == 256, "64 or 128 rows a consumer");
  static_assert(TileN == 64 || TileN == 128 || TileN == 256,
                "a shape of the instruction");
  static_assert(Cluster == 1 || (Cluster == 2 && TileN >= 128),
                "shares of whole boxes");
  static_assert(Stages >= 2, "a stage to read and one to fill");
};

/// Tiles of all blocks of a cluster along M. A grid is any multiple of the
/// cluster, at best as many clusters as there are such tiles or
/// multiprocessors.
constexpr FUSEC_DEVICE int wgmmaTilesM(int m, int tileM, int cluster) {
  return tilesOf(tilesOf(m, tileM), cluster);
}

/// Sizes of the box of a matrix's tensor map, innermost first, for what one
/// block loads of a tile (of B: tileN / cluster). Major::K: a
/// tile in one box. Major::Outer: as many boxes as fill `tile`.
struct WgmmaBox {
  int inner, outer, count;
};
constexpr FUSEC_DEVICE WgmmaBox wgmmaBox(bool alongK, int tile,
                                         int elementBytes) {
  int row = wgmmaRowBytes / elementBytes;
  return alongK ? WgmmaBox{row, tile, 1} : WgmmaBox{row, row, tile / row};
}

constexpr FUSEC_DEVICE int wgmmaStageBytes(int tileM, int tileN,
                                           int accumulators) {
  return (tileM + accumulators * tileN) * wgmmaRowBytes;
}

/// Columns of one accumulator that a warp stages at once for its epilogue: 16
/// rows of all accumulators in 4 KiB.
constexpr FUSEC_DEVICE int wgmmaStagedColumns(int accumulators) {
  return accumulators == 1 ? 64 : accumulators == 2 ? 32 : 16;
}
constexpr int wgmmaStagingBytes = 4096;
constexpr int wgmmaMaxAccumulators = 4;

/// Where the parts of the dynamic shared memory begin: the ring at 0, then the
/// staging of each consumer warp, then the barriers.
constexpr FUSEC_DEVICE int wgmmaStagingOffset(int tileM, int tileN, int stages,
                                              int accumulators) {
  return stages * wgmmaStageBytes(tileM, tileN, accumulators);
}
constexpr FUSEC_DEVICE int wgmmaBarrierOffset(int tileM, int tileN, int stages,
                                              int accumulators) {
  return wgmmaStagingOffset(tileM, tileN, stages, accumulators) +
         4 * wgmmaConsumers * wgmmaStagingBytes;
}
constexpr FUSEC_DEVICE int wgmmaSharedBytes(int tileM, int tileN, int stages,
                                            int accumulators) {
  return wgmmaBarrierOffset(tileM, tileN, stages, accumulators) + 16 * stages;
}

/// Byte offset of four floats in a warp's staging of one accumulator: `unit`
/// counts groups of four columns. The XOR keeps the fragments' stores of 8
/// bytes and the runs' loads of 16 from meeting in a bank.
constexpr FUSEC_DEVICE int wgmmaStagedUnit(int columns, int row, int unit) {
  int flip = columns == 64 ? unit >> 3 & 1 : row & 1;
  int pairs = columns / 8 < 4 ? columns / 8 : 4;
  return (row * (columns / 4) + (unit ^ (row & (pairs - 1)) * 2 ^ flip)) * 16;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_DEVICE_GEMM_WGMMA_CONFIG_H
