// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A left operand that is made in registers: fragments of 16 bits, as wgmma and
// mma.sync read them, of the products of a row's features; and what goes around
// it: which tile a block has, and where its sums go.

#ifndef FUSEC_DEVICE_PAIRS_OPERAND_H
#define FUSEC_DEVICE_PAIRS_OPERAND_H

#include "pairs_problem.h"
#include "prelude_hopper.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Element `index` of the pair in a word, twice.
template <int Index> FUSEC_DEVICE u32 spread(u32 pair) {
  u32 both;
  asm("prmt.b32 %0, %1, %1, %2;"
      : "=r"(both)
      : "r"(pair), "n"(Index == 0 ? 0x1010 : 0x3232));
  return both;
}
FUSEC_DEVICE u32 multiplyPair(f16, u32 a, u32 b) {
  u32 product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}
FUSEC_DEVICE u32 multiplyPair(bf16, u32 a, u32 b) {
  // Before sm_90 there is no product alone; what is added is -0.
  u32 product;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(product)
      : "r"(a), "r"(b), "r"(0x80008000u));
  return product;
}

/// `Count` neighbouring elements of a row from an even column on, zeros beyond
/// its end; those of whole blocks lie aligned.
template <int Count, bool Whole, class X>
FUSEC_DEVICE void loadFeatures(u32 (&words)[Count * sizeof(X) / 4],
                               const X *row, int column, int features) {
  constexpr int bytes = Count * sizeof(X);
  if constexpr (Whole && bytes == 4) {
    words[0] = *reinterpret_cast<const u32 *>(row + column);
  } else if constexpr (Whole && bytes == 8) {
    auto v = *reinterpret_cast<const primitive::Word8 *>(row + column);
    words[0] = v.x, words[1] = v.y;
  } else if constexpr (Whole) {
    auto v = *reinterpret_cast<const primitive::Word16 *>(row + column);
    words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
  } else {
    FUSEC_UNROLL
    for (int e = 0; e < Count; ++e) {
      X x{};
      if (column + e < features)
        x = row[column + e];
      if constexpr (sizeof(X) == 4)
        words[e] = primitive::bitsOf(x);
      else if (e % 2 == 0)
        words[e / 2] = x.bits;
      else
        words[e / 2] |= u32(x.bits) << 16;
    }
  }
}

/// Features of 16 bits: products are rounded to their type, as the model has
/// them.
template <class X, bool Whole> struct PairRows {
  static constexpr int blockWords = 1, featureWords = 2;
  const X *row[2];
  int features;

  FUSEC_DEVICE void start() {}
  /// What a row's sums are multiplied by.
  FUSEC_DEVICE float undo(int, float sum) const { return sum; }
  FUSEC_DEVICE void enterBlock(u32 (&)[4][blockWords]) const {}

  /// Fragments of four steps of K from a block of i and four j of both rows.
  FUSEC_DEVICE void multiply(u32 (&to)[4][4], const u32 (&block)[4][blockWords],
                             const u32 (&j)[2][featureWords]) const {
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step)
      FUSEC_UNROLL
    for (int part = 0; part < 4; ++part) {
      u32 pair = j[part & 1][step / 2];
      to[step][part] =
          multiplyPair(X{}, block[part][0],
                       step % 2 == 0 ? spread<0>(pair) : spread<1>(pair));
    }
  }
};

