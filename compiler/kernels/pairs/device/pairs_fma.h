// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs in fp32, by FMA: each product is rounded to fp32 and
// multiplied by a weight of fp32, as the stored outer product would be. A block
// keeps a square's features of its rows in shared memory; a thread of 8 rows by
// 8 columns makes its products anew for each weight that it reads.

#ifndef FUSEC_DEVICE_PAIRS_FMA_H
#define FUSEC_DEVICE_PAIRS_FMA_H

#include "pairs_operand.h"
#include "scalar.h"

namespace fusec {

namespace detail {

/// What the threads of a block share: the features of a square, feature by
/// feature, and the weights of one j, of this one and the next.
struct alignas(16) PairFmaMemory {
  float i[pairBlock][pairTileM], j[pairBlock][pairTileM],
      weights[2][pairBlock][pairFmaTileN];
};

/// A thread's features of one block of them.
FUSEC_DEVICE void shareFeatures(float (&to)[pairBlock][pairTileM],
                                const float *row, int block, int features) {
  constexpr int each = pairBlock * pairTileM / pairFmaThreads;
  int first = launch::thread() / pairTileM * each;
  FUSEC_UNROLL
  for (int n = 0; n < each; ++n) {
    int feature = block * pairBlock + first + n;
    to[first + n][launch::thread() % pairTileM] =
        feature < features ? row[feature] : 0;
  }
}

/// Copies the weights of a j, 16 bytes a thread at a time; zeros beyond the
/// columns.
FUSEC_DEVICE void copyPairWeights(float (&to)[pairBlock][pairFmaTileN],
                                  const float *weights, int k, int column,
                                  int columns) {
  constexpr int units = pairFmaTileN / 4;
  FUSEC_UNROLL
  for (int unit = launch::thread(); unit < pairBlock * units;
       unit += pairFmaThreads) {
    int inI = unit / units, at = unit % units * 4;
    bool exists = column + at < pairColumns(columns);
    primitive::copyAsync<16>(
        primitive::sharedAddress(
            reinterpret_cast<unsigned char *>(&to[inI][at])),
        weights + pairPlainOffset(k + inI, exists ? column + at : 0, columns),
        exists ? 16 : 0);
  }
  primitive::commitCopies();
}

/// Where the fours of a thread's 8 rows, or columns, begin: apart, so that
/// neighbours read neighbouring words.
FUSEC_DEVICE int pairFmaPlace(int thread, int four) {
  return thread * 4 + four * 64;
}

/// Four floats of shared memory.
FUSEC_DEVICE void readFour(float *to, const float *from) {
  auto four = *reinterpret_cast<const primitive::Word16 *>(from);
  to[0] = primitive::floatOf(four.x), to[1] = primitive::floatOf(four.y);
  to[2] = primitive::floatOf(four.z), to[3] = primitive::floatOf(four.w);
}

/// The products of one j with all i of its square.
FUSEC_DEVICE void multiplyPairs(float (&sums)[8][8],
                                const PairFmaMemory &memory, int inJ,
                                int buffer, int row, int column) {
  float j[8];
  FUSEC_UNROLL
  for (int four = 0; four < 2; ++four)
    readFour(j + four * 4, &memory.j[inJ][pairFmaPlace(row, four)]);
  FUSEC_UNROLL
  for (int inI = 0; inI < pairBlock; ++inI) {
    float i[8], weights[8];
    FUSEC_UNROLL
    for (int four = 0; four < 2; ++four) {
      readFour(i + four * 4, &memory.i[inI][pairFmaPlace(row, four)]);
      readFour(weights + four * 4,
               &memory.weights[buffer][inI][pairFmaPlace(column, four)]);
    }
    FUSEC_UNROLL
    for (int r = 0; r < 8; ++r) {
      float product = i[r] * j[r];
      FUSEC_UNROLL
      for (int c = 0; c < 8; ++c)
        sums[r][c] = multiplyAdd(product, weights[c], sums[r][c]);
    }
  }
}

template <class X, class T>
FUSEC_DEVICE void storePairSums(const PairProblem<X, T> &problem,
                                const PairTile &tile, int row, int column,
                                const float (&sums)[8][8]) {
  FUSEC_UNROLL
  for (int r = 0; r < 8; ++r) {
    int at = tile.row + pairFmaPlace(row, r / 4) + r % 4;
    if (at >= problem.m)
      continue;
    float *to =
        problem.sums +
        (static_cast<long long>(tile.part) * problem.m + at) * problem.columns;
    FUSEC_UNROLL
    for (int c = 0; c < 8; ++c) {
      int own = tile.column + pairFmaPlace(column, c / 4) + c % 4;
      if (own < problem.columns)
        to[own] = sums[r][c];
    }
  }
}

} // namespace detail

/// One tile a block.
template <class Config, class X, class T>
FUSEC_DEVICE void pairProductFma(const PairProblem<X, T> &problem) {
  using namespace detail;
  FUSEC_SHARED PairFmaMemory memory;
  PairTile tile(problem, pairFmaTileN);
  int row = launch::thread() / 16, column = launch::thread() % 16;
  int own = tile.row + launch::thread() % pairTileM;
  const X *x = problem.x + own % problem.m * problem.stride;
  int k = tile.first * pairSquare, last = tile.last * pairSquare;
  float sums[8][8];
  FUSEC_UNROLL
  for (int n = 0; n < 64; ++n)
    sums[n / 8][n % 8] = 0;
  PairPlace square = pairOfSquare(tile.first);
  if (k < last)
    copyPairWeights(memory.weights[0], problem.weights, k, tile.column,
                    problem.columns);
  FUSEC_UNROLL_BY(1)
  for (; k < last; square.advance()) {
    launch::barrier(); // The last square's features have been read.
    shareFeatures(memory.i, x, square.i, problem.features);
    shareFeatures(memory.j, x, square.j, problem.features);
    FUSEC_UNROLL_BY(1)
    for (int inJ = 0; inJ < pairBlock; ++inJ) {
      primitive::waitCopies<0>();
      launch::barrier();
      k += pairBlock;
      if (k < last)
        copyPairWeights(memory.weights[inJ + 1 & 1], problem.weights, k,
                        tile.column, problem.columns);
      multiplyPairs(sums, memory, inJ, inJ & 1, row, column);
    }
  }
  storePairSums(problem, tile, row, column, sums);
}

} // namespace fusec

#endif // FUSEC_DEVICE_PAIRS_FMA_H
