// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of roots with few rows, whose K is split over the blocks of a
// cluster, and the layout of their shared memory. Plain C++ arithmetic:
// generated kernels, the scheduler, the emitter and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_CONFIG_H
#define FUSEC_KERNELS_GEMM_SKINNY_CONFIG_H

#include "gemm_wgmma_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Whether a warp of its own splits tokens; more of them are too many for one,
/// and those that multiply share them.
constexpr FUSEC_DEVICE bool skinnySplitsApart(int tokens) {
  return tokens <= 32;
}
/// Four warps that multiply, one that copies, one that splits tokens.
constexpr FUSEC_DEVICE int skinnyThreads(int tokens, bool splitsFactors) {
  return splitsFactors && skinnySplitsApart(tokens) ? 192 : 160;
}

/// What a stage holds: rows of weights that take `weightBytes`, and `depth`
/// rows of the swizzle a token. Low parts of split tokens lie behind them.
struct SkinnyStage {
  bool splitsFactors = false;
  int weightBytes = wgmmaRowBytes, depth = 1;
};

/// Of tokens, blocks, tileK, stages, cluster and early. The instruction's
/// 64-row side takes columns of the weights, its narrow side `tokens` rows of A
/// (8 to 64, a multiple of 8). A tile is 64 * blocks columns of one
/// accumulator; the blocks of a cluster (1, 2, 4 or 8) contract a part of K
/// each and finish a slice of its columns each. `early`: the weights of the
/// first segment are constants; the first stages of them are on their way while
/// the kernel still waits for earlier ones, with launch::awaitPrevious().
template <class Tiling> struct SkinnyConfig : Tiling {
  static constexpr int tileM = Tiling::tokens, tileN = 64 * Tiling::blocks;
  static constexpr int slice = tileN / Tiling::cluster;
  static constexpr int threads = skinnyThreads(tileM, false);
  static constexpr bool splitsFactors = false, splitsApart = false;
  static constexpr bool makesWeights = false;
  static constexpr SkinnyStage stage = {};
  static_assert(isWgmmaWidth(tileM) && tileM <= 64,
                "a width of the instruction");
  static_assert(Tiling::blocks == 1 || Tiling::blocks == 2 ||
                    Tiling::blocks == 4,
                "slices of whole fragments");
  static_assert(Tiling::cluster == 1 || Tiling::cluster == 2 ||
                    Tiling::cluster == 4 || Tiling::cluster == 8,
                "a portable cluster");
  static_assert(Tiling::stages >= 2, "a stage to read and one to fill");
};

/// The same for fp32 by 3xTF32, see gemm_tf32x3.h: weights are split in the
/// registers that they are multiplied from, tokens in shared memory.
template <class Tiling> struct SkinnyTf32x3Config : SkinnyConfig<Tiling> {
  static constexpr int threads = skinnyThreads(Tiling::tokens, true);
  static constexpr bool splitsApart = skinnySplitsApart(Tiling::tokens);
  static constexpr bool splitsFactors = true;
  static constexpr SkinnyStage stage = {true};
};

/// Tiles of 64 ks that a stage holds where weights are made of a matrix whose
/// rows take `sourceBytes` of each: narrow ones are loaded by whole lines.
constexpr FUSEC_DEVICE SkinnyStage skinnyMadeStage(int sourceBytes) {
  int depth = sourceBytes < wgmmaRowBytes ? wgmmaRowBytes / sourceBytes : 1;
  return {false, depth * sourceBytes, depth};
}

/// The same where weights are made in registers of such a matrix, see
/// gemm_skinny_made.h.
template <class Tiling> struct SkinnyMadeConfig : SkinnyConfig<Tiling> {
  static constexpr bool makesWeights = true;
  static constexpr SkinnyStage stage = skinnyMadeStage(Tiling::sourceBytes);
  static_assert(Tiling::blocks == 1, "two sets of the fragments of 64 columns");
};

constexpr FUSEC_DEVICE int skinnyTokens(int m) {
  return m > 64 ? 64 : m <= 8 ? 8 : tilesOf(m, 8) * 8;
}

/// A thread's accumulators; with split factors sums twice and both parts of its
/// weights, of two stages.
constexpr FUSEC_DEVICE int skinnyRegisters(int tokens, int blocks,
                                           int accumulators,
                                           bool splitsFactors = false) {
  return (splitsFactors ? tokens + 64 : tokens / 2) * blocks * accumulators;
}

