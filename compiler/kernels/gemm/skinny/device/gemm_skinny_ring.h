// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring of stages of a block with few rows: its place in shared memory and
// its barriers, the copies that fill it, the products of what it holds.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_RING_H
#define FUSEC_KERNELS_GEMM_SKINNY_RING_H

#include "gemm.h"
#include "gemm_skinny_config.h"
#include "gemm_wgmma.h"
#include "prelude_cluster.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

template <class Config, int J> struct SkinnyMemory {
  /// Low parts of tokens are written, not loaded.
  static constexpr u32 loadedBytes =
      skinnyStageBytes(Config::tokens, Config::blocks, J,
                       {false, Config::stage.weightBytes, Config::stage.depth});
  static constexpr u32 stageBytes =
      skinnyStageBytes(Config::tokens, Config::blocks, J, Config::stage);
  static constexpr u32 weightBytes = Config::tileN * Config::stage.weightBytes;
  u32 base, barriers;

  FUSEC_DEVICE SkinnyMemory() {
    base = primitive::sharedAddress(launch::sharedMemory());
    barriers = base + skinnyBarrierOffset(Config::tokens, Config::blocks,
                                          Config::stages, Config::cluster, J,
                                          Config::stage);
  }
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return barriers + stage * 16 + 8; }
  FUSEC_DEVICE u32 stage(u32 stage) const { return base + stage * stageBytes; }
  /// Counts the partial sums that this block receives.
  FUSEC_DEVICE u32 received() const { return full(Config::stages); }
  /// Counts the warps that have split their share of the stage's tokens.
  FUSEC_DEVICE u32 split(u32 stage) const {
    return received() + 16 + stage * 8;
  }
  /// Where the partial sums of one block for one token of one accumulator lie.
  static FUSEC_DEVICE u32 received(int from, int j, int token) {
    return skinnyReceivedOffset(Config::tokens, Config::blocks, Config::stages,
                                J, Config::stage) +
           ((from * J + j) * Config::tokens + token) *
               (skinnyPitch(Config::blocks, Config::cluster) * 4);
  }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < Config::stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), 4);
        if (Config::splitsFactors)
          primitive::initBarrier(split(s), Config::splitsApart ? 1 : 4);
      }
      primitive::initBarrier(received(), Config::cluster > 1 ? 1 : 128);
      primitive::fenceBarriers();
      if (Config::cluster > 1)
        primitive::arriveExpecting(received(), Config::cluster * J *
                                                   Config::tokens *
                                                   Config::slice * 4);
    }
    launch::barrier();
  }
};

/// The first copies do not wait for their maps one after the other.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyPrefetch(const SegmentType &segment) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    WgmmaOperand<typename SegmentType::B, Config::tileN>::prefetch(
        segment.b[j]);
  WgmmaOperand<typename SegmentType::A, Config::tokens>::prefetch(segment.a);
}

/// Copies the weights of a stage. They leave L2 first, since the next run will
/// not find them there; what the previous kernel left then stays.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void
skinnyCopyWeights(const SegmentType &segment, TilePlace tile, int k, u64 policy,
                  const SkinnyMemory<Config, J> &memory, u32 stage) {
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  primitive::arriveExpecting(memory.full(stage), memory.loadedBytes);
  // Of what weights are made of a row may take several boxes.
  constexpr int boxK = B::kBytes / int(sizeof(typename B::T));
  constexpr int boxes = B::isMade ? Config::tileK / boxK : 1;
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int box = 0; box < boxes; ++box)
    B::template copy</*Streamed=*/true>(
        segment.b[j],
        memory.stage(stage) + j * memory.weightBytes + box * B::bytes,
        memory.full(stage), tile.n * Config::tileN, k + box * boxK, tile.batch,
        0, policy);
}

/// Those of the first stages, as many as the ring holds; returns how many.
template <class Config, int J, class First, class... Rest>
FUSEC_DEVICE u32 skinnyCopyAhead(TilePlace tile, Split split, u64 policy,
                                 const SkinnyMemory<Config, J> &memory,
                                 const First &first, const Rest &...) {
  KRange range = rangeOf(first.k, Config::tileK, split);
  u32 stage = 0;
  for (int k = range.first; k < range.last && stage < Config::stages;
       k += Config::tileK, ++stage)
    skinnyCopyWeights(first, tile, k, policy, memory, stage);
  return stage;
}

/// Copies a segment's stages; the weights of those before `ahead` are on their
/// way.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyProduce(const SegmentType &segment, TilePlace tile,
                                Split split, u64 policy,
                                const SkinnyMemory<Config, J> &memory,
                                u32 ahead, u32 &at) {
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  static_assert(A::alongK, "rows of A are K-major");
  KRange range = rangeOf(segment.k, Config::tileK, split);
  for (int k = range.first; k < range.last; k += Config::tileK, ++at) {
    u32 stage = at % Config::stages, round = at / Config::stages;
    if (at >= ahead) {
      primitive::waitBarrier(memory.empty(stage), (round & 1) ^ 1);
      skinnyCopyWeights(segment, tile, k, policy, memory, stage);
    }
    FUSEC_UNROLL
    for (int d = 0; d < Config::stage.depth; ++d)
      A::copy(segment.a,
              memory.stage(stage) + J * memory.weightBytes + d * A::bytes,
              memory.full(stage), tile.m * Config::tokens,
              k + d * (Config::tileK / Config::stage.depth), tile.batch);
  }
}

template <class Config, int J>
using SkinnyAccumulators = float[J][Config::blocks][Config::tokens / 2];

template <class Config, int J>
FUSEC_DEVICE void skinnyPin(SkinnyAccumulators<Config, J> &acc) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int b = 0; b < Config::blocks; ++b)
    FUSEC_UNROLL
  for (int i = 0; i < Config::tokens / 2; ++i)
    primitive::pin(acc[j][b][i]);
}

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyConsume(const SegmentType &segment, Split split,
                                const SkinnyMemory<Config, J> &memory, u32 &at,
                                SkinnyAccumulators<Config, J> &acc) {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Config::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  KRange range = rangeOf(segment.k, Config::tileK, split);
  int tiles = tilesOf(range.last - range.first, Config::tileK);
  u32 last = 0;
  for (int t = 0; t < tiles; ++t, ++at) {
    u32 stage = at % Config::stages;
    primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    u64 w = B::descriptor(memory.stage(stage));
    u64 x = A::descriptor(memory.stage(stage) + J * memory.weightBytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < wgmmaRowBytes / 32; ++step)
      FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      primitive::Wgmma<T, Config::tokens>::template run<!B::alongK, false>(
          acc[j][b],
          w + step * B::step +
              (j * Config::blocks + b) * (64 * wgmmaRowBytes / 16),
          x + step * A::step);
    primitive::commitWgmma();
    // The previous stage has been read when only this one is under way.
    primitive::waitWgmma<1>();
    if (t > 0 && launch::lane() == 0)
      primitive::arrive(memory.empty(last));
    last = stage;
  }
  primitive::waitWgmma<0>();
  skinnyPin<Config, J>(acc);
  if (tiles > 0 && launch::lane() == 0)
    primitive::arrive(memory.empty(last));
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_SKINNY_RING_H
