// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels in the form that the emitter writes, compiled as C++ and run on the
// host: pointwise, reductions in each scope, a lookup.

#include "gather.h"
#include "reduce.h"
#include "reduce_places.h"
#include "reduce_span.h"
#include "scan_words.h"
#include "vector.h"
#include "vector_math.h"

#include "gtest/gtest.h"

#include <cmath>
#include <thread>
#include <vector>

extern "C" FUSEC_KERNEL(256)
    addMulSigmoid(const float *x, const fusec::f16 *scale, fusec::bf16 *y,
                  fusec::boolean *positive, fusec::i64 n) {
  fusec::forEachVector<8>(n, [&](fusec::i64 base, auto width) {
    constexpr int V = decltype(width)::value;
    auto a = fusec::loadStream<V>(x + base);
    auto s = fusec::load<V>(scale + base);
    fusec::Vec<fusec::bf16, V> out;
    fusec::Vec<fusec::boolean, V> flag;
    FUSEC_UNROLL
    for (int v = 0; v < V; ++v) {
      float value = fusec::sigmoid(a[v] * fusec::cast<float>(s[v]) + 1.0f);
      out[v] = fusec::cast<fusec::bf16>(value);
      flag[v] = a[v] > 0.0f;
    }
    fusec::storeStream<V>(y + base, out);
    fusec::store<V>(positive + base, flag);
  });
}
FUSEC_HOST_ENTRY(addMulSigmoid)

template <class Scope>
FUSEC_DEVICE void softmax(const float *x, float *y, fusec::i64 rows, int n) {
  fusec::forEachRow<Scope>(rows, [&](fusec::i64 r) {
    const float *row = x + r * n;
    float max = fusec::reduceRow<Scope, fusec::Max<float>>(
        n, [&](int i) { return row[i]; });
    float sum = fusec::reduceRow<Scope, fusec::Sum<float>>(
        n, [&](int i) { return fusec::exp(row[i] - max); });
    fusec::forEachIn<Scope>(
        n, [&](int i) { y[r * n + i] = fusec::exp(row[i] - max) / sum; });
  });
}
extern "C" FUSEC_KERNEL(64)
    softmaxBlock(const float *x, float *y, fusec::i64 rows, int n) {
  softmax<fusec::BlockScope<64>>(x, y, rows, n);
}
extern "C" FUSEC_KERNEL(256)
    softmaxWarp(const float *x, float *y, fusec::i64 rows, int n) {
  softmax<fusec::WarpScope>(x, y, rows, n);
}

extern "C" FUSEC_KERNEL(256) arg(const double *x, fusec::i64 *first,
                                 fusec::i64 *last, fusec::i64 rows, int n) {
  typedef fusec::WarpScope Scope;
  fusec::forEachRow<Scope>(rows, [&](fusec::i64 r) {
    auto at = [&](int i) { return fusec::Indexed<double>{x[r * n + i], i}; };
    auto a = fusec::reduceRow<Scope, fusec::ArgMax<double>>(n, at);
    auto b = fusec::reduceRow<Scope, fusec::ArgMin<double, true>>(n, at);
    if (Scope::rank() == 0) {
      first[r] = a.index;
      last[r] = b.index;
    }
  });
}

extern "C" FUSEC_KERNEL(64) places(const float *x, fusec::i64 *first,
                                   fusec::i64 *last, fusec::i64 rows, int n) {
  typedef fusec::BlockScope<64> Scope;
  fusec::forEachRow<Scope>(rows, [&](fusec::i64 r) {
    auto body = [&](auto base, auto width, auto add) {
      for (int lane = 0; lane < decltype(width)::value; ++lane)
        add(lane, x[r * n + base + lane]);
    };
    auto a = fusec::findInRow<Scope, fusec::ArgMax<float>, 4>(n, body);
    auto b = fusec::findInRow<Scope, fusec::ArgMin<float, true>, 4>(n, body);
    if (Scope::rank() == 0) {
      first[r] = a.index;
      last[r] = b.index;
    }
  });
}

extern "C" FUSEC_KERNEL(64) visits(int *y, int begin, int end) {
  typedef fusec::BlockScope<64> Scope;
  fusec::forEachVectorAtOnce<Scope, 8, 4>(
      fusec::Span<int>{begin, end}, [&](int k, auto width) {
        const bool isAligned = decltype(width)::value == 1 || k % 8 == 0;
        for (int lane = 0; lane < decltype(width)::value; ++lane)
          y[k + lane] += isAligned ? 1 : 100;
      });
}

