// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul kernels in the form that the emitter writes, run on the host: the
// epilogue protocol with every class of operand, batches, segments, masks.

#include "gemm_mma.h"
#include "gemm_simt.h"
#include "gemv.h"

#include "Tilings.h"
#include "gtest/gtest.h"

#include <vector>

namespace {

using namespace fusec;

/// Every second batch shares its row of the bias.
struct HalfBatch {
  FUSEC_DEVICE i64 offset(i64 batch) const { return batch / 2 * 50; }
};

/// y = acc0 * scale[m] + acc1 + bias[n] + alpha; z = (rank[m, n] > 0).
struct Full {
  typedef float Accumulator;
  static constexpr int accumulators = 2;
  typedef Pack<ColumnOperand<float>, RowOperand<f16, Contiguous, 2, HalfBatch>,
               ScalarOperand<float>, FullOperand<i64>>
      Operands;
  typedef Pack<FullResult<float, Stride, Contiguous, 4, Stride>,
               FullResult<boolean, Contiguous, Stride>>
      Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[2], float scale, float bias,
                                 float alpha, i64 rank, float &y, bool &z) {
    y = acc[0] * scale + acc[1] + bias + alpha;
    z = rank > 0;
  }
};

template <class Call> void runGrid(int blocks, Call call) {
  launch::coordinates.blocks[0] = blocks;
  for (int block = 0; block < blocks; ++block) {
    launch::coordinates.block[0] = block;
    call();
  }
}

TEST(Matmul, SegmentsBatchesAndEveryOperandClass) {
  const int m = 37, n = 50, batch = 4, k0 = 19, k1 = 5;
  std::vector<f16> a(batch * m * k0), a1(m * k1), b(k0 * n), b1(n * k1),
      bias(2 * 50);
  std::vector<float> scale(m);
  auto small = [](size_t i) { return cast<f16>(float(int(i * 31 % 17) - 8)); };
  for (auto *v : {&a, &a1, &b, &b1, &bias})
    for (size_t i = 0; i < v->size(); ++i)
      (*v)[i] = small(i + v->size());
  for (int i = 0; i < m; ++i)
    scale[i] = float(i);
  const float alpha = 0.5f;
  std::vector<i64> rank(m * n);
  for (int i = 0; i < m * n; ++i)
    rank[i] = i % n - i / n;
  const int ldy = n + 3;
  std::vector<float> y(batch * m * ldy, -1);
  std::vector<boolean> z(m * n, boolean(false));

  typedef Segment<Matrix<f16, Major::K, 2, Stride>, Matrix<f16, Major::Outer>,
                  2>
      First;
  typedef Segment<Matrix<f16, Major::Outer>, Matrix<f16, Major::K>, 2> Second;
  First first{{a.data(), k0, {m * k0}}, {{b.data(), n}, {b.data(), n}}, k0};
  Second second{{a1.data(), m}, {{nullptr, k1}, {b1.data(), k1}}, k1};
  Full epilogue{{{scale.data()}, {bias.data()}, {&alpha}, {rank.data(), {n}}},
                {{y.data(), {ldy}, {}, {m * ldy}}, {z.data(), {}, {m}}}};
  typedef MmaConfig<tiles::Mma<32, 32, 32, 1, 2, 2>> Config;
  Shape shape{m, n, batch};
  runGrid(tilesOf(m, 32) * tilesOf(n, 32) * batch,
          [&] { gemmMma<Config>(shape, epilogue, first, second); });

  for (int l = 0; l < batch; ++l)
    for (int r = 0; r < m; ++r)
      for (int c = 0; c < ldy; ++c) {
        float got = y[(l * m + r) * ldy + c];
        if (c >= n) {
          EXPECT_EQ(got, -1);
          continue;
        }
        float acc = 0, more = 0;
        for (int k = 0; k < k0; ++k)
          acc +=
              cast<float>(a[(l * m + r) * k0 + k]) * cast<float>(b[k * n + c]);
        for (int k = 0; k < k1; ++k)
          more += cast<float>(a1[k * m + r]) * cast<float>(b1[c * k1 + k]);
        EXPECT_EQ(got, acc * r + (acc + more) +
                           cast<float>(bias[l / 2 * 50 + c]) + alpha);
        EXPECT_EQ(bool(z[r + c * m]), c > r);
      }
}

struct Store {
  typedef i64 Accumulator;
  static constexpr int accumulators = 1;
  typedef Pack<> Operands;
  typedef Pack<FullResult<i64>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const i64 (&acc)[1], i64 &y) { y = acc[0]; }
};

