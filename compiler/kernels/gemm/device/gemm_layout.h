// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic of the tensor-core tiles: swizzles of shared memory and the
// places of fragments. Constant functions, tested on the host.

#ifndef FUSEC_KERNELS_GEMM_LAYOUT_H
#define FUSEC_KERNELS_GEMM_LAYOUT_H

#include "gemm.h"

namespace fusec {

/// A tile in shared memory: rows of 16-byte chunks, the chunks of a row
/// permuted by XOR so that eight rows at one chunk index, or one row at eight,
/// touch all 32 banks. Rows run along the contiguous axis of the matrix: a row
/// is an outer index (K-major) or a k (outer-major).
template <class T, bool AlongK, int Tile, int TileK> struct SharedTile {
  static constexpr int rows = AlongK ? Tile : TileK;
  static constexpr int rowElements = AlongK ? TileK : Tile;
  static constexpr int chunkElements = 16 / int(sizeof(T));
  static constexpr int chunksPerRow = rowElements / chunkElements;
  static constexpr int bytes = Tile * TileK * int(sizeof(T));
  static_assert(rowElements % chunkElements == 0 &&
                    (chunksPerRow == 2 || chunksPerRow == 4 ||
                     chunksPerRow % 8 == 0),
                "rows of whole swizzle atoms");
  /// Rows of tf32 that lie along the outer axis are read word by word, four
  /// neighbouring ks by two chunks at a time, rather than by ldmatrix.
  static constexpr bool byWords = !AlongK && sizeof(T) == 4;
  static_assert(!byWords || chunksPerRow % 8 == 0, "whole atoms for tf32");

  static constexpr FUSEC_DEVICE int swizzle(int row, int chunk) {
    if (byWords)
      return chunk ^ (row & 3) * 2;
    if (chunksPerRow % 8 == 0)
      return chunk ^ (row & 7);
    return chunksPerRow == 4 ? chunk ^ (row >> 1 & 3) : chunk ^ (row >> 2 & 1);
  }
  /// Byte offset of a chunk in the tile.
  static constexpr FUSEC_DEVICE int offset(int row, int chunk) {
    return (row * chunksPerRow + swizzle(row, chunk)) * 16;
  }
  /// Byte offset of an element.
  static constexpr FUSEC_DEVICE int elementOffset(int outer, int k) {
    int row = AlongK ? outer : k, column = AlongK ? k : outer;
    return offset(row, column / chunkElements) +
           column % chunkElements * int(sizeof(T));
  }
};

/// Where a lane points ldmatrix.x4, relative to the 16 (outer) x 32 bytes (k)
/// block of a fragment: outer index and 16-byte half along k. Operand A wants
/// its four 8 x 8 matrices in the order (0,0) (8,0) (0,1) (8,1) of (outer,
/// half); B in the order (0,0) (0,1) (8,0) (8,1), two n8 fragments at once.
struct FragmentPlace {
  int outer, half;
};
constexpr FUSEC_DEVICE FragmentPlace fragmentOfA(int lane) {
  return FragmentPlace{(lane & 7) + (lane >> 3 & 1) * 8, lane >> 4};
}
constexpr FUSEC_DEVICE FragmentPlace fragmentOfB(int lane) {
  return FragmentPlace{(lane & 7) + (lane >> 4) * 8, lane >> 3 & 1};
}

/// The same for 16-bit tiles whose rows lie along the outer axis, read
/// transposed: the k (of 16) and the outer index (0 or 8) of a lane's row.
struct TransposedPlace {
  int k, outer;
};
constexpr FUSEC_DEVICE TransposedPlace transposedOfA(int lane) {
  return TransposedPlace{(lane & 7) + (lane >> 4) * 8, (lane >> 3 & 1) * 8};
}
constexpr FUSEC_DEVICE TransposedPlace transposedOfB(int lane) {
  return TransposedPlace{(lane & 7) + (lane >> 3 & 1) * 8, (lane >> 4) * 8};
}

/// Row and first column, in a 16 x 8 block, of accumulators 2 * half and
/// 2 * half + 1 of a lane.
struct AccumulatorPlace {
  int row, column;
};
constexpr FUSEC_DEVICE AccumulatorPlace accumulatorPlace(int lane, int half) {
  return AccumulatorPlace{(lane >> 2) + half * 8, (lane & 3) * 2};
}

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_LAYOUT_H
