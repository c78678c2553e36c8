// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of tall roots whose weights stay in shared memory, and the
// layout of that memory. Plain C++ arithmetic: generated kernels, the
// scheduler, the emitter and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_RESIDENT_CONFIG_H
#define FUSEC_KERNELS_GEMM_RESIDENT_CONFIG_H

#include "gemm_wgmma_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Rows of a tile: one instruction's. A stage is these rows by 128 bytes of K.
constexpr int residentRows = 64;
constexpr int residentStageBytes = residentRows * wgmmaRowBytes;
/// Beside it: two barriers and the number of its tile.
constexpr int residentStageSyncBytes = 24;
/// Rows of the box of a mapped result: those of one warp, 128 bytes wide.
constexpr int residentResultRows = 16;

/// Of columns, tileN, consumers and stages. A producer warpgroup and consumers
/// that each evaluate whole tiles, each with a ring of stages of its own: a
/// ring for all would let a consumer meet a barrier two phases ahead, which it
/// cannot tell from done. `columns` is n, of one accumulator, and `tileN` what
/// the instruction and the boxes make of it.
template <class Tiling> struct ResidentConfig : Tiling {
  static constexpr int tileM = residentRows, tileK = 1;
  static constexpr int threads = 128 * (1 + Tiling::consumers);
  /// Of a consumer's thread.
  static constexpr int registers = Tiling::consumers == 3 ? 160 : 240;
  static_assert(Tiling::tileN % 16 == 0 && Tiling::tileN >= 16 &&
                    Tiling::tileN <= 256,
                "fragments of 16 columns");
  static_assert(Tiling::columns > 0 && Tiling::columns <= Tiling::tileN,
                "one tile of columns");
  static_assert(Tiling::consumers == 2 || Tiling::consumers == 3,
                "registers of 240 or 160 a consumer's thread");
  static_assert(Tiling::stages >= 1, "a stage");
};

/// The columns of a tile: of an instruction and, of row-major weights, of whole
/// boxes. Over 256, with its accumulators, there is none.
constexpr FUSEC_DEVICE int residentTileN(int n, bool weightsAlongK) {
  int tile = weightsAlongK ? tilesOf(n, 16) * 16 : tilesOf(n, 64) * 64;
  return tile <= 64    ? tile
         : tile <= 96  ? (weightsAlongK ? 96 : 128)
         : tile <= 128 ? 128
         : tile <= 192 ? 192
         : tile <= 256 ? 256
                       : tile;
}

/// Consumers of a tile: accumulators of up to 64 registers leave three of them
/// enough for an epilogue.
constexpr FUSEC_DEVICE int residentConsumers(int tileN, int accumulators) {
  return tileN * accumulators <= 128 ? 3 : 2;
}

/// Blocks of K (128 bytes each) of one segment.
constexpr FUSEC_DEVICE int residentBlocksK(int k, int elementBytes) {
  return tilesOf(k > 0 ? k : 0, wgmmaRowBytes / elementBytes);
}

/// Shared memory that a warp stages one mapped result in.
constexpr FUSEC_DEVICE int residentStagedBytes(int tileN, int elementBytes) {
  return residentResultRows * wgmmaRowBytes *
         tilesOf(tileN * elementBytes, wgmmaRowBytes);
}

/// Where the parts of the dynamic shared memory begin: the rings at 0, then the
/// weights (`blocksK`: the sum over segments), the staging (`staged`: the sum
/// of residentStagedBytes over the mapped results), what belongs to the stages,
/// the weights' barrier. `stages` counts those of one consumer, and is at least
/// blocksK, which is at least 1.
constexpr FUSEC_DEVICE int residentWeightsOffset(int stages, int consumers) {
  return consumers * stages * residentStageBytes;
}
constexpr FUSEC_DEVICE int residentSharedBytes(int tileN, int accumulators,
                                               int stages, int consumers,
                                               int staged, int blocksK) {
  return residentWeightsOffset(stages, consumers) +
         blocksK * accumulators * tileN * wgmmaRowBytes +
         4 * consumers * staged + residentStageSyncBytes * consumers * stages +
         16;
}

/// The stages a consumer that pay, as far as they fit: 96 KiB in flight hide
/// the memory's latency, one tile and a half the consumer's; what is deeper is
/// only drained when memory has no more to give. Fewer than blocksK do not run.
constexpr FUSEC_DEVICE int residentStages(int tileN, int accumulators,
                                          int consumers, int staged,
                                          int blocksK, int limit = 227 * 1024) {
  int fixed =
      residentSharedBytes(tileN, accumulators, 0, consumers, staged, blocksK);
  int fit = (limit - fixed) /
            (consumers * (residentStageBytes + residentStageSyncBytes));
  int inFlight = tilesOf(96 * 1024 / residentStageBytes, consumers),
      tiles = tilesOf(3 * blocksK, 2);
  int most = inFlight > tiles ? inFlight : tiles;
  return fit < 0 ? 0 : fit < most ? fit : most;
}

/// What the template takes. Besides, A is mapped (16-bit types: either major;
/// float: K-major), no operand has a batch, and n <= tileN.
constexpr FUSEC_DEVICE bool isResidentLegal(int tileN, int accumulators,
                                            bool weightsAlongK,
                                            int elementBytes) {
  return tileN % 16 == 0 && isWgmmaWidth(tileN) &&
         tileN * accumulators <= 256 && (elementBytes == 2 || weightsAlongK) &&
         (elementBytes == 2 || elementBytes == 4) &&
         (weightsAlongK || tileN % 64 == 0);
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_RESIDENT_CONFIG_H
