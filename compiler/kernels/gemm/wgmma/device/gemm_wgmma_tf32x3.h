// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fp32 products by 3xTF32 on wgmma: A is split in the registers that it is
// multiplied from. Of B the high parts are what the tensor cores read of it as
// it stands; the low ones lie behind it in the stage, written by warps that do
// nothing else.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_TF32X3_H
#define FUSEC_KERNELS_GEMM_WGMMA_TF32X3_H

#include "gemm_tf32x3.h"
#include "gemm_wgmma_ring.h"
#include "gemm_wgmma_walk.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Writes the low parts of `Bytes` of floats behind them; `Threads` share that,
/// of which this is the `thread`-th. The tensor cores see them after the next
/// barrier.
template <int Threads, int Bytes>
FUSEC_DEVICE void writeLowTf32(unsigned char *from, int thread) {
  constexpr int pass = Threads * 16, passes = tilesOf(Bytes, pass);
  constexpr int together = passes < 4 ? passes : 4; // loads on their way
  constexpr bool isWhole = Bytes % (pass * together) == 0;
  FUSEC_UNROLL_BY(1)
  for (int first = thread * 16; first < passes * pass;
       first += together * pass) {
    primitive::Word16 words[together];
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (int at = first + i * pass; isWhole || at < Bytes)
        words[i] = *reinterpret_cast<const primitive::Word16 *>(from + at);
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (int at = first + i * pass; isWhole || at < Bytes)
        *reinterpret_cast<primitive::Word16 *>(from + Bytes + at) = {
            lowTf32(words[i].x), lowTf32(words[i].y), lowTf32(words[i].z),
            lowTf32(words[i].w)};
  }
  primitive::fenceCopies();
}

/// What a warp multiplies 32 ks of its 16 rows by: both parts of its fragments.
/// A row has `kBytes` in shared memory, with a swizzle of that width.
template <int KBytes> struct WgmmaSplitRows {
  static constexpr int steps = KBytes / 32;
  u32 high[steps][4], low[steps][4];

  /// Of the warp's rows, whole atoms of the swizzle that begin at `address`.
  FUSEC_DEVICE void read(u32 address) {
    // A step changes bits of the place that the swizzle only inverts.
    u32 first = address + wgmmaSwizzledUnit(KBytes, launch::lane() & 15,
                                            launch::lane() >> 4);
    FUSEC_UNROLL
    for (int step = 0; step < steps; ++step) {
      u32 words[4];
      primitive::loadMatrix4(words, first ^ step * 32);
      FUSEC_UNROLL
      for (int i = 0; i < 4; ++i) {
        Tf32Pair pair = splitTf32(primitive::floatOf(words[i]));
        high[step][i] = pair.high;
        low[step][i] = pair.low;
      }
    }
  }
  /// Starts to compute sum = these rows . B, or adds to it; small products come
  /// first. `highB` and `lowB`: descriptors, to which a step adds `StepB`.
  template <int Columns, u64 StepB>
  FUSEC_DEVICE void multiply(u64 highB, u64 lowB, float *sum) const {
    typedef primitive::Wgmma<float, Columns> Wgmma;
    FUSEC_UNROLL
    for (int step = 0; step < steps; ++step)
      Wgmma::run(sum, low[step], highB + step * StepB, step > 0);
    FUSEC_UNROLL
    for (int step = 0; step < steps; ++step)
      Wgmma::run(sum, high[step], lowB + step * StepB);
    FUSEC_UNROLL
    for (int step = 0; step < steps; ++step)
      Wgmma::run(sum, high[step], highB + step * StepB);
  }
};

/// Splits the B of all stages of this block: one of the warps that do.
template <class Config, int J, class... Segments>
FUSEC_DEVICE void wgmmaSplitter(WgmmaRing<Config, J> ring, int warp,
                                const Shape &shape,
                                const Segments &...segments) {
  constexpr int bytes = J * Config::tileN * wgmmaRowBytes;
  constexpr int threads = 32 * WgmmaRing<Config, J>::splitters;
  int stages = (WgmmaSegment<Config, J, Segments>::tiles(segments) + ...);
  forEachWgmmaTile<Config, false>(shape, [&](WgmmaTile, int, int) {
    FUSEC_UNROLL_BY(1)
    for (int left = stages; left > 0; --left) {
      primitive::waitBarrier(ring.full(ring.stage), ring.parity);
      writeLowTf32<threads, bytes>(launch::sharedMemory() +
                                       ring.stage * ring.stageBytes +
                                       Config::tileM * wgmmaRowBytes,
                                   warp * 32 + launch::lane());
      launch::warpBarrier();
      if (launch::lane() == 0)
        primitive::arrive(ring.split(ring.stage));
      ring.advance();
    }
  });
}

