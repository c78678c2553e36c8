// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of K of a product of pairs, x_i x_j for i >= j, and how its folded
// weights lie in memory: what the compiler packs and the kernels read.

#ifndef FUSEC_DEVICE_PAIRS_CONFIG_H
#define FUSEC_DEVICE_PAIRS_CONFIG_H

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// K goes by squares of 16 i by 16 j, those at or under the diagonal, row by
/// row; within a square j is the slower one. Under the diagonal a weight is the
/// sum of those of (i, j) and (j, i); squares of the diagonal have both.
constexpr int pairBlock = 16;
constexpr int pairSquare = pairBlock * pairBlock;
/// Weights lie in slices of so many k: 128 bytes a column, all columns of a
/// slice together, so that a tile's columns are copied at once.
constexpr int pairSlice = 64;
constexpr int pairSlices = pairSquare / pairSlice;

constexpr FUSEC_DEVICE int pairBlocks(int features) {
  return (features + pairBlock - 1) / pairBlock;
}
constexpr FUSEC_DEVICE int pairSquares(int features) {
  return pairBlocks(features) * (pairBlocks(features) + 1) / 2;
}
constexpr FUSEC_DEVICE int pairDepth(int features) {
  return pairSquares(features) * pairSquare;
}
/// Whether K and columns can be counted with 32 bits, and there is a sum.
constexpr FUSEC_DEVICE bool isPairCountable(long long features,
                                            long long columns) {
  return features > 0 && features <= 1 << 15 && columns > 0 &&
         columns <= 1 << 24;
}
/// Columns that the weights have memory for: the swizzle permutes eight.
constexpr FUSEC_DEVICE int pairColumns(int columns) {
  return (columns + 7) / 8 * 8;
}

/// A square's blocks of features, or a k's features.
struct PairPlace {
  int i, j;

  FUSEC_DEVICE void advance() {
    if (++j > i) {
      ++i;
      j = 0;
    }
  }
};
constexpr FUSEC_DEVICE PairPlace pairOfSquare(int square) {
  int i = 0;
  for (; square > i; ++i)
    square -= i + 1;
  return PairPlace{i, square};
}
/// The features that k multiplies.
constexpr FUSEC_DEVICE PairPlace pairOf(int k) {
  PairPlace square = pairOfSquare(k / pairSquare);
  return PairPlace{square.i * pairBlock + k % pairBlock,
                   square.j * pairBlock + k % pairSquare / pairBlock};
}

/// Where the weight of (k, column) lies, in elements of 16 bits. Eight columns
/// of a slice are an atom of the 128-byte swizzle that wgmma and ldmatrix read.
constexpr FUSEC_DEVICE long long pairOffset(int k, int column, int columns) {
  int inSlice = k % pairSlice;
  return (static_cast<long long>(k / pairSlice) * pairColumns(columns) +
          column) *
             pairSlice +
         ((inSlice / 8) ^ (column % 8)) * 8 + inSlice % 8;
}

/// The same of weights in fp32, which FMA multiplies: column beside column.
constexpr FUSEC_DEVICE long long pairPlainOffset(int k, int column,
                                                 int columns) {
  return static_cast<long long>(k) * pairColumns(columns) + column;
}

/// K is divided into parts of whole squares, each summed apart.
constexpr FUSEC_DEVICE int firstPairSquare(int part, int parts, int features) {
  return int(static_cast<long long>(part) * pairSquares(features) / parts);
}

/// Of the kernel by wgmma: 128 rows a block, a ring of stages of 32 KiB.
constexpr int pairTileM = 128;
constexpr int pairStageBytes = 32768;
constexpr FUSEC_DEVICE int pairStageSlices(int tileN) {
  return tileN >= 256 ? 1 : tileN >= 128 ? 2 : 4;
}
constexpr FUSEC_DEVICE int pairStage(int tileN) {
  return pairStageSlices(tileN) * tileN * pairSlice * 2;
}
constexpr FUSEC_DEVICE int pairSharedBytes(int tileN, int stages) {
  return stages * (pairStage(tileN) + 16);
}
constexpr int pairThreads = 384;

/// Of the kernel by mma.sync: 128 x 64 a block of four warps, a slice a stage.
constexpr int pairMmaThreads = 128;
constexpr int pairMmaTileN = 64;
constexpr int pairMmaStages = 4;
constexpr int pairMmaSharedBytes = pairMmaStages * pairMmaTileN * pairSlice * 2;

/// Of the kernel by FMA: 128 x 128 a block, 8 x 8 a thread.
constexpr int pairFmaThreads = 256;
constexpr int pairFmaTileN = 128;

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_DEVICE_PAIRS_CONFIG_H
