// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrow products that follow one another in one launch. A block owns a tile of
// rows; everything a chain reads is copied to shared memory at once, so that
// memory is waited for a single time, and each phase contracts over what the
// phases before left there. Sums are exact FMAs in the order of k.

#ifndef FUSEC_KERNELS_CHAIN_H
#define FUSEC_KERNELS_CHAIN_H

#include "prelude.h"

#include "chain_config.h"
#include "gemm.h"
#ifndef FUSEC_HOST
#include "prelude_tensor.h"
#endif

namespace fusec {

/// Rows x Columns elements in shared memory.
template <class T, int Rows, int Columns> struct ChainTile {
  typedef T Element;
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int stride = chainStride(Columns, int(sizeof(T)));
  alignas(16) T at[Rows * stride];
};

/// The block's shared memory: a struct of tiles, as large as the launch says.
template <class Shared> FUSEC_DEVICE Shared &chainShared() {
#ifdef FUSEC_HOST
  static thread_local Shared shared;
  return shared;
#else
  return *reinterpret_cast<Shared *>(launch::sharedMemory());
#endif
}

namespace detail {
/// Copies that nobody waits for before `waitStaged`; those of less than 4 bytes
/// go through registers.
template <int V, class T> FUSEC_DEVICE void copyStaged(T *to, const T *from) {
#ifndef FUSEC_HOST
  constexpr int bytes = V * int(sizeof(T));
  if constexpr (bytes >= 4)
    primitive::copyAsync<bytes>(primitive::sharedAddress(to), from, bytes);
  else
#endif
    store<V>(to, load<V>(from));
}

/// Calls body(i) for each i below `count`, which is at most Most, in one of the
/// block's threads, that of 0 being the first one of `warp`: small copies, one
/// behind the other, are not all the same warp's.
template <int Most, class Body>
FUSEC_DEVICE void shareOut(int count, [[maybe_unused]] int warp, Body body) {
#ifdef FUSEC_HOST
  for (int i = 0; i < count; ++i)
    body(i);
#else
  int i = launch::thread() - warp % (chainLeastThreads / 32) * 32;
  if (i < 0)
    i += launch::threads();
  if constexpr (Most <= chainLeastThreads) {
    if (i < count)
      body(i);
  } else {
    // Nothing waits here; what counts is how little code there is to fetch.
    FUSEC_UNROLL_BY(1)
    for (; i < count; i += launch::threads())
      body(i);
  }
#endif
}

template <int V, class Tile>
FUSEC_DEVICE void stageVectors(Tile &tile, const typename Tile::Element *from,
                               i64 rowStride, i64 columnStride, int warp,
                               int rows) {
  constexpr int perRow = Tile::columns / V;
  shareOut<Tile::rows * perRow>(rows * perRow, warp, [&](int i) {
    const int row = i / perRow, column = i % perRow * V;
    copyStaged<V>(tile.at + row * Tile::stride + column,
                  from + row * rowStride + column * columnStride);
  });
}
} // namespace detail

/// Starts to copy the first `rows` rows of a tile from rows that lie
/// contiguously; `warp` has the first vector. `Alignment` (bytes) is guaranteed
/// for pointer and stride.
template <int Alignment, class Tile>
FUSEC_DEVICE void stage(Tile &tile, const typename Tile::Element *from,
                        i64 stride, int warp = 0, int rows = Tile::rows) {
  typedef typename Tile::Element T;
  constexpr int size = int(sizeof(T));
  constexpr int V =
      vectorOf<T>(Tile::columns * size, vectorOf<T>(Alignment, 16 / size));
  detail::stageVectors<V>(tile, from, stride, 1, warp, rows);
}
/// The same of elements that lie anyhow.
template <class Tile>
FUSEC_DEVICE void stageEach(Tile &tile, const typename Tile::Element *from,
                            i64 rowStride, i64 columnStride, int warp = 0,
                            int rows = Tile::rows) {
  detail::stageVectors<1>(tile, from, rowStride, columnStride, warp, rows);
}

FUSEC_DEVICE void waitStaged() {
#ifndef FUSEC_HOST
  primitive::commitCopies();
  primitive::waitCopies<0>();
#endif
  launch::barrier();
}

/// Calls body(first, count) for the block's tiles of rows.
template <int Rows, class Body>
FUSEC_DEVICE void forEachRowTile(i64 rows, Body body) {
  for (i64 first = i64(launch::block()) * Rows; first < rows;
       first += i64(launch::blocks()) * Rows)
    body(first, int(min(rows - first, i64(Rows))));
}

/// A matrix in shared memory: its element (outer, k), outer being the row of A
/// and the column of B.
template <class T, Major Order, int Stride> struct HeldMatrix {
  const T *pointer;

  template <int V, class Acc>
  FUSEC_DEVICE void read(int outer, int k, Acc (&out)[V]) const {
    if constexpr (Order == Major::K) {
      const Vec<T, V> v = load<V>(pointer + outer * Stride + k);
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        out[i] = cast<Acc>(v[i]);
    } else {
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        out[i] = cast<Acc>(pointer[(k + i) * Stride + outer]);
    }
  }
};

/// A tile whose rows lie along K; `first` is its column where k = 0, a multiple
/// of 4.
template <class T, int Rows, int Columns>
FUSEC_DEVICE HeldMatrix<T, Major::K, ChainTile<T, Rows, Columns>::stride>
alongK(const ChainTile<T, Rows, Columns> &tile, int first = 0) {
  return {tile.at + first};
}
/// A tile whose rows are the ks.
template <class T, int Rows, int Columns>
FUSEC_DEVICE HeldMatrix<T, Major::Outer, ChainTile<T, Rows, Columns>::stride>
acrossK(const ChainTile<T, Rows, Columns> &tile) {
  return {tile.at};
}

/// One K-segment of a phase.
template <int K, class A, class B, int J> struct ChainSegment {
  A a;
  B b[J];
};
template <int K, class A, class First, class... Rest>
FUSEC_DEVICE ChainSegment<K, A, First, 1 + int(sizeof...(Rest))>
chainSegment(A a, First first, Rest... rest) {
  return {a, {first, rest...}};
}

namespace detail {
template <int V, int K, class A, class B, int J, class Acc, int PerThread>
FUSEC_DEVICE void chainStep(const ChainSegment<K, A, B, J> &segment, int row,
                            int column, int k, Acc (&acc)[PerThread][J][1]) {
  Acc a[PerThread][V];
  FUSEC_UNROLL
  for (int r = 0; r < PerThread; ++r)
    segment.a.read(row + r, k, a[r]);
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j) {
    Acc b[V];
    segment.b[j].read(column, k, b);
    FUSEC_UNROLL
    for (int r = 0; r < PerThread; ++r) {
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        acc[r][j][0] = accumulate(a[r][i], b[i], acc[r][j][0]);
    }
  }
}

template <int K, class A, class B, int J, class Acc, int PerThread>
FUSEC_DEVICE void chainSum(const ChainSegment<K, A, B, J> &segment, int row,
                           int column, Acc (&acc)[PerThread][J][1]) {
  constexpr int whole = K / 4 * 4;
  // Sixteen values of A in flight, however many rows they belong to.
  [[maybe_unused]] constexpr int unrolled = PerThread < 4 ? 4 / PerThread : 1;
  FUSEC_UNROLL_BY(unrolled)
  for (int k = 0; k < whole; k += 4)
    chainStep<4>(segment, row, column, k, acc);
  FUSEC_UNROLL
  for (int k = whole; k < K; ++k)
    chainStep<1>(segment, row, column, k, acc);
}
} // namespace detail

/// One product with its epilogue for the tile's first `rows` rows. A thread
/// sums PerThread rows of a column, PerThread being a divisor of the tile's.
template <int PerThread, int Columns, class Epilogue, class... Segments>
FUSEC_DEVICE void chainPhase(int rows, const Epilogue &epilogue,
                             const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  const int count = (rows + PerThread - 1) / PerThread * Columns;
  for (int i = launch::thread(); i < count; i += launch::threads()) {
    const int row = i / Columns * PerThread, column = i % Columns;
    typename Epilogue::Accumulator acc[PerThread][J][1] = {};
    (detail::chainSum(segments, row, column, acc), ...);
    FUSEC_UNROLL
    for (int r = 0; r < PerThread; ++r)
      if (row + r < rows)
        evaluateRun(epilogue, 0, row + r, column, Columns, acc[r]);
  }
  launch::barrier();
}

} // namespace fusec

#endif // FUSEC_KERNELS_CHAIN_H