extern "C" FUSEC_KERNEL(256)
    lookup(const float *table, const fusec::i64 *ids, float *y,
           fusec::i64 count, fusec::i64 size, int width, fusec::u64 *faults) {
  fusec::forEach(count * width, [&](fusec::i64 i) {
    fusec::i64 row;
    bool inside = fusec::gatherRowShared<fusec::GatherPolicy::Flag>(
        ids[i / width], size, row, faults, i % width == 0);
    y[i] = inside ? table[row * width + i % width] : 0.0f;
  });
}

// Rows of parts of 8 items, of which a group has 4.
extern "C" FUSEC_KERNEL(128)
    sums(const int *x, int *y, fusec::u32 *flags, int rows, int n) {
  typedef fusec::BlockScope<128> Scope;
  typedef fusec::ScanForm<int, 1, false, false> Form;
  const int parts = (n + 7) / 8;
  fusec::ScanChain<int, 1, 4> turn(flags, rows, parts);
  const int first = turn.strip() * n + turn.part() * 8,
            left = n - turn.part() * 8;
  fusec::scanChainOfRow<Scope, Form, 1, false>(
      turn, left < 8 ? left : 8, [&](int k, auto put) { put(0, x[first + k]); },
      [&](int k, const auto &sums) { y[first + k] = sums[0]; },
      [&] {
        turn.lookAhead(rows + 1, [&](int strip, int part) {
          fusec::fetchRun(x + strip * n + part * 8, n - part * 8);
        });
      });
}

namespace {

/// Runs a grid of blocks on two threads.
template <class... Params>
void launch(void (*kernel)(Params...), int blocks, Params... params) {
  void *pointers[] = {&params...};
  const int grid[3] = {blocks, 1, 1};
  std::thread other(
      [&] { fusec::launch::runBlocks(kernel, pointers, grid, 0, blocks / 2); });
  fusec::launch::runBlocks(kernel, pointers, grid, blocks / 2, blocks);
  other.join();
}

TEST(Kernel, PointwiseWithTail) {
  for (fusec::i64 n : {0, 1, 7, 8, 100, 1001}) {
    std::vector<float> x(n + 8);
    std::vector<fusec::f16> scale(n + 8);
    std::vector<fusec::bf16> y(n + 8, fusec::bf16{0xffff});
    std::vector<fusec::boolean> positive(n + 8, fusec::boolean(false));
    for (fusec::i64 i = 0; i < n; ++i) {
      x[i] = float(i % 13) - 6;
      scale[i] = fusec::cast<fusec::f16>(float(i % 5));
    }
    const float *xs = x.data();
    const fusec::f16 *ss = scale.data();
    launch(addMulSigmoid, 3, xs, ss, y.data(), positive.data(), n);
    for (fusec::i64 i = 0; i < n; ++i) {
      float want = 1 / (1 + std::exp(-(x[i] * float(i % 5) + 1)));
      EXPECT_NEAR(fusec::cast<float>(y[i]), want, want / 128);
      EXPECT_EQ(bool(positive[i]), x[i] > 0);
    }
    EXPECT_EQ(y[n].bits, 0xffff);
  }
}

TEST(Vector, SinesOfVectorsAreThoseOfTheirElements) {
  fusec::Vec<float, 8> near, mixed;
  for (int i = 0; i < 8; ++i) {
    near[i] = 0.5f + 7000 * i;
    mixed[i] = i % 3 ? near[i] : 1e5f * i + 7e4f;
  }
  mixed[7] = HUGE_VALF;
  for (const auto &x : {near, mixed}) {
    fusec::Vec<float, 8> sines = fusec::fast::sin(x),
                         cosines = fusec::fast::cos(x);
    auto both = fusec::fast::sinCos(x);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(fusec::primitive::bitsOf(sines[i]),
                fusec::primitive::bitsOf(fusec::fast::sin(x[i])));
      EXPECT_EQ(fusec::primitive::bitsOf(cosines[i]),
                fusec::primitive::bitsOf(fusec::fast::cos(x[i])));
      auto ofOne = fusec::fast::sinCos(x[i]);
      EXPECT_EQ(fusec::primitive::bitsOf(both.sine[i]),
                fusec::primitive::bitsOf(ofOne.sine));
      EXPECT_EQ(fusec::primitive::bitsOf(both.cosine[i]),
                fusec::primitive::bitsOf(ofOne.cosine));
    }
  }
}