/// Features of 32 bits, products in f16, rounded once: rows are scaled by a
/// power of two that puts the largest of their finite features into [64, 128),
/// so that no product overflows and those down to 2^-28 of the largest one are
/// normal numbers.
template <bool Whole> struct PairRows<float, Whole> {
  static constexpr int blockWords = 2, featureWords = 4;
  static constexpr u32 infinity = 0x7f800000u;
  const float *row[2];
  int features;
  u32 exponent[2]; // of the scales, biased

  FUSEC_DEVICE void start() {
    u32 most[2] = {0, 0};
    if (features > 6 * 16)
      scan<7>(most);
    else if (features > 16)
      scan<2>(most);
    else
      scan<1>(most);
    FUSEC_UNROLL
    for (int r = 0; r < 2; ++r) {
      FUSEC_UNROLL
      for (int mask = 1; mask < 4; mask *= 2) {
        u32 other = primitive::shuffleXor(most[r], mask);
        most[r] = other > most[r] ? other : most[r];
      }
      u32 scale = 260 - (most[r] >> 23);
      exponent[r] = scale > 253 ? 253 : scale;
    }
  }
  /// Finds the largest of the lane's features, `Steps` times four of each row
  /// at once: loads that are on their way together, of which ptxas has no more
  /// than 14. There are as many features; the last steps begin early enough.
  template <int Steps> FUSEC_DEVICE void scan(u32 (&most)[2]) const {
    constexpr int width = Steps * 16;
    int last = (features + 15) / 16 * 16 - width;
    FUSEC_UNROLL_BY(1)
    for (int next = 0; next < features; next += width) {
      int first = (next < last ? next : last) + (launch::lane() & 3) * 4;
      u32 words[2][Steps][4];
      FUSEC_UNROLL
      for (int r = 0; r < 2; ++r)
        FUSEC_UNROLL
      for (int s = 0; s < Steps; ++s)
        loadFeatures<4, Whole>(words[r][s], row[r], first + s * 16, features);
      FUSEC_UNROLL
      for (int r = 0; r < 2; ++r)
        FUSEC_UNROLL
      for (auto &step : words[r])
        FUSEC_UNROLL
      for (u32 word : step) {
        u32 size = word & ~0x80000000u;
        most[r] = size < infinity && size > most[r] ? size : most[r];
      }
    }
  }
  FUSEC_DEVICE float scale(int r) const {
    return primitive::floatOf(exponent[r] << 23);
  }
  /// Twice, since the square of a scale may be no number.
  FUSEC_DEVICE float undo(int r, float sum) const {
    float inverse = primitive::floatOf((254 - exponent[r]) << 23);
    return sum * inverse * inverse;
  }
  FUSEC_DEVICE void enterBlock(u32 (&block)[4][blockWords]) const {
    FUSEC_UNROLL
    for (int part = 0; part < 4; ++part)
      FUSEC_UNROLL
    for (u32 &word : block[part])
      word = primitive::bitsOf(primitive::floatOf(word) * scale(part & 1));
  }
  FUSEC_DEVICE void multiply(u32 (&to)[4][4], const u32 (&block)[4][blockWords],
                             const u32 (&j)[2][featureWords]) const {
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step) {
      float x[2];
      FUSEC_UNROLL
      for (int r = 0; r < 2; ++r)
        x[r] = primitive::floatOf(j[r][step]) * scale(r);
      FUSEC_UNROLL
      for (int part = 0; part < 4; ++part)
        to[step][part] = primitive::packPair(
            f16{}, primitive::floatOf(block[part][0]) * x[part & 1],
            primitive::floatOf(block[part][1]) * x[part & 1]);
    }
  }
};

