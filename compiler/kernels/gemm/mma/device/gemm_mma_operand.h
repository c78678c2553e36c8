// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operand of a tensor-core tile: how its stages are filled by cp.async and
// how fragments are read from them.

#ifndef FUSEC_KERNELS_GEMM_MMA_OPERAND_H
#define FUSEC_KERNELS_GEMM_MMA_OPERAND_H

#include "gemm_layout.h"
#include "gemm_made.h"
#include "prelude_tensor.h"

namespace fusec {
namespace detail {

/// Fills the tile of an operand, a block of K after the other. Each thread
/// copies chunks of one column of chunks, `rowStep` rows apart.
template <class MatrixType, int Tile, int TileK, int Threads> struct MmaCopy {
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major != Major::Outer;
  typedef SharedTile<T, alongK, Tile, TileK> Layout;
  static constexpr int chunks = Layout::rows * Layout::chunksPerRow;
  static constexpr int count = (chunks + Threads - 1) / Threads;
  static constexpr int rowStep = Threads / Layout::chunksPerRow;
  static_assert(Threads % Layout::chunksPerRow == 0, "one column a thread");
  /// Bytes of one asynchronous copy. 0: with less than 4 bytes of alignment, or
  /// two strides, a thread loads element by element.
  static constexpr int copyBytes =
      MatrixType::major == Major::Strided || MatrixType::alignment < 4 ? 0
      : MatrixType::alignment < 16 ? MatrixType::alignment
                                   : 16;

  const T *pointer; // This thread's first chunk of the next tile of K.
  i64 rowPointer;   // From there to its next chunk, in elements.
  i64 advance;      // From one tile of K to the next, in elements.
  i64 elementStep;  // From one element of a chunk to the next.
  int row, column;  // Of the first chunk, as indices of the matrix.
  int rowLimit, columnLimit;

  FUSEC_DEVICE void start(const MatrixType &matrix, i64 batch, int firstOuter,
                          int outers, KRange range) {
    const T *base = matrix.at(batch);
    row = launch::thread() / Layout::chunksPerRow +
          (alongK ? firstOuter : range.first);
    column = launch::thread() % Layout::chunksPerRow * Layout::chunkElements +
             (alongK ? range.first : firstOuter);
    rowLimit = alongK ? outers : range.last;
    columnLimit = base == nullptr ? 0 : (alongK ? range.last : outers);
    pointer = base + (alongK ? matrix.offset(row, column)
                             : matrix.offset(column, row));
    rowPointer = rowStep * matrix.stride;
    advance = matrix.offset(0, TileK);
    elementStep = matrix.offset(alongK ? 0 : 1, alongK ? 1 : 0);
  }

  /// Starts the copies of a tile of K and moves on to the next.
  FUSEC_DEVICE void copy(u32 stage) {
    // Narrow copies are many instructions a chunk: unrolled, their addresses
    // alone would not fit in registers.
    if constexpr (copyBytes == 16) {
      FUSEC_UNROLL
      for (int i = 0; i < count; ++i)
        copyRow(stage, i);
    } else {
      FUSEC_UNROLL_BY(1)
      for (int i = 0; i < count; ++i)
        copyRow(stage, i);
    }
    pointer += advance;
    (alongK ? column : row) += TileK;
  }

  FUSEC_DEVICE void copyRow(u32 stage, int i) const {
    int tileRow = launch::thread() / Layout::chunksPerRow + i * rowStep;
    if (chunks % Threads != 0 && tileRow >= Layout::rows)
      return;
    int valid = row + i * rowStep < rowLimit ? columnLimit - column : 0;
    copyChunk(stage + Layout::offset(tileRow,
                                     launch::thread() % Layout::chunksPerRow),
              pointer + i * rowPointer, valid);
  }

  /// A chunk with its first `valid` elements; the others become zero.
  FUSEC_DEVICE void copyChunk(u32 to, const T *from, int valid) const {
    if constexpr (copyBytes != 0) {
      constexpr int elements = copyBytes / int(sizeof(T));
      FUSEC_UNROLL
      for (int e = 0; e < Layout::chunkElements; e += elements) {
        int rest = valid - e;
        rest = rest < 0 ? 0 : (rest < elements ? rest : elements);
        primitive::copyAsync<copyBytes>(to + e * int(sizeof(T)), from + e,
                                        rest * int(sizeof(T)));
      }
    } else {
      VecWords<T, Layout::chunkElements> u;
      FUSEC_UNROLL
      for (int e = 0; e < Layout::chunkElements; ++e)
        u.vector[e] = e < valid ? from[e * elementStep] : T{};
      primitive::storeShared(to, u.words[0]);
    }
  }
};

/// The same where elements are made: each thread makes those that it stores.
template <class Source, class Function, int Tile, int TileK, int Threads>
struct MmaCopy<Made<Source, Function>, Tile, TileK, Threads> {
  typedef Made<Source, Function> MatrixType;
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major != Major::Outer;
  typedef SharedTile<T, alongK, Tile, TileK> Layout;
  static constexpr int chunks = Layout::rows * Layout::chunksPerRow;

