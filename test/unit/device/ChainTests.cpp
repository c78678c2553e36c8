// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain in the form that the emitter writes, run on the host: copies of every
// kind, two accumulators, two segments, tiles that rows do not fill.

#include "chain.h"

#include "gtest/gtest.h"

#include <vector>

namespace {

using namespace fusec;

/// h = acc0 - acc1 + bias[n]
struct Hidden {
  typedef float Accumulator;
  static constexpr int accumulators = 2;
  typedef Pack<RowOperand<float>> Operands;
  typedef Pack<FullResult<f16>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[2], float bias, float &h) {
    h = acc[0] - acc[1] + bias;
  }
};
/// y = acc0 + h[m, 4 + n] * scale[m]
struct Out {
  typedef float Accumulator;
  static constexpr int accumulators = 1;
  typedef Pack<FullOperand<f16>, ColumnOperand<float, Stride>> Operands;
  typedef Pack<FullResult<float, Stride, Stride>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[1], float h, float scale,
                                 float &y) {
    y = acc[0] + h * scale;
  }
};

constexpr int K = 7, H = 9, N = 5, R = 4;

struct Shared {
  ChainTile<f16, R, K> x;
  ChainTile<f16, H, K> w;
  ChainTile<f16, H, K> v;
  ChainTile<float, 1, H> bias;
  ChainTile<f16, N, H> u;
  ChainTile<f16, K, N> t;
  ChainTile<float, R, 1> scale;
  ChainTile<f16, R, H> h;
};

struct Arguments {
  std::vector<f16> x, w, v, u, t;
  std::vector<float> bias, scale, y;
};

/// x lies [k, m], w and u [n, k], v and t [k, n].
template <int PerThread> void runChain(Arguments &a, int m) {
  Shared &shared = chainShared<Shared>();
  stage<2>(shared.w, a.w.data(), K);
  stageEach(shared.v, a.v.data(), 1, H);
  stage<4>(shared.bias, a.bias.data(), 0);
  stage<2>(shared.u, a.u.data(), H);
  stage<2>(shared.t, a.t.data(), N);
  forEachRowTile<R>(m, [&](i64 first, int rows) {
    stageEach(shared.x, a.x.data() + first, 1, m, 0, rows);
    stage<4>(shared.scale, a.scale.data() + first, 1, 0, rows);
    waitStaged();
    const Hidden hidden = {{{shared.bias.at}},
                           {{shared.h.at, {shared.h.stride}}}};
    chainPhase<PerThread, H>(
        rows, hidden,
        chainSegment<K>(alongK(shared.x), alongK(shared.w), alongK(shared.v)));
    const Out out = {{{shared.h.at + 4, {shared.h.stride}},
                      {shared.scale.at, {shared.scale.stride}}},
                     {{a.y.data() + first, {1}, {m}}}};
    chainPhase<PerThread, N>(
        rows, out, chainSegment<H>(alongK(shared.h), alongK(shared.u)),
        chainSegment<5>(alongK(shared.h, 4), acrossK(shared.t)));
  });
}

template <int PerThread> void check(int m) {
  Arguments a;
  auto fill = [](auto &values, size_t count) {
    typedef std::remove_reference_t<decltype(values[0])> T;
    for (size_t i = 0; i < count; ++i)
      values.push_back(cast<T>(float(int(i * 31 % 7) - 3)));
  };
  fill(a.x, K * m);
  fill(a.w, H * K);
  fill(a.v, K * H);
  fill(a.u, N * H);
  fill(a.t, K * N);
  fill(a.bias, H);
  fill(a.scale, m);
  a.y.assign(size_t(m) * N, -1);
  const int blocks = 2;
  launch::coordinates.blocks[0] = blocks;
  for (int block = 0; block < blocks; ++block) {
    launch::coordinates.block[0] = block;
    runChain<PerThread>(a, m);
  }
  auto at = [](const std::vector<f16> &values, int i) {
    return cast<float>(values[i]);
  };
  for (int row = 0; row < m; ++row) {
    std::vector<float> h = a.bias;
    for (int n = 0; n < H; ++n)
      for (int k = 0; k < K; ++k)
        h[n] +=
            at(a.x, k * m + row) * (at(a.w, n * K + k) - at(a.v, k * H + n));
    for (int n = 0; n < N; ++n) {
      float y = h[4 + n] * a.scale[row];
      for (int k = 0; k < H; ++k)
        y += h[k] * at(a.u, n * H + k);
      for (int k = 0; k < 5; ++k)
        y += h[4 + k] * at(a.t, k * N + n);
      EXPECT_EQ(a.y[n * m + row], y) << "row " << row << ", column " << n;
    }
  }
}

TEST(Chain, CopiesSegmentsAndTilesThatRowsDoNotFill) {
  check<1>(11);
  check<2>(11);
  check<4>(3);
  check<4>(0);
}

TEST(Chain, VectorsOfNeighbouringRowsLieInDifferentBanks) {
  for (int bytes : {1, 2, 4, 8})
    for (int columns : {1, 4, 5, 16, 32, 64, 100, 256}) {
      int row = chainStride(columns, bytes) * bytes;
      EXPECT_GE(row, columns * bytes);
      EXPECT_EQ(row / 16 % 2, 1);
      EXPECT_EQ(row % 16, 0);
    }
}

} // namespace
