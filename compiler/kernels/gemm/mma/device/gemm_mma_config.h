// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of mma.sync tiles and their shared memory. Plain C++
// arithmetic: generated kernels, the scheduler and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_MMA_CONFIG_H
#define FUSEC_KERNELS_GEMM_MMA_CONFIG_H

#include "gemm_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Tensor-core tiles of mma.sync: tileM, tileN, tileK, warpsM, warpsN, stages.
/// There are warpsM x warpsN warps, each a part of the tile; `tileN` counts the
/// columns of one accumulator.
template <class Tiling> struct MmaConfig : Tiling {
  static constexpr int warpM = Tiling::tileM / Tiling::warpsM,
                       warpN = Tiling::tileN / Tiling::warpsN;
  static constexpr int threads = 32 * Tiling::warpsM * Tiling::warpsN;
  static constexpr bool splitsFactors = false;
  static_assert(warpM % 16 == 0 && warpN % 16 == 0, "whole fragments");
  static_assert(Tiling::stages >= 2, "a stage to read and one to fill");
};

/// The same for fp32 by 3xTF32, see gemm_tf32x3.h.
template <class Tiling> struct Tf32x3Config : MmaConfig<Tiling> {
  static constexpr bool splitsFactors = true;
};

/// Floats of padding behind each staged row of accumulators.
constexpr int stagingPadding = 8;

/// Dynamic shared memory of gemmMma: the ring of stages, which the epilogue
/// reuses to stage 16 rows of accumulators a warp.
constexpr FUSEC_DEVICE int mmaSharedBytes(int tileM, int tileN, int tileK,
                                          int warpsM, int warpsN, int stages,
                                          int accumulators, int elementBytes) {
  int ring = stages * (tileM + accumulators * tileN) * tileK * elementBytes;
  int staging = warpsM * warpsN * accumulators * 16 *
                (tileN / warpsN + stagingPadding) * 4;
  return ring > staging ? ring : staging;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_MMA_CONFIG_H
