// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all matmul templates share: the root acc[j] = sum over segments of
// A . B[j], its matrices, the order of tiles, and the host's plain version,
// by which emitted kernels run and are tested without a GPU.

#ifndef FUSEC_KERNELS_GEMM_H
#define FUSEC_KERNELS_GEMM_H

#include "epilogue_rows.h"
#include "gemm_config.h"

namespace fusec {

/// Which axis of a matrix has stride 1: the contracted one, the other one
/// ("outer": rows of A, columns of B), or neither.
enum class Major { K, Outer, Strided };

/// An operand. Element (outer, k) lies at outer * stride + k (Major::K),
/// k * stride + outer (Major::Outer), or outer * stride + k * kStride.
/// `Alignment` bytes are guaranteed for pointer, stride and batch offsets.
/// A null pointer is a matrix of zeros.
template <class T, Major Order = Major::K, int Alignment = sizeof(T),
          class Batch = Unbatched>
struct Matrix {
  typedef T Element;
  static constexpr Major major = Order;
  static constexpr int alignment = Alignment;
  const T *pointer;
  i64 stride;
  Batch batch = {};
  i64 kStride = 1;

  FUSEC_DEVICE i64 offset(i64 outer, i64 k) const {
    if constexpr (Order == Major::K)
      return outer * stride + k;
    else if constexpr (Order == Major::Outer)
      return k * stride + outer;
    else
      return outer * stride + k * kStride;
  }
  FUSEC_DEVICE const T *at(i64 batchIndex) const {
    return pointer ? pointer + batch.offset(batchIndex) : pointer;
  }
};

/// An element as it is multiplied.
template <class MatrixType>
FUSEC_DEVICE typename MatrixType::Element
elementAt(const MatrixType &matrix, i64 batch, i64 outer, i64 k) {
  return matrix.at(batch)[matrix.offset(outer, k)];
}

/// One K-segment: A (M x k) times B[j] (k x N) for each accumulator j.
template <class MatrixA, class MatrixB, int J = 1> struct Segment {
  typedef MatrixA A;
  typedef MatrixB B;
  static constexpr int accumulators = J;
  MatrixA a;
  MatrixB b[J];
  int k;

  /// The ks of a batch.
  FUSEC_DEVICE KRange range(i64) const { return wholeRange(k); }
};

/// The batch axis of a matrix whose batches are ranges of `k` ks, which begin
/// `stride` elements behind one another. What the copy engine reads may be
/// shared out otherwise: `turns`, if not 0, are all ranges, and each has every
/// turns-th tile of K.
struct KRanges {
  i64 stride;
  int k, turns = 0;
  FUSEC_DEVICE i64 offset(i64 index) const { return index * stride; }
  /// Where the tile at `at` of a range lies along the whole K.
  FUSEC_DEVICE int placeOf(int at, int range, int tileK) const {
    return turns ? at * turns + range * tileK : at + range * k;
  }
};
/// A segment of such matrices, whose K is `whole`: the last range is what
/// remains, and those behind it are empty.
template <class One> struct Ranges : One {
  int whole;

  FUSEC_DEVICE KRange range(i64 batch) const {
    i64 rest = whole - batch * One::k;
    return wholeRange(rest < One::k ? int(rest) : One::k);
  }
};

struct Shape {
  int m, n, batch;
};

/// a * b + c in the accumulator's type; integers wrap.
template <class T> FUSEC_DEVICE T accumulate(T a, T b, T c) {
  if constexpr (isInteger<T>)
    return intAdd(intMul(a, b), c);
  else
    return multiplyAdd(a, b, c);
}

#ifdef FUSEC_HOST
namespace detail {
template <class Acc, int J, class SegmentType>
void hostSegment(const SegmentType &s, KRange range, i64 batch, int row,
                 int column, Acc (&acc)[J]) {
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  for (int j = 0; j < J; ++j) {
    if (!s.a.pointer || !s.b[j].pointer)
      continue;
    for (int k = range.first; k < range.last; ++k)
      acc[j] =
          accumulate(cast<Acc>(elementAt(s.a, batch, row, k)),
                     cast<Acc>(elementAt(s.b[j], batch, column, k)), acc[j]);
  }
}
} // namespace detail

/// The tile of this block, element by element.
template <class Config, class Epilogue, class... Segments>
void hostGemm(const Shape &shape, const Epilogue &epilogue,
              const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  constexpr int V = epilogueVector<Epilogue>;
  typedef typename Epilogue::Accumulator Acc;
  if (shape.m == 0 || shape.n == 0)
    return; // Vector kernels have blocks for rows without columns.
  TilePlace tile = tileOf(launch::block(), tilesOf(shape.m, Config::tileM),
                          tilesOf(shape.n, Config::tileN));
  int rowEnd = min((tile.m + 1) * Config::tileM, shape.m);
  int columnEnd = min((tile.n + 1) * Config::tileN, shape.n);
  auto readRun = [&](int row, int column, Acc(&runs)[J][V]) {
    for (int v = 0; v < V; ++v) {
      Acc acc[J] = {};
      if (column + v < columnEnd)
        (detail::hostSegment(segments, segments.range(tile.batch), tile.batch,
                             row, column + v, acc),
         ...);
      for (int j = 0; j < J; ++j)
        runs[j][v] = acc[j];
    }
  };
  for (int row = tile.m * Config::tileM; row < rowEnd; ++row) {
    if constexpr (reducesRows<Epilogue>) {
      evaluateRow<1, V, tilesOf(Config::tileN, V)>(
          epilogue, tile.batch, row, shape.n, [](int slot) { return slot * V; },
          [&](int column, Acc(&runs)[J][V]) { readRun(row, column, runs); });
    } else {
      for (int column = tile.n * Config::tileN; column < columnEnd;
           column += V) {
        Acc runs[J][V];
        readRun(row, column, runs);
        evaluateRun(epilogue, tile.batch, row, column, columnEnd, runs);
      }
    }
  }
}

/// The tiles first, first + step, ... of all.
template <class Config, class Epilogue, class... Segments>
void hostTiles(int first, int step, const Shape &shape,
               const Epilogue &epilogue, const Segments &...segments) {
  int tiles = tilesOf(shape.m, Config::tileM) *
              tilesOf(shape.n, Config::tileN) * shape.batch;
  int &block = launch::coordinates.block[0];
  int own = block;
  for (block = first; block < tiles; block += step)
    hostGemm<Config>(shape, epilogue, segments...);
  block = own;
}
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_H