/// Multiplies the stages of a segment. Tensor cores cut off what does not fit
/// when they add: the sums of a stage start from zero and are then added in
/// fp32, rounded to nearest.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void wgmmaConsumeSplit(const SegmentType &segment, int firstBlock,
                                    WgmmaRing<Config, J> &ring,
                                    WgmmaAccumulators<Config, J> &acc) {
  typedef WgmmaSegment<Config, J, SegmentType> Segment;
  typedef typename Segment::B B;
  static_assert(Config::blocksM == 1, "A in the registers of one consumer");
  constexpr u64 low = J * Config::tileN * wgmmaRowBytes / 16;
  u32 rows = firstBlock * Segment::A::blockBytes +
             (launch::warp() & 3) * (Segment::A::blockBytes / 4);
  FUSEC_UNROLL_BY(1)
  for (int left = Segment::tiles(segment); left > 0; --left) {
    ring.enter();
    primitive::waitBarrier(ring.split(ring.stage), ring.parity);
    u32 at = ring.base + ring.stage * ring.stageBytes;
    u64 b = B::descriptor(at + Segment::offsetB);
    WgmmaSplitRows<Segment::kBytes> a;
    a.read(at + rows);
    WgmmaAccumulators<Config, J> sum;
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int column = 0; column < J * Config::tileN; column += Segment::width)
      a.template multiply<Segment::width, B::step>(
          b + column / Config::tileN * (B::bytes / 16),
          b + column / Config::tileN * (B::bytes / 16) + low,
          sum[0] + column / 2);
    primitive::commitWgmma();
    ring.reading = ring.stage;
    ring.drain();
    ring.advance();
    FUSEC_UNROLL
    for (int i = 0; i < J * Config::tileN / 2; ++i) {
      primitive::pin(sum[0][i]);
      acc[0][i] += sum[0][i];
    }
  }
}

/// replaceOutOfRange() of a consumer's accumulators; `firstRow` is that of the
/// warp. Seldom run, but always compiled: a thread walks its sums in the memory
/// that the epilogue stages results in, since registers have no index.
template <class Config, int J, class... Segments>
FUSEC_DEVICE void wgmmaReplaceOutOfRange(const Shape &shape, WgmmaTile tile,
                                         int firstRow, int warp,
                                         WgmmaAccumulators<Config, J> &acc,
                                         const Segments &...segments) {
  constexpr int count = Config::tileN / 2, together = 32;
  static_assert(together * 32 * 4 <= wgmmaStagingBytes && count % together == 0,
                "the sums of a warp in its staging");
  float *held = reinterpret_cast<float *>(
      launch::sharedMemory() +
      wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages,
                         wgmmaStored(J, Config::splitsFactors),
                         Config::rowBytesA) +
      warp * wgmmaStagingBytes);
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int first = 0; first < count; first += together) {
    float *sums = acc[0] + j * count + first;
    bool inRange = true;
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      inRange &= isInRange(sums[i]);
    if (primitive::inAllLanes(inRange))
      continue;
    int lane = launch::lane();
    primitive::pin(lane);
    // Of earlier results; one of the lanes has sent them.
    primitive::waitStoresRead<0>();
    launch::warpBarrier();
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      held[i * 32 + lane] = sums[i];
    FUSEC_UNROLL_BY(1)
    for (int i = 0; i < together; ++i) {
      if (isInRange(held[i * 32 + lane]))
        continue;
      // Places outside the result are computed like the last inside.
      const int row[1] = {
          min(firstRow + i / 2 % 2 * 8 + (lane >> 2), shape.m - 1)};
      const int column[1] = {
          min(tile.column + (first + i) / 4 * 8 + (lane & 3) * 2 + i % 2,
              shape.n - 1)};
      float byFma[1][1] = {};
      (addByFma(segments, j, tile.batch, segments.range(tile.batch), row,
                column, byFma),
       ...);
      held[i * 32 + lane] = byFma[0][0];
    }
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      sums[i] = held[i * 32 + lane];
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_TF32X3_H
