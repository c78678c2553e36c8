// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices and results that the copy engine moves: how a tile lies in shared
// memory, and its descriptor for wgmma.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_OPERAND_H
#define FUSEC_KERNELS_GEMM_WGMMA_OPERAND_H

#include "gemm_made.h"
#include "gemm_wgmma_config.h"
#include "prelude_hopper.h"
#include "prelude_wgmma.h"

namespace fusec {

/// A matrix, or a result, with its tensor map: sizes and strides of (inner,
/// outer) or (inner, outer, batch), the box of wgmmaBox or wgmmaResultBox. The
/// pointer is what the host uses; it is never null. `KBytes`, of a matrix: the
/// wgmmaKBytes() of its segment.
template <class Described, int KBytes = wgmmaRowBytes>
struct Mapped : Described {
  const TensorMap *map;
};

#ifndef FUSEC_HOST
namespace detail {

template <class MatrixType> constexpr int kBytesOf = wgmmaRowBytes;
template <class Described, int KBytes>
constexpr int kBytesOf<Mapped<Described, KBytes>> = KBytes;

/// How a tile of a matrix, `Tile` outer indices by `kBytes` of K, lies in
/// shared memory. It is loaded in boxes; block i of the `Parts` that share it
/// copies each Parts-th of them to all.
template <class Multiplied, int Tile, int Parts = 1> struct WgmmaOperand {
  typedef typename MatrixSource<Multiplied>::Type MatrixType;
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major == Major::K;
  static constexpr bool isMade = MatrixSource<Multiplied>::isMade;
  static_assert(MatrixType::major != Major::Strided &&
                    (alongK || (sizeof(T) == 2 && !isMade)),
                "a matrix that the tensor cores read from shared memory");
  static constexpr int kBytes = kBytesOf<MatrixType>;
  static constexpr WgmmaBox box =
      wgmmaBox(alongK, alongK ? Tile / Parts : Tile, sizeof(T), kBytes);
  static constexpr int boxes = alongK ? Parts : box.count;
  static constexpr int outers = alongK ? box.outer : box.inner;
  static constexpr u32 boxBytes = box.inner * box.outer * sizeof(T);
  static constexpr u32 bytes = boxes * boxBytes;
  static_assert(boxBytes % (8 * box.swizzle) == 0 && boxes >= Parts,
                "whole swizzle atoms, and a box for each block");

  static FUSEC_DEVICE void prefetch(const MatrixType &matrix) {
    primitive::prefetchMap(matrix.map);
  }
  /// Copies this block's boxes of the tile at (outer, k) to shared memory;
  /// those of streams by the cache policy.
  template <bool Streamed = false>
  static FUSEC_DEVICE void copy(const MatrixType &matrix, u32 to, u32 barrier,
                                int outer, int k, int batch, int block = 0,
                                u64 policy = 0) {
    static_assert(!Streamed || Parts == 1, "no policy of shared copies");
    if constexpr (isSame<decltype(matrix.batch), KRanges>)
      k = matrix.batch.placeOf(k, batch, kBytes / int(sizeof(T)));
    FUSEC_UNROLL
    for (int i = 0; i < tilesOf(boxes, Parts); ++i) {
      int id = i * Parts + (Parts > 1 ? block : 0);
      if (boxes % Parts != 0 && id >= boxes)
        break;
      auto copyAt = [&](auto... place) {
        if constexpr (Streamed)
          primitive::copyBoxAs(policy, to + id * boxBytes, matrix.map, barrier,
                               place...);
        else
          primitive::copyBox<Parts>(to + id * boxBytes, matrix.map, barrier,
                                    place...);
      };
      int at = outer + id * outers;
      int x = alongK ? k : at, y = alongK ? at : k;
      if constexpr (isSame<decltype(matrix.batch), Unbatched> ||
                    isSame<decltype(matrix.batch), KRanges>)
        copyAt(x, y);
      else
        copyAt(x, y, batch);
    }
  }
  /// Start address, distance of boxes (outer-major: leading dimension),
  /// distance of groups of eight rows, in units of 16; the swizzle.
  static FUSEC_DEVICE u64 descriptor(u32 address) {
    constexpr u64 swizzle = box.swizzle == 128 ? 1 : box.swizzle == 64 ? 2 : 3;
    constexpr u64 fixed = u64(boxBytes / 16) << 16 |
                          u64(8 * box.swizzle / 16) << 32 | swizzle << 62;
    return fixed | (address & 0x3ffff) >> 4;
  }
  /// Bytes from 64 outer indices to the next.
  static constexpr u32 blockBytes = 64 * kBytes;
  /// What a step of 32 bytes of K adds to the descriptor.
  static constexpr u64 step = (alongK ? 32 : 16 * box.swizzle) / 16;
};

} // namespace detail
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_WGMMA_OPERAND_H
