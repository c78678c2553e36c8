// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of vector kernels and their grid. Plain C++ arithmetic:
// generated kernels, the scheduler and the host tests share it.

#ifndef FUSEC_KERNELS_GEMV_CONFIG_H
#define FUSEC_KERNELS_GEMV_CONFIG_H

#include "gemm_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Vector kernels for one narrow side of at most `small` rows or columns, of
/// blocks of `threads`.
template <class Tiling> struct GemvConfig : Tiling {
  static constexpr int warps = Tiling::threads / 32;
  static_assert(Tiling::threads >= 64 && Tiling::threads % 32 == 0 &&
                    Tiling::small >= 1 && Tiling::small <= 8,
                "a narrow side, and a thread for each outer index of a block");
};

/// Which side of the result is narrow: columns or rows.
enum class Narrow { N, M };

/// Outer indices (of the wide operand: rows of A, columns of B) of one block.
/// `wideAlongK`: the first segment's wide operand is Major::K.
constexpr FUSEC_DEVICE int gemvOuters(bool wideAlongK, int threads) {
  return wideAlongK ? threads / 32 : 64;
}
constexpr FUSEC_DEVICE int gemvBlocks(int outers, int batch, bool wideAlongK,
                                      int threads) {
  return tilesOf(outers, gemvOuters(wideAlongK, threads)) * batch;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMV_CONFIG_H