/// The fragments of a lane's two rows, a slice of K after the other. What they
/// are made of is loaded a slice ahead.
template <class X, bool Whole> struct PairOperand {
  typedef PairRows<X, Whole> Rows;
  Rows rows;
  PairPlace next; // square
  u32 block[4][Rows::blockWords], nextBlock[4][Rows::blockWords];
  u32 features[2][Rows::featureWords];

  /// `firstRow`: of the 16 of this warp.
  FUSEC_DEVICE void start(const X *x, long long stride, int firstRow, int m,
                          int features, int square, u32 (&to)[4][4]) {
    FUSEC_UNROLL
    for (int r = 0; r < 2; ++r) {
      int row = firstRow + (launch::lane() >> 2) + r * 8;
      // Those beyond the last are others once more: of one row alone, blocks
      // would wait for the same few places of L2.
      rows.row[r] = x + row % m * stride;
    }
    rows.features = features;
    rows.start();
    next = pairOfSquare(square);
    loadBlock();
    loadNext(0);
    makeFirst(to);
  }
  FUSEC_DEVICE void loadBlock() {
    FUSEC_UNROLL
    for (int part = 0; part < 4; ++part)
      loadFeatures<2, Whole>(nextBlock[part], rows.row[part & 1],
                             next.i * pairBlock + (launch::lane() & 3) * 2 +
                                 (part >> 1) * 8,
                             rows.features);
  }
  FUSEC_DEVICE void loadNext(int slice) {
    FUSEC_UNROLL
    for (int r = 0; r < 2; ++r)
      loadFeatures<4, Whole>(features[r], rows.row[r],
                             next.j * pairBlock + slice * 4, rows.features);
  }
  FUSEC_DEVICE void makeFirst(u32 (&to)[4][4]) {
    FUSEC_UNROLL
    for (int part = 0; part < 4; ++part)
      FUSEC_UNROLL
    for (int word = 0; word < Rows::blockWords; ++word)
      block[part][word] = nextBlock[part][word];
    rows.enterBlock(block);
    rows.multiply(to, block, features);
    loadNext(1);
  }
  /// Makes the fragments behind those of `slice`, and loads what the ones
  /// behind them take; unless the square is the `last`, which nothing follows.
  FUSEC_DEVICE void make(u32 (&to)[4][4], int slice, bool last) {
    if (slice == pairSlices - 1) {
      makeFirst(to);
      return;
    }
    rows.multiply(to, block, features);
    if (slice == pairSlices - 2) {
      if (!last)
        next.advance();
      loadBlock();
      loadNext(0);
    } else {
      loadNext(slice + 2);
    }
  }
};

/// A block's tile: rows change fastest, so that blocks that run together share
/// weights.
struct PairTile {
  int row, column, part, first, last;

  template <class X, class T>
  FUSEC_DEVICE PairTile(const PairProblem<X, T> &problem, int tileN) {
    int tilesM = (problem.m + pairTileM - 1) / pairTileM,
        tilesN = (problem.columns + tileN - 1) / tileN;
    int rest = launch::block() / tilesM;
    row = launch::block() % tilesM * pairTileM;
    column = rest % tilesN * tileN;
    part = rest / tilesN;
    first = firstPairSquare(part, problem.parts, problem.features);
    last = firstPairSquare(part + 1, problem.parts, problem.features);
  }
};

/// Stores the accumulators of a warp's 16 rows, `Blocks` of eight columns.
template <int Blocks, class X, class T, class Rows>
FUSEC_DEVICE void storePairs(const PairProblem<X, T> &problem, const Rows &rows,
                             int part, int firstRow, int firstColumn,
                             const float (&sums)[Blocks][4]) {
  int row = firstRow + (launch::lane() >> 2),
      column = firstColumn + (launch::lane() & 3) * 2;
  bool pairs = problem.columns % 2 == 0;
  float *to[2];
  FUSEC_UNROLL
  for (int r = 0; r < 2; ++r)
    to[r] = problem.sums +
            (static_cast<long long>(part) * problem.m + row + r * 8) *
                problem.columns +
            column;
  FUSEC_UNROLL
  for (int b = 0; b < Blocks; ++b)
    FUSEC_UNROLL
  for (int r = 0; r < 2; ++r) {
    float first = rows.undo(r, sums[b][r * 2]),
          second = rows.undo(r, sums[b][r * 2 + 1]);
    int left = row + r * 8 < problem.m ? problem.columns - column - b * 8 : 0;
    if (pairs && left > 0) {
      *reinterpret_cast<primitive::Word8 *>(to[r] + b * 8) = {
          primitive::bitsOf(first), primitive::bitsOf(second)};
    } else {
      if (left > 0)
        to[r][b * 8] = first;
      if (left > 1)
        to[r][b * 8 + 1] = second;
    }
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_PAIRS_OPERAND_H
