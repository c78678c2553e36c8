// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of FMA tiles and their shared memory. Plain C++ arithmetic:
// generated kernels, the scheduler and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_SIMT_CONFIG_H
#define FUSEC_KERNELS_GEMM_SIMT_CONFIG_H

#include "gemm_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Register-blocked FMA tiles for every type: tileM, tileN, tileK, threadM,
/// threadN. A block is (tileM / threadM) * (tileN / threadN) threads.
template <class Tiling> struct SimtConfig : Tiling {
  static constexpr int threads =
      (Tiling::tileM / Tiling::threadM) * (Tiling::tileN / Tiling::threadN);
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps");
};

/// Words of padding behind each row of a SIMT tile, against bank conflicts.
constexpr int simtPadding = 4;

/// Dynamic shared memory of gemmSimt: two buffers of A and of J times B.
constexpr FUSEC_DEVICE int simtSharedBytes(int tileM, int tileN, int tileK,
                                           int accumulators,
                                           int accumulatorBytes) {
  return 2 * tileK *
         (tileM + simtPadding + accumulators * (tileN + simtPadding)) *
         accumulatorBytes;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_SIMT_CONFIG_H