  const MatrixType *matrix;
  i64 batch;
  int firstRow, firstColumn; // of the next tile, as indices of the matrix
  int rowLimit, columnLimit;

  FUSEC_DEVICE void start(const MatrixType &made, i64 batchIndex,
                          int firstOuter, int outers, KRange range) {
    matrix = &made;
    batch = batchIndex;
    firstRow = alongK ? firstOuter : range.first;
    firstColumn = alongK ? range.first : firstOuter;
    rowLimit = alongK ? outers : range.last;
    columnLimit = alongK ? range.last : outers;
  }
  FUSEC_DEVICE void copy(u32 stage) {
    FUSEC_UNROLL_BY(1)
    for (int i = launch::thread(); i < chunks; i += Threads) {
      int tileRow = i / Layout::chunksPerRow, chunk = i % Layout::chunksPerRow;
      int row = firstRow + tileRow,
          column = firstColumn + chunk * Layout::chunkElements;
      VecWords<T, Layout::chunkElements> u;
      FUSEC_UNROLL
      for (int e = 0; e < Layout::chunkElements; ++e) {
        u.vector[e] = T{};
        if (row < rowLimit && column + e < columnLimit)
          u.vector[e] = elementAt(*matrix, batch, alongK ? row : column + e,
                                  alongK ? column + e : row);
      }
      primitive::storeShared(stage + Layout::offset(tileRow, chunk),
                             u.words[0]);
    }
    (alongK ? firstColumn : firstRow) += TileK;
  }
};

/// Reads 16 (outer) x 32 bytes (k) fragments of the part of a tile that starts
/// at outer index `first`. Steps along k and outer change disjoint bits of the
/// swizzled offset, so they are one XOR and one constant each. `Rounds`: floats
/// become tf32.
template <class Layout, class T, bool AlongK, bool IsA, bool Rounds>
struct MmaFragments {
  static constexpr int rowBytes = Layout::chunksPerRow * 16;
  u32 lane; // Offset in the tile of this lane's part of fragment (0, 0).

  FUSEC_DEVICE void start(int first) {
    int id = launch::lane();
    if constexpr (Layout::byWords) {
      lane = Layout::elementOffset(first + (id >> 2), id & 3);
    } else if constexpr (AlongK) {
      FragmentPlace at = IsA ? fragmentOfA(id) : fragmentOfB(id);
      lane = Layout::offset(first + at.outer, at.half);
    } else {
      TransposedPlace at = IsA ? transposedOfA(id) : transposedOfB(id);
      lane = Layout::elementOffset(first + at.outer, at.k);
    }
  }

  /// Fragment `i` (16 outer indices) of step `k` (32 bytes along k).
  FUSEC_DEVICE void read(u32 stage, int i, int k, u32 (&out)[4]) const {
    if constexpr (Layout::byWords) {
      FUSEC_UNROLL
      for (int part = 0; part < 4; ++part) {
        int outer = IsA ? part & 1 : part >> 1,
            half = IsA ? part >> 1 : part & 1;
        out[part] =
            primitive::loadShared(stage + (lane ^ u32(i * 64 + outer * 32)) +
                                  (k * 8 + half * 4) * rowBytes);
      }
    } else if constexpr (AlongK) {
      primitive::loadMatrix4(out,
                             stage + (lane ^ u32(k * 32)) + i * 16 * rowBytes);
    } else {
      primitive::loadMatrix4Transposed(out, stage + (lane ^ u32(i * 32)) +
                                                k * 16 * rowBytes);
    }
    if constexpr (Rounds) {
      FUSEC_UNROLL
      for (int part = 0; part < 4; ++part)
        out[part] = primitive::toTf32(out[part]);
    }
  }
};

} // namespace detail
} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_MMA_OPERAND_H
