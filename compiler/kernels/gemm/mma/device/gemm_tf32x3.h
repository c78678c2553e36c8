// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fp32 products on tensor cores, 3xTF32: a factor is the sum of two tf32, a
// product three products of theirs, small ones first. What that cannot do,
// infinities, NaN and overflow, is left to plain FMA.

#ifndef FUSEC_KERNELS_GEMM_TF32X3_H
#define FUSEC_KERNELS_GEMM_TF32X3_H

#include "gemm.h"

#ifndef FUSEC_HOST
#include "gemm_layout.h"
#include "prelude_tensor.h"
#endif

namespace fusec {

/// `high` is x rounded to 11 bits, ties away; `low` the exact rest, of at most
/// 12 bits, of which the tensor core reads 11. What is lost of a product, with
/// low * low, is at most 2^-21 of it. Truncated instead of rounded, `high`
/// would save one of three instructions and lose four times as much of
/// low * low, always in one direction.
struct Tf32Pair {
  u32 high, low;
};

/// Where x is not finite, or rounds to infinity, one of the pair is not finite
/// either: neither such a factor nor a NaN whose bits wrap around is lost.
FUSEC_DEVICE Tf32Pair splitTf32(float x) {
  u32 high = (primitive::bitsOf(x) + 0x1000u) & 0xffffe000u;
  return {high, primitive::bitsOf(x - primitive::floatOf(high))};
}

/// The low part of x for tensor cores that read x itself, and so the first 11
/// bits of it, as the high one; rounded to what they read. Infinities and NaN
/// are still such in x. Low parts have the sign of x, so that the other factor
/// is split by splitTf32(): what is lost with low * low then has either sign.
FUSEC_DEVICE u32 lowTf32(u32 x) {
  float high = primitive::floatOf(x & 0xffffe000u);
  return primitive::bitsOf(primitive::floatOf(x) - high) + 0x1000u;
}

/// Whether no infinity, NaN or overflow can have gone into a sum. Below 2^126,
/// since a tensor core that truncates may make of an overflow the largest
/// number.
FUSEC_DEVICE bool isInRange(float sum) { return absolute(sum) < 8.5e37f; }

namespace detail {

/// One FMA after the other, in the order of k: Rows x Columns sums of a
/// segment. `row` and `column` lie inside the matrices.
template <class SegmentType, int Rows, int Columns>
FUSEC_DEVICE void addByFma(const SegmentType &segment, int j, i64 batch,
                           KRange range, const int (&row)[Rows],
                           const int (&column)[Columns],
                           float (&acc)[Rows][Columns]) {
  const float *a = segment.a.at(batch), *b = segment.b[j].at(batch);
  if (a == nullptr || b == nullptr)
    return;
  FUSEC_UNROLL_BY(1)
  for (int k = range.first; k < range.last; ++k) {
    float x[Rows];
    FUSEC_UNROLL
    for (int m = 0; m < Rows; ++m)
      x[m] = a[segment.a.offset(row[m], k)];
    FUSEC_UNROLL
    for (int n = 0; n < Columns; ++n) {
      float y = b[segment.b[j].offset(column[n], k)];
      FUSEC_UNROLL
      for (int m = 0; m < Rows; ++m)
        acc[m][n] = multiplyAdd(x[m], y, acc[m][n]);
    }
  }
}

#ifndef FUSEC_HOST

/// acc += a . b, of 8 ks. Tensor cores cut off what does not fit when they add:
/// their sums start from zero, so that only these 8 terms suffer, and are then
/// added in fp32, rounded to nearest.
template <int J, int M, int N>
FUSEC_DEVICE void multiplyTf32x3(const u32 (&a)[M][4], const u32 (&b)[J][N][4],
                                 float (&acc)[J][M][2 * N][4]) {
  u32 highB[J][N][4], lowB[J][N][4];
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int n = 0; n < N; ++n)
    FUSEC_UNROLL
  for (int i = 0; i < 4; ++i) {
    Tf32Pair pair = splitTf32(primitive::floatOf(b[j][n][i]));
    highB[j][n][i] = pair.high;
    lowB[j][n][i] = pair.low;
  }
  FUSEC_UNROLL
  for (int m = 0; m < M; ++m) {
    u32 highA[4], lowA[4];
    FUSEC_UNROLL
    for (int i = 0; i < 4; ++i) {
      Tf32Pair pair = splitTf32(primitive::floatOf(a[m][i]));
      highA[i] = pair.high;
      lowA[i] = pair.low;
    }
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      float sum[2 * N][4] = {};
      auto multiply = [&](const u32(&x)[4], const u32(&y)[N][4]) {
        FUSEC_UNROLL
        for (int n = 0; n < 2 * N; ++n)
          primitive::Mma<float>::run(sum[n], x, y[n / 2][n % 2 * 2],
                                     y[n / 2][n % 2 * 2 + 1]);
      };
      multiply(lowA, highB[j]);
      multiply(highA, lowB[j]);
      multiply(highA, highB[j]);
      FUSEC_UNROLL
      for (int n = 0; n < 2 * N; ++n)
        FUSEC_UNROLL
      for (int i = 0; i < 4; ++i)
        acc[j][m][n][i] += sum[n][i];
    }
  }
}

/// Infinities and NaN split into infinities and NaN, and partial sums may
/// overflow earlier than those of FMA: such sums are computed again, by FMA.
/// Rare, so that it need not be fast.
template <class Config, int J, int M, int N, class... Segments>
FUSEC_DEVICE void replaceOutOfRange(const Shape &shape, TilePlace tile,
                                    float (&acc)[J][M][N][4],
                                    const Segments &...segments) {
  int firstRow =
      tile.m * Config::tileM + launch::warp() / Config::warpsN * Config::warpM;
  int firstColumn =
      tile.n * Config::tileN + launch::warp() % Config::warpsN * Config::warpN;
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int m = 0; m < M; ++m) {
    bool inRange = true;
    FUSEC_UNROLL
    for (int n = 0; n < N; ++n)
      FUSEC_UNROLL
    for (int i = 0; i < 4; ++i)
      inRange &= isInRange(acc[j][m][n][i]);
    if (inRange)
      continue;
    // Places outside the result are computed like the last inside.
    int row[2], column[2 * N];
    FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      row[half] =
          min(firstRow + m * 16 + accumulatorPlace(launch::lane(), half).row,
              shape.m - 1);
    FUSEC_UNROLL
    for (int n = 0; n < 2 * N; ++n)
      column[n] = min(firstColumn + n / 2 * 8 + n % 2 +
                          accumulatorPlace(launch::lane(), 0).column,
                      shape.n - 1);
    float sum[2][2 * N] = {};
    (addByFma(segments, j, tile.batch, segments.range(tile.batch), row, column,
              sum),
     ...);
    FUSEC_UNROLL
    for (int n = 0; n < N; ++n)
      FUSEC_UNROLL
    for (int i = 0; i < 4; ++i)
      if (!isInRange(acc[j][m][n][i]))
        acc[j][m][n][i] = sum[i / 2][n * 2 + i % 2];
  }
}

#endif // FUSEC_HOST

} // namespace detail
} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_TF32X3_H