TEST(Vector, QuotientsOfVectorsAreThoseOfTheirElements) {
  std::vector<float> values = {0.0f,   -0.0f, HUGE_VALF, -HUGE_VALF, NAN,
                               1e-42f, 3e38f, -1e-30f,   1.0f,       -1.0f};
  fusec::u32 state = 1;
  for (int i = 0; i < 300; ++i) {
    state = state * 1664525u + 1013904223u;
    // Of 2^-90 to 2^90, of either sign.
    fusec::u32 exponent = 37 + state % 180, sign = state & 0x80000000u;
    values.push_back(fusec::primitive::floatOf(sign | exponent << 23 |
                                               (state >> 8 & 0x7fffff)));
  }
  auto expectSame = [](float quotient, float x, float y) {
    if (x / y == x / y)
      EXPECT_EQ(fusec::primitive::bitsOf(quotient),
                fusec::primitive::bitsOf(x / y))
          << x << " / " << y;
    else
      EXPECT_NE(quotient, quotient) << x << " / " << y;
  };
  for (size_t first = 0; first + 4 <= values.size(); ++first) {
    fusec::Vec<float, 4> x, divisors;
    for (int i = 0; i < 4; ++i) {
      x[i] = values[first + i];
      divisors[i] = values[(first * 7 + i * i) % values.size()];
    }
    for (float y : values) {
      fusec::Vec<float, 3> quotients = fusec::divide<3>(x, y);
      for (int i = 0; i < 3; ++i)
        expectSame(quotients[i], x[i], y);
    }
    fusec::Vec<float, 4> quotients = fusec::divide<4>(x, divisors);
    for (int i = 0; i < 4; ++i)
      expectSame(quotients[i], x[i], divisors[i]);
  }
}

TEST(Kernel, HostEntry) {
  float x = 0;
  fusec::f16 scale{0};
  fusec::bf16 y{0};
  fusec::boolean positive(true);
  const float *xs = &x;
  const fusec::f16 *ss = &scale;
  fusec::bf16 *ys = &y;
  fusec::boolean *ps = &positive;
  fusec::i64 n = 1;
  void *params[] = {&xs, &ss, &ys, &ps, &n};
  const int grid[3] = {1, 1, 1};
  addMulSigmoid_host(params, grid, 0, 1);
  EXPECT_NEAR(fusec::cast<float>(y), 0.731f, 0.004f);
  EXPECT_FALSE(positive);
}

TEST(Kernel, SoftmaxInBlockAndWarp) {
  fusec::i64 rows = 5;
  int n = 100;
  std::vector<float> x(rows * n), y(rows * n), z(rows * n);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * 7919 % 1000) / 100;
  const float *xs = x.data();
  launch(softmaxBlock, 2, xs, y.data(), rows, n);
  launch(softmaxWarp, 2, xs, z.data(), rows, n);
  for (fusec::i64 r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < n; ++i)
      sum += std::exp(double(x[r * n + i]));
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(y[r * n + i], std::exp(double(x[r * n + i])) / sum, 1e-6);
      EXPECT_EQ(y[r * n + i], z[r * n + i]);
    }
  }
}

TEST(Kernel, ArgReductions) {
  double nan = std::nan("");
  std::vector<double> x = {1, 3, 3, 0, 0, 2, 1, nan, 9, nan, 5, 5};
  std::vector<fusec::i64> first(2), last(2);
  const double *xs = x.data();
  launch(arg, 1, xs, first.data(), last.data(), fusec::i64(2), 6);
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(last[0], 4);
  EXPECT_EQ(first[1], 1);
  EXPECT_EQ(last[1], 3);
}

/// Of NaNs, or else of the extremes, the first or the last.
static fusec::i64 findPlace(const float *row, int n, int sign, bool last) {
  fusec::i64 place = 0;
  for (int i = 1; i < n; ++i) {
    const float best = row[place] * float(sign), next = row[i] * float(sign);
    const bool exceeds = std::isnan(next) ? !std::isnan(best) : next > best;
    const bool same = std::isnan(next) ? std::isnan(best) : next == best;
    if (exceeds || (same && last))
      place = i;
  }
  return place;
}

TEST(Kernel, PlacesAreFoundInVectors) {
  // Few values, so that extremes are equal within a vector and between them.
  constexpr int rows = 6;
  for (int n : {1, 3, 4, 7, 13, 127, 1000}) {
    std::vector<float> x(rows * n);
    unsigned state = 1;
    for (int i = 0; i < rows * n; ++i) {
      state = state * 1664525 + 1013904223;
      const int row = i / n, value = int(state >> 24) % 4;
      x[i] = row == 0                 ? -HUGE_VALF
             : row == 1               ? HUGE_VALF
             : row == 2 && value == 3 ? std::nanf("")
             : row == 3               ? (value % 2 ? 0.0f : -0.0f)
                                      : float(value);
    }
    std::vector<fusec::i64> first(rows), last(rows);
    const float *xs = x.data();
    launch(places, 2, xs, first.data(), last.data(), fusec::i64(rows), n);
    for (int row = 0; row < rows; ++row) {
      EXPECT_EQ(first[row], findPlace(xs + row * n, n, 1, false)) << n << row;
      EXPECT_EQ(last[row], findPlace(xs + row * n, n, -1, true)) << n << row;
    }
  }
}