constexpr FUSEC_DEVICE int skinnyMaxRegisters(bool splitsFactors) {
  return splitsFactors ? 144 : 128;
}

constexpr FUSEC_DEVICE int skinnyStageBytes(int tokens, int blocks,
                                            int accumulators,
                                            SkinnyStage stage = {}) {
  return accumulators * 64 * blocks * stage.weightBytes +
         (stage.splitsFactors ? 2 : stage.depth) * tokens * wgmmaRowBytes;
}

/// Floats between the tokens of a received slice; the padding keeps the
/// fragments' stores from meeting in a bank.
constexpr FUSEC_DEVICE int skinnyPitch(int blocks, int cluster) {
  return 64 * blocks / cluster + 4;
}
/// The partial sums of all blocks of the cluster for this block's slice.
constexpr FUSEC_DEVICE int skinnyReceivedBytes(int tokens, int blocks,
                                               int cluster, int accumulators) {
  return cluster * accumulators * tokens * skinnyPitch(blocks, cluster) * 4;
}

/// Where the parts of the dynamic shared memory begin: the ring at 0, then what
/// is received, then the barriers, three a stage with split factors.
constexpr FUSEC_DEVICE int skinnyReceivedOffset(int tokens, int blocks,
                                                int stages, int accumulators,
                                                SkinnyStage stage = {}) {
  return stages * skinnyStageBytes(tokens, blocks, accumulators, stage);
}
constexpr FUSEC_DEVICE int skinnyBarrierOffset(int tokens, int blocks,
                                               int stages, int cluster,
                                               int accumulators,
                                               SkinnyStage stage = {}) {
  return skinnyReceivedOffset(tokens, blocks, stages, accumulators, stage) +
         skinnyReceivedBytes(tokens, blocks, cluster, accumulators);
}
constexpr FUSEC_DEVICE int skinnyStageBarrierBytes(bool splitsFactors) {
  return splitsFactors ? 24 : 16;
}
constexpr FUSEC_DEVICE int skinnySharedBytes(int tokens, int blocks, int stages,
                                             int cluster, int accumulators,
                                             SkinnyStage stage = {}) {
  return skinnyBarrierOffset(tokens, blocks, stages, cluster, accumulators,
                             stage) +
         skinnyStageBarrierBytes(stage.splitsFactors) * stages + 16;
}

/// The stages that fit a share of 1 / `together` of a multiprocessor.
constexpr FUSEC_DEVICE int skinnyStages(int tokens, int blocks, int cluster,
                                        int accumulators, int together,
                                        SkinnyStage stage = {}, int most = 16) {
  int limit = 227 * 1024 / together - (together > 1 ? 1024 : 0);
  int stages = (limit - 16 -
                skinnyReceivedBytes(tokens, blocks, cluster, accumulators)) /
               (skinnyStageBytes(tokens, blocks, accumulators, stage) +
                skinnyStageBarrierBytes(stage.splitsFactors));
  return stages < 0 ? 0 : stages < most ? stages : most;
}

/// What the template takes. Besides, A is K-major, and both are mapped.
constexpr FUSEC_DEVICE bool isSkinnyLegal(int tokens, int blocks, int stages,
                                          int cluster, int accumulators,
                                          bool weightsAlongK, int elementBytes,
                                          SkinnyStage stage = {}) {
  return skinnyRegisters(tokens, blocks, accumulators, stage.splitsFactors) <=
             skinnyMaxRegisters(stage.splitsFactors) &&
         stages >= 2 &&
         skinnySharedBytes(tokens, blocks, stages, cluster, accumulators,
                           stage) <= 227 * 1024 &&
         (elementBytes == 2 || (elementBytes == 4 && weightsAlongK));
}

/// The smallest cluster that gives most multiprocessors a block.
constexpr FUSEC_DEVICE int skinnyCluster(int n, int blocks,
                                         int multiprocessors) {
  int cluster = 1;
  while (cluster < 8 &&
         4 * cluster * tilesOf(n, 64 * blocks) < 3 * multiprocessors)
    cluster *= 2;
  return cluster;
}

/// Exactly sized; the launch has clusters of `cluster` blocks.
constexpr FUSEC_DEVICE int skinnyGrid(int m, int n, int batch, int tokens,
                                      int blocks, int cluster) {
  return tilesOf(m, tokens) * tilesOf(n, 64 * blocks) * batch * cluster;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_SKINNY_CONFIG_H
