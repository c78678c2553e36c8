// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the configs of all matmul units share: limits, the order of tiles, parts
// of K. Plain C++ arithmetic: generated kernels, the scheduler and the host
// tests share it.
//
// A kernel names its constants in a struct, its `Tiling`; the config of the
// template it calls adds what follows from them.

#ifndef FUSEC_KERNELS_GEMM_CONFIG_H
#define FUSEC_KERNELS_GEMM_CONFIG_H

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// What m, n, each k and the number of batches are at most: `int`s, to which a
/// tile's rows can be added.
constexpr int mostExtent = 2147483647 - 1024;

/// Tiles of M that are walked together, so that a wave of blocks shares its
/// rows of A and columns of B in L2.
constexpr int tileBand = 8;

struct TilePlace {
  int batch, m, n;
};

constexpr FUSEC_DEVICE int tilesOf(int size, int tile) {
  return size / tile + (size % tile != 0);
}

/// The tile of a block; blocks number tilesM * tilesN * batch.
constexpr FUSEC_DEVICE TilePlace tileOf(int block, int tilesM, int tilesN) {
  int perBatch = tilesM * tilesN;
  int id = block % perBatch;
  int band = id / (tileBand * tilesN);
  int first = band * tileBand;
  int rows = tilesM - first < tileBand ? tilesM - first : tileBand;
  int inBand = id - first * tilesN;
  return TilePlace{block / perBatch, first + inBand % rows, inBand / rows};
}

/// Where K is split over blocks: block `index` of `count`.
struct Split {
  int index, count;
};

/// The part [first, last) of a segment's k that a split contracts, in whole
/// tiles; possibly empty.
struct KRange {
  int first, last;
};
constexpr FUSEC_DEVICE KRange rangeOf(int k, int tileK, Split split) {
  int tiles = tilesOf(k > 0 ? k : 0, tileK);
  int first = int((long long)tiles * split.index / split.count);
  int last = int((long long)tiles * (split.index + 1) / split.count);
  // The last tile may end past k, and past the range of int.
  return KRange{first * tileK, last == tiles ? (k > 0 ? k : 0) : last * tileK};
}
constexpr FUSEC_DEVICE KRange wholeRange(int k) {
  return KRange{0, k > 0 ? k : 0};
}

/// K below which 3xTF32 is not as good as FMA: its error of a single product is
/// larger, that of a long sum smaller.
constexpr int tf32x3MinK = 64;

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_CONFIG_H