TEST(Kernel, SpansAreWalkedWhereverTheyBegin) {
  for (int begin = 0; begin < 9; ++begin)
    for (int length = 0; length < 60; ++length) {
      const int end = begin + length;
      std::vector<int> seen(80);
      launch(visits, 1, seen.data(), begin, end);
      for (int k = 0; k < int(seen.size()); ++k)
        EXPECT_EQ(seen[k], k >= begin && k < end) << begin << ' ' << length;
    }
}

TEST(Kernel, EmptyRowsGiveTheIdentity) {
  typedef fusec::ThreadScope Scope;
  auto none = [](int) { return 1.0f; };
  EXPECT_EQ((fusec::reduceRow<Scope, fusec::Sum<float>>(0, none)), 0.0f);
  EXPECT_EQ((fusec::reduceRow<Scope, fusec::Product<float>>(0, none)), 1.0f);
  EXPECT_EQ((fusec::reduceRow<Scope, fusec::Max<float>>(0, none)), -HUGE_VALF);
  EXPECT_EQ((fusec::reduceRow<Scope, fusec::Min<fusec::i8>>(
                0, [](int) { return fusec::i8(1); })),
            127);
  EXPECT_EQ((fusec::reduceRow<Scope, fusec::Max<fusec::i64>>(
                0, [](int) { return fusec::i64(1); })),
            fusec::Limits<fusec::i64>::lowest);
}

TEST(Kernel, LookupChecksEveryIndex) {
  std::vector<float> table = {1, 2, 3, 4, 5, 6};
  std::vector<fusec::i64> ids = {0, 2,  -1,
                                 3, -4, fusec::Limits<fusec::i64>::lowest};
  std::vector<float> y(12);
  fusec::u64 faults = 0;
  const float *ts = table.data();
  const fusec::i64 *is = ids.data();
  launch(lookup, 2, ts, is, y.data(), fusec::i64(6), fusec::i64(3), 2, &faults);
  EXPECT_EQ(y, (std::vector<float>{1, 2, 5, 6, 5, 6, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(faults, 3u);
  fusec::i64 row;
  EXPECT_TRUE(
      fusec::gatherRow<fusec::GatherPolicy::Clamp>(-9, 3, row, nullptr));
  EXPECT_EQ(row, 0);
  EXPECT_TRUE(fusec::gatherRow<fusec::GatherPolicy::Clamp>(9, 3, row, nullptr));
  EXPECT_EQ(row, 2);
  EXPECT_FALSE(
      fusec::gatherRow<fusec::GatherPolicy::Clamp>(0, 0, row, nullptr));
  EXPECT_FALSE(fusec::gatherRow<fusec::GatherPolicy::Zero>(3, 3, row, nullptr));
  EXPECT_FALSE(fusec::findRow<fusec::GatherPolicy::Flag>(-4, 3, row));
  EXPECT_EQ(row, 0);
  fusec::countMissing(false, &faults);
  fusec::countMissing(true, &faults);
  EXPECT_EQ(faults, 4u);
  const auto read = fusec::load<2>(table.data() + 2);
  EXPECT_EQ(fusec::orZeros(true, read)[1], 4);
  EXPECT_EQ(fusec::orZeros(false, read)[1], 0);
}

// Sums of groups of parts, of several rows, by blocks that two threads take in
// any order; flags are as they were behind a launch, but for how many there
// were.
TEST(Kernel, CumulativeSumsOfGroups) {
  for (int n : {1, 8, 31, 33, 71, 200}) {
    const int rows = 3, parts = (n + 7) / 8;
    std::vector<fusec::u32> flags(fusec::ScanWords::flags +
                                  2 * rows * (parts + (parts + 3) / 4));
    std::vector<int> x(rows * n), y(rows * n);
    for (int turn = 0; turn < 3; ++turn) {
      for (int i = 0; i < rows * n; ++i)
        x[i] = (i * 7 + turn) % 13 - 5;
      y.assign(rows * n, -1);
      const int *xs = x.data();
      launch(sums, rows * parts, xs, y.data(), flags.data(), rows, n);
      for (int row = 0, i = 0; row < rows; ++row)
        for (int k = 0, sum = 0; k < n; ++k, ++i)
          ASSERT_EQ(y[i], sum += x[i]) << n << " " << row << " " << k;
      EXPECT_EQ(flags[0], 0u);
      EXPECT_EQ(flags[1], 0u);
      EXPECT_EQ(flags[fusec::ScanWords::launches], fusec::u32(turn + 1));
    }
  }
}

} // namespace
