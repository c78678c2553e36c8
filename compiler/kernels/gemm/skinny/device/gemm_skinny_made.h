// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows times weights that are made in registers: what they are made of,
// bytes mostly, passes through the ring in its own type, so that its bytes are
// what the product waits for.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_MADE_H
#define FUSEC_KERNELS_GEMM_SKINNY_MADE_H

#include "gemm_skinny_ring.h"
#include "gemm_wgmma_made.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// The stages of a segment. Of two sets of fragments one is made while the
/// tensor cores read the other.
template <class Config, class SegmentType>
FUSEC_DEVICE void skinnyConsumeMade(const SegmentType &segment, int n,
                                    TilePlace tile, Split split,
                                    const SkinnyMemory<Config, 1> &memory,
                                    u32 &at, float (&acc)[Config::tokens / 2]) {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == 1, "weights of one accumulator");
  static_assert(Config::tileK * int(sizeof(T)) ==
                    Config::stage.depth * wgmmaRowBytes,
                "tokens of a stage are whole rows of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  typedef WgmmaMaker<typename SegmentType::B, B> Maker;
  KRange range = rangeOf(segment.k, Config::tileK, split);
  Maker maker(segment.b[0], segment.k, n, tile.batch, tile.n * Config::tileN,
              (launch::warp() & 3) * 16);
  typename Maker::AlongK alongK;
  u32 made[2][4][4], last = 0;
  int k = range.first;
  // One tile of 64 ks, the first or the second of a stage.
  auto multiply = [&](u32(&weights)[4][4], int tile) {
    u32 stage = at % Config::stages;
    maker.prepare(alongK, k);
    if (tile == 0)
      primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    maker.make(weights, alongK, memory.stage(stage), k, tile);
    u64 x = A::descriptor(memory.stage(stage) + memory.weightBytes +
                          tile * A::bytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step)
      primitive::Wgmma<T, Config::tokens>::template run<false>(
          acc, weights[step], x + step * A::step);
    primitive::commitWgmma();
    // The previous stage has been read when only this one's is under way.
    primitive::waitWgmma<1>();
    if (tile == 0) {
      if (k > range.first && launch::lane() == 0)
        primitive::arrive(memory.empty(last));
      last = stage;
    }
    at += tile == Config::stage.depth - 1;
    k += Maker::tileK;
  };
  if constexpr (Config::stage.depth == 2) {
    FUSEC_UNROLL_BY(1)
    while (k < range.last) {
      multiply(made[0], 0);
      multiply(made[1], 1);
    }
  } else {
    FUSEC_UNROLL_BY(1)
    while (k + Maker::tileK < range.last) {
      multiply(made[0], 0);
      multiply(made[1], 0);
    }
    if (k < range.last)
      multiply(made[0], 0);
  }
  primitive::waitWgmma<0>();
  FUSEC_UNROLL
  for (int i = 0; i < Config::tokens / 2; ++i)
    primitive::pin(acc[i]);
  if (range.first < range.last && launch::lane() == 0)
    primitive::arrive(memory.empty(last));
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_SKINNY_MADE_H
