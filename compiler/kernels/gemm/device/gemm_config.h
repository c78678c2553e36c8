// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a matmul tile and the formulas of its launch. Plain C++
// arithmetic: generated kernels, the scheduler and the host tests share it.

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

// A kernel names its constants in a struct, its `Tiling`; the config of the
// template it calls adds what follows from them.

/// Register-blocked FMA tiles for every type: tileM, tileN, tileK, threadM,
/// threadN. A block is (tileM / threadM) * (tileN / threadN) threads.
template <class Tiling> struct SimtConfig : Tiling {
  static constexpr int threads =
      (Tiling::tileM / Tiling::threadM) * (Tiling::tileN / Tiling::threadN);
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps");
};

/// Words of padding behind each row of a SIMT tile, against bank conflicts.
constexpr int simtPadding = 4;

/// Dynamic shared memory of gemmSimt: two buffers of A and of J times B.
constexpr FUSEC_DEVICE int simtSharedBytes(int tileM, int tileN, int tileK,
                                           int accumulators,
                                           int accumulatorBytes) {
  return 2 * tileK *
         (tileM + simtPadding + accumulators * (tileN + simtPadding)) *
         accumulatorBytes;
}

/// Tensor-core tiles of mma.sync: tileM, tileN, tileK, warpsM, warpsN, stages.
/// There are warpsM x warpsN warps, each a part of the tile; `tileN` counts the
/// columns of one accumulator.
template <class Tiling> struct MmaConfig : Tiling {
  static constexpr int warpM = Tiling::tileM / Tiling::warpsM,
                       warpN = Tiling::tileN / Tiling::warpsN;
  static constexpr int threads = 32 * Tiling::warpsM * Tiling::warpsN;
  static constexpr bool splitsFactors = false;
  static_assert(warpM % 16 == 0 && warpN % 16 == 0, "whole fragments");
  static_assert(Tiling::stages >= 2, "a stage to read and one to fill");
};

/// The same for fp32 by 3xTF32, see gemm_tf32x3.h.
template <class Tiling> struct Tf32x3Config : MmaConfig<Tiling> {
  static constexpr bool splitsFactors = true;
};

/// K below which 3xTF32 is not as good as FMA: its error of a single product is
/// larger, that of a long sum smaller.
constexpr int tf32x3MinK = 64;

/// Floats of padding behind each staged row of accumulators.
constexpr int stagingPadding = 8;

/// Dynamic shared memory of gemmMma: the ring of stages, which the epilogue
/// reuses to stage 16 rows of accumulators a warp.
constexpr FUSEC_DEVICE int mmaSharedBytes(int tileM, int tileN, int tileK,
                                          int warpsM, int warpsN, int stages,
                                          int accumulators, int elementBytes) {
  int ring = stages * (tileM + accumulators * tileN) * tileK * elementBytes;
  int staging = warpsM * warpsN * accumulators * 16 *
                (tileN / warpsN + stagingPadding) * 4;
  return ring > staging ? ring : staging;
}

/// Vector kernels for one narrow side of at most `small` rows or columns, of
/// blocks of `threads`.
template <class Tiling> struct GemvConfig : Tiling {
  static constexpr int warps = Tiling::threads / 32;
  static_assert(Tiling::threads >= 64 && Tiling::threads % 32 == 0 &&
                    Tiling::small >= 1 && Tiling::small <= 8,
                "a narrow side, and a thread for each outer index of a block");
};

/// Which side of the result is narrow: columns or rows.
enum class Narrow { N, M };

/// Outer indices (of the wide operand: rows of A, columns of B) of one block.
/// `wideAlongK`: the first segment's wide operand is Major::K.
constexpr FUSEC_DEVICE int gemvOuters(bool wideAlongK, int threads) {
  return wideAlongK ? threads / 32 : 64;
}
constexpr FUSEC_DEVICE int gemvBlocks(int outers, int batch, bool wideAlongK,
                                      int threads) {
  return tilesOf(outers, gemvOuters(wideAlongK, threads)) * batch;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_CONFIG_H
