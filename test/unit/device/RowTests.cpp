// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues that reduce over their rows: the protocol on the host, and how
// lanes share rows.

#include "gemm_mma.h"
#include "gemm_simt.h"
#include "gemv.h"

#include "Tilings.h"
#include "gtest/gtest.h"

#include <vector>

namespace {

using namespace fusec;

/// y = acc + bias less the row's largest; z = where that is, once a row and
/// batch; s = the sum of all y of the row, which needs the largest first.
struct Spread {
  typedef int Accumulator;
  static constexpr int accumulators = 1;
  typedef Pack<RowOperand<int>> Operands;
  typedef Pack<FullResult<int, Stride, Contiguous, 4, Stride>,
               ColumnResult<i64, Stride, Stride>,
               ColumnResult<int, Contiguous, Stride>>
      Results;
  Operands operands;
  Results results;
  struct Row {
    Indexed<int> largest;
    int sum;
  };
  struct Largest {
    typedef int Accumulator;
    typedef ArgMax<int> Combiner;
    static Indexed<int> &of(Row &row) { return row.largest; }
    static void apply(const int (&acc)[1], const Row &, int bias, int &value) {
      value = acc[0] + bias;
    }
  };
  struct Total {
    typedef int Accumulator;
    typedef Sum<int> Combiner;
    static int &of(Row &row) { return row.sum; }
    static void apply(const int (&acc)[1], const Row &row, int bias,
                      int &value) {
      value = acc[0] + bias - row.largest.value;
    }
  };
  typedef fusec::Phases<Largest, Total> Phases;
  static void apply(const int (&acc)[1], const Row &row, int bias, int &y,
                    i64 &z, int &s) {
    Total::apply(acc, row, bias, y);
    z = row.largest.index;
    s = row.sum;
  }
};

TEST(Rows, PhasesSeeThoseBeforeThem) {
  const int m = 37, k = 3, batch = 2;
  for (int n : {1, 7, 8, 13, 32}) {
    std::vector<int> a(batch * m * k), b(k * n), bias(n), y(batch * m * n, -1),
        s(batch * m, -1), wantY = y, wantS = s;
    std::vector<i64> z(2 * batch * m, -1), wantZ = z;
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = int(i * 29 % 13) - 6;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = int(i * 17 % 11) - 5;
    for (int i = 0; i < n; ++i)
      bias[i] = i % 3;
    for (int row = 0; row < batch * m; ++row) {
      int largest = 0, sum = 0;
      std::vector<int> values(n);
      for (int c = 0; c < n; ++c) {
        values[c] = bias[c];
        for (int i = 0; i < k; ++i)
          values[c] += a[row * k + i] * b[i * n + c];
        if (values[c] > values[largest])
          largest = c;
      }
      for (int c = 0; c < n; ++c)
        sum += wantY[row * n + c] = values[c] - values[largest];
      wantS[row] = sum;
      wantZ[2 * row] = largest;
    }

    typedef Segment<Matrix<int, Major::K, 4, Stride>,
                    Matrix<int, Major::Outer, 4>>
        Main;
    Main main{{a.data(), k, {m * k}}, {{b.data(), n}}, k};
    Spread epilogue{{{bias.data()}},
                    {{y.data(), {n}, {}, {m * n}},
                     {z.data(), {2}, {2 * m}},
                     {s.data(), {}, {m}}}};
    auto run = [&](int blocks, auto kernel) {
      y.assign(y.size(), -1);
      z.assign(z.size(), -1);
      s.assign(s.size(), -1);
      launch::coordinates.blocks[0] = blocks;
      for (int block = 0; block < blocks; ++block) {
        launch::coordinates.block[0] = block;
        kernel(Shape{m, n, batch});
      }
      EXPECT_EQ(y, wantY) << n;
      EXPECT_EQ(z, wantZ) << n;
      EXPECT_EQ(s, wantS) << n;
    };
    run(tilesOf(m, 32) * batch, [&](Shape shape) {
      gemmSimt<SimtConfig<tiles::Simt<32, 32, 16, 2, 2>>>(shape, epilogue,
                                                          main);
    });
    if (n <= 8)
      run(gemvBlocks(m, batch, true, 64), [&](Shape shape) {
        gemv<GemvConfig<tiles::Gemv<8, 64>>, Narrow::N>(shape, epilogue, main);
      });
  }
}

template <int Columns, int Rows, int Warps> void checkShare() {
  typedef RowShare<Spread, Columns, Rows, Warps> Share;
  EXPECT_GE(Share::lanes * Share::slots * Share::V, Columns);
  EXPECT_EQ(32 % Share::lanes, 0);
  // A lane holds no more than its registers are for.
  EXPECT_LE(Share::slots * Share::V * 2, 48);
  // Warps are busy where there are columns for their lanes.
  bool couldBeMore = Share::lanes * 2 * Share::V <= Columns;
  EXPECT_TRUE(Share::lanes == 32 || !couldBeMore ||
              Share::lanes * Rows >= 32 * Warps);
}

TEST(Rows, LanesShareThemAll) {
  EXPECT_FALSE((reducesRows<Pack<>>));
  EXPECT_TRUE(reducesRows<Spread>);
  checkShare<32, 16, 2>();
  checkShare<64, 16, 4>();
  checkShare<64, 8, 1>();
  checkShare<96, 8, 1>();
  checkShare<128, 16, 8>();
  checkShare<208, 4, 1>();
  checkShare<256, 16, 16>();
  checkShare<256, 1, 4>();
}

} // namespace