struct StoreBatched {
  typedef i64 Accumulator;
  static constexpr int accumulators = 1;
  typedef Pack<> Operands;
  typedef Pack<FullResult<i64, Stride, Contiguous, 8, Stride>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const i64 (&acc)[1], i64 &y) { y = acc[0]; }
};

TEST(Matmul, FamiliesAgreeOnIntegers) {
  const int m = 21, n = 5, k = 33;
  std::vector<i64> a(m * k), b(k * n), want(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = i64(i) * 7919 - 1000;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = i64(i) * 104729;
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < n; ++c)
      for (int i = 0; i < k; ++i)
        want[r * n + c] += a[r * k + i] * b[i * n + c];
  typedef Segment<Matrix<i64>, Matrix<i64, Major::Strided>> Main;
  Main main{{a.data(), k}, {{b.data(), 1, {}, n}}, k};
  std::vector<i64> y(m * n, -1);
  Store epilogue{{}, {{y.data(), {n}}}};
  Shape shape{m, n, 1};
  runGrid(tilesOf(m, 32) * tilesOf(n, 32), [&] {
    gemmSimt<SimtConfig<tiles::Simt<32, 32, 16, 2, 2>>>(shape, epilogue, main);
  });
  EXPECT_EQ(y, want);
  y.assign(m * n, -1);
  runGrid(gemvBlocks(m, 1, true, 64), [&] {
    gemv<GemvConfig<tiles::Gemv<8, 64>>, Narrow::N>(shape, epilogue, main);
  });
  EXPECT_EQ(y, want);
  // K = 0: the epilogue sees zeros.
  main.k = 0;
  runGrid(tilesOf(m, 32) * tilesOf(n, 32), [&] {
    gemmSimt<SimtConfig<tiles::Simt<32, 32, 16, 2, 2>>>(shape, epilogue, main);
  });
  EXPECT_EQ(y, std::vector<i64>(m * n, 0));
}

TEST(Matmul, SplitsOfKCoverIt) {
  const int splits = 4;
  // Ranges are whole tiles, cover k and may be empty.
  for (int extent : {0, 1, 16, 17, 70, 2147483647}) {
    int at = 0;
    for (int i = 0; i < splits; ++i) {
      KRange range = rangeOf(extent, 16, {i, splits});
      EXPECT_EQ(range.first, at);
      EXPECT_LE(range.first, range.last);
      at = range.last;
    }
    EXPECT_EQ(at, extent);
  }
}

TEST(Matmul, RangesOfKCoverIt) {
  typedef Matrix<float, Major::K, 4, KRanges> Operand;
  const int parts = 4, length = 16;
  // The last one is the rest; those behind it have nothing.
  for (int whole : {1, 16, 17, 63, 64, 2147483647}) {
    int range = whole > length * parts ? whole / parts + 1 : length;
    Ranges<Segment<Operand, Operand>> segment{{{}, {}, range}, whole};
    i64 sum = 0;
    for (int part = 0; part < parts; ++part) {
      KRange own = segment.range(part);
      EXPECT_EQ(own.first, 0);
      EXPECT_LE(own.last, range);
      EXPECT_TRUE(own.last == 0 || i64(part) * range + own.last <= whole);
      sum += own.last;
    }
    EXPECT_EQ(sum, whole);
  }
}

TEST(Matmul, RangesInTurnHaveEachTileOnce) {
  const int tileK = 64;
  for (int whole : {64, 4096, 4104, 131072, 131080})
    for (int ranges : {2, 3, 16, 33}) {
      int k = tilesOf(tilesOf(whole, ranges), tileK) * tileK;
      for (int turns : {0, ranges}) {
        KRanges batch{k, k, turns};
        std::vector<int> had(tilesOf(k, tileK) * ranges);
        for (int range = 0; range < ranges; ++range)
          for (int at = 0; at < k; at += tileK) {
            int place = batch.placeOf(at, range, tileK);
            ASSERT_EQ(place % tileK, 0);
            ASSERT_LT(place / tileK, int(had.size()));
            ++had[place / tileK];
          }
        EXPECT_EQ(had, std::vector<int>(had.size(), 1));
        EXPECT_GE(int(had.size()) * tileK, whole);
      }
    }
}

TEST(Matmul, VectorWidthsFollowTheNarrowestResult) {
  EXPECT_EQ(epilogueVector<Full>, 8);
  EXPECT_EQ(epilogueVector<Store>, 4);
  EXPECT_EQ(vectorOf<f16>(16, 8), 8);
  EXPECT_EQ(vectorOf<float>(16, 8), 8);
  EXPECT_EQ(vectorOf<float>(8, 8), 2);
  EXPECT_EQ(vectorOf<f16>(2, 8), 1);
}

} // namespace
