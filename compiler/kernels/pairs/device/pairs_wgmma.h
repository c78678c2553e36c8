// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs by wgmma: a thread copies weights into a ring of stages,
// two warpgroups of 64 rows each make the left operand's next fragments while
// the tensor cores work on the last ones.

#ifndef FUSEC_DEVICE_PAIRS_WGMMA_H
#define FUSEC_DEVICE_PAIRS_WGMMA_H

#include "pairs_operand.h"
#include "prelude_wgmma.h"

namespace fusec {

namespace detail {

template <class Config> struct PairRing {
  static constexpr int stages = Config::stages,
                       slices = pairStageSlices(Config::tileN);
  static constexpr u32 stageBytes = pairStage(Config::tileN);
  u32 base = primitive::sharedAddress(launch::sharedMemory());
  u32 stage = 0, parity = 0;

  FUSEC_DEVICE u32 full(u32 s) const {
    return base + stages * stageBytes + s * 16;
  }
  FUSEC_DEVICE u32 empty(u32 s) const { return full(s) + 8; }
  FUSEC_DEVICE u32 data() const { return base + stage * stageBytes; }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), 8);
      }
      primitive::fenceBarriers();
    }
    launch::barrier();
  }
  FUSEC_DEVICE void advance() {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Weights are constant: nothing of them waits for the kernel before.
template <class Config, class X, class T>
FUSEC_DEVICE void pairProducer(PairRing<Config> ring, const PairTile &tile,
                               const PairProblem<X, T> &problem) {
  typedef PairRing<Config> Ring;
  long long columns = pairColumns(problem.columns);
  int width = int(columns) - tile.column;
  u32 bytes = (width < Config::tileN ? width : Config::tileN) * pairSlice * 2;
  const T *from = problem.weights +
                  (static_cast<long long>(tile.first) * pairSlices * columns +
                   tile.column) *
                      pairSlice;
  int count = (tile.last - tile.first) * pairSlices / Ring::slices;
  FUSEC_UNROLL_BY(1)
  for (; count > 0; --count) {
    primitive::waitBarrier(ring.empty(ring.stage), ring.parity ^ 1);
    primitive::arriveExpecting(ring.full(ring.stage), bytes * Ring::slices);
    FUSEC_UNROLL
    for (int slice = 0; slice < Ring::slices; ++slice) {
      primitive::copyBulk(ring.data() + slice * Config::tileN * pairSlice * 2,
                          from, bytes, ring.full(ring.stage));
      from += columns * pairSlice;
    }
    ring.advance();
  }
}

/// Starts a slice's products.
template <class Config, class T>
FUSEC_DEVICE void multiplyPairs(float (&sums)[Config::tileN / 8][4],
                                const u32 (&a)[4][4], u32 weights) {
  // Rows of 128 swizzled bytes, eight of them 1024 bytes behind the last.
  u64 b = (weights & 0x3ffff) >> 4 | u64(64) << 32 | u64(1) << 62;
  primitive::fenceWgmma();
  FUSEC_UNROLL
  for (int step = 0; step < 4; ++step)
    primitive::Wgmma<T, Config::tileN>::run(&sums[0][0], a[step], b + step * 2);
  primitive::commitWgmma();
}

template <class Config, class X, class T>
FUSEC_DEVICE void pairConsumer(PairRing<Config> ring, int warp,
                               const PairTile &tile,
                               const PairProblem<X, T> &problem) {
  typedef PairRing<Config> Ring;
  int firstRow = tile.row + warp * 16;
  float sums[Config::tileN / 8][4];
  FUSEC_UNROLL
  for (int i = 0; i < Config::tileN / 2; ++i)
    sums[i / 4][i % 4] = 0;
  PairOperand<X, Config::whole> operand;
  u32 a[2][4][4];
  operand.start(problem.x, problem.stride, firstRow, problem.m,
                problem.features, tile.first, a[0]);
  FUSEC_UNROLL
  for (int i = 0; i < Config::tileN / 2; ++i)
    primitive::pin(sums[i / 4][i % 4]);
  FUSEC_UNROLL_BY(1)
  for (int square = tile.first; square < tile.last; ++square) {
    FUSEC_UNROLL
    for (int slice = 0; slice < pairSlices; ++slice) {
      constexpr int slices = Ring::slices;
      if (slice % slices == 0)
        primitive::waitBarrier(ring.full(ring.stage), ring.parity);
      multiplyPairs<Config, T>(sums, a[slice & 1],
                               ring.data() + slice % slices * Config::tileN *
                                                 pairSlice * 2);
      operand.make(a[slice + 1 & 1], slice, square + 1 == tile.last);
      primitive::waitWgmma<0>();
      if (slice % slices == slices - 1) {
        if (launch::lane() == 0)
          primitive::arrive(ring.empty(ring.stage));
        ring.advance();
      }
    }
  }
  FUSEC_UNROLL
  for (int i = 0; i < Config::tileN / 2; ++i)
    primitive::pin(sums[i / 4][i % 4]);
  storePairs<Config::tileN / 8>(problem, operand.rows, tile.part, firstRow,
                                tile.column, sums);
}

} // namespace detail

/// One tile a block.
template <class Config, class X, class T>
FUSEC_DEVICE void pairProduct(const PairProblem<X, T> &problem) {
  detail::PairTile tile(problem, Config::tileN);
  detail::PairRing<Config> ring;
  ring.start();
  int warp = primitive::uniform(launch::warp());
  if (warp < 4) {
    primitive::giveRegisters<24>();
    if (warp == 0 && primitive::elect())
      detail::pairProducer(ring, tile, problem);
  } else {
    primitive::takeRegisters<240>();
    launch::awaitPrevious();
    detail::pairConsumer(ring, warp - 4, tile, problem);
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_PAIRS_WGMMA_H
