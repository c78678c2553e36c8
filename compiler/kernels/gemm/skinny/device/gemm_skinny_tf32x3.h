// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fp32 products by 3xTF32 where rows are few: weights are split in the
// registers that they are multiplied from, those of the next stage while this
// one is multiplied, tokens in shared memory.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_TF32X3_H
#define FUSEC_KERNELS_GEMM_SKINNY_TF32X3_H

#include "gemm_skinny_ring.h"
#include "gemm_wgmma_tf32x3.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Splits a share of the tokens of a stage that has arrived.
template <int Threads, class Config, int J>
FUSEC_DEVICE void skinnySplitTokens(const SkinnyMemory<Config, J> &memory,
                                    u32 stage, int thread) {
  writeLowTf32<Threads, Config::tokens * wgmmaRowBytes>(
      launch::sharedMemory() + stage * memory.stageBytes +
          J * memory.weightBytes,
      thread);
  launch::warpBarrier();
  if (launch::lane() == 0)
    primitive::arrive(memory.split(stage));
}

/// Those of all stages of a segment, by one warp.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnySplitAllTokens(const SegmentType &segment, Split split,
                                       const SkinnyMemory<Config, J> &memory,
                                       u32 &at) {
  KRange range = rangeOf(segment.k, Config::tileK, split);
  FUSEC_UNROLL_BY(1)
  for (int k = range.first; k < range.last; k += Config::tileK, ++at) {
    u32 stage = at % Config::stages;
    primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    skinnySplitTokens<32>(memory, stage, launch::lane());
  }
}

/// The stages of a segment with split factors. The next one's are split while
/// this one's are multiplied.
template <class Config, int J, class SegmentType> struct SkinnySplitStages {
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  typedef WgmmaSplitRows<wgmmaRowBytes> Weights[J][Config::blocks];
  static constexpr int tokenBytes = Config::tokens * wgmmaRowBytes;
  const SkinnyMemory<Config, J> &memory;
  SkinnyAccumulators<Config, J> &acc;
  SkinnyAccumulators<Config, J> sum;

  static FUSEC_DEVICE u32 stageOf(u32 at) { return at % Config::stages; }
  static FUSEC_DEVICE u32 parityOf(u32 at) { return at / Config::stages & 1; }
  FUSEC_DEVICE u32 tokens(u32 at) const {
    return memory.stage(stageOf(at)) + J * memory.weightBytes;
  }
  /// Splits this warp's weights, and a share of the tokens.
  FUSEC_DEVICE void split(u32 at, Weights &weights) {
    primitive::waitBarrier(memory.full(stageOf(at)), parityOf(at));
    if constexpr (!Config::splitsApart)
      skinnySplitTokens<128>(memory, stageOf(at), launch::thread());
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      weights[j][b].read(
          memory.stage(stageOf(at)) +
          ((j * Config::blocks + b) * 64 + (launch::warp() & 3) * 16) *
              wgmmaRowBytes);
  }
  FUSEC_DEVICE void multiply(u32 at, const Weights &weights) {
    primitive::waitBarrier(memory.split(stageOf(at)), parityOf(at));
    u64 x = A::descriptor(tokens(at));
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      weights[j][b].template multiply<Config::tokens, A::step>(
          x, x + tokenBytes / 16, sum[j][b]);
    primitive::commitWgmma();
  }
  /// Sums of a stage start from zero, as those of wgmmaConsumeSplit().
  FUSEC_DEVICE void finish(u32 at) {
    primitive::waitWgmma<0>();
    if (launch::lane() == 0)
      primitive::arrive(memory.empty(stageOf(at)));
    skinnyPin<Config, J>(sum);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      FUSEC_UNROLL
    for (int i = 0; i < Config::tokens / 2; ++i)
      acc[j][b][i] += sum[j][b][i];
  }
};

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyConsumeSplit(const SegmentType &segment, Split split,
                                     const SkinnyMemory<Config, J> &memory,
                                     u32 &at,
                                     SkinnyAccumulators<Config, J> &acc) {
  typedef SkinnySplitStages<Config, J, SegmentType> Stages;
  KRange range = rangeOf(segment.k, Config::tileK, split);
  u32 end = at + tilesOf(range.last - range.first, Config::tileK);
  Stages stages{memory, acc};
  typename Stages::Weights weights[2];
  if (at < end)
    stages.split(at, weights[0]);
  FUSEC_UNROLL_BY(1)
  while (at < end) {
    FUSEC_UNROLL
    for (int i = 0; i < 2; ++i) {
      stages.multiply(at, weights[i]);
      if (at + 1 < end)
        stages.split(at + 1, weights[i ^ 1]);
      stages.finish(at);
      if (++at == end)
        break;
    }
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_SKINNY_TF32X3_H
