// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring of stages between the producer of a block and its consumers: its
// barriers, how a segment of K passes through it, and the order of tiles.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_RING_H
#define FUSEC_DEVICE_GEMM_WGMMA_RING_H

#include "gemm_wgmma_fragment.h"
#include "gemm_wgmma_operand.h"
#include "prelude_cluster.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// The ring of stages and its barriers, by their places in shared memory.
template <class Config, int J> struct WgmmaRing {
  static constexpr u32 stageBytes =
      wgmmaStageBytes(Config::tileM, Config::tileN, J);
  static constexpr u32 none = ~0u;
  /// Warps of a block that read a stage.
  static constexpr int readers = Config::pingPong ? 4 : 4 * Config::consumers;
  u32 base, barriers;
  u32 stage = 0, parity = 0;
  u32 reading = none;
  /// 1 once the accumulators hold sums of this tile; 0: what they hold counts
  /// for nothing.
  u32 adds = 0;
  /// Of the next turn; the first is that of consumer 0.
  u32 turns = primitive::uniform(launch::thread() < 256);

  FUSEC_DEVICE WgmmaRing() {
    base = primitive::sharedAddress(launch::sharedMemory());
    barriers = base + wgmmaBarrierOffset(Config::tileM, Config::tileN,
                                         Config::stages, J);
  }
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return barriers + stage * 16 + 8; }
  /// Where a consumer of a ping-pong waits for its turn.
  FUSEC_DEVICE u32 turn(u32 consumer) const {
    return barriers + Config::stages * 16 + consumer * 8;
  }
  FUSEC_DEVICE void advance() {
    if (++stage == Config::stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  /// Passes over the stages of a tile that another consumer reads.
  FUSEC_DEVICE void skip(u32 count) {
    count += stage;
    stage = count % Config::stages;
    parity ^= count / Config::stages & 1;
  }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < Config::stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), readers * Config::cluster);
      }
      if constexpr (Config::pingPong) {
        primitive::initBarrier(turn(0), 4);
        primitive::initBarrier(turn(1), 4);
      }
      primitive::fenceBarriers();
    }
    meet();
  }
  /// Nobody copies into, or arrives at, the memory of a block that has not
  /// started or that has ended.
  static FUSEC_DEVICE void meet() {
    if constexpr (Config::cluster > 1)
      primitive::clusterBarrier();
    else
      launch::barrier();
  }
  /// Of a ping-pong: whether the block's index-th tile is the other consumer's,
  /// whose stages are then passed over.
  FUSEC_DEVICE bool skips(int index, int consumer, int stages) {
    if (!Config::pingPong || (index & 1) == consumer)
      return false;
    skip(stages);
    return true;
  }
  /// Parities tell a stage of this round from the last one only once all stages
  /// before it have been filled: the consumers of a ping-pong read in turn.
  FUSEC_DEVICE void takeTurn(int consumer) {
    if constexpr (Config::pingPong) {
      primitive::waitBarrier(turn(consumer), turns);
      turns ^= 1;
    }
  }
  FUSEC_DEVICE void endTurn(int consumer) {
    if (Config::pingPong && launch::lane() == 0)
      primitive::arrive(turn(consumer ^ 1));
  }
  /// This consumer warp reads the current stage next; it has read the one
  /// before, which all blocks of the cluster fill.
  FUSEC_DEVICE void release() {
    if (reading == none)
      return;
    if constexpr (Config::cluster > 1) {
      if (launch::lane() < Config::cluster)
        primitive::arriveAt(empty(reading), launch::lane());
    } else if (launch::lane() == 0) {
      primitive::arrive(empty(reading));
    }
  }
};

/// A segment of a tile, which may have fewer columns than the ring was made
/// for.
template <class Tile, int J, class SegmentType> struct WgmmaSegment {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Tile::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Tile::tileM, Tile::clusterN> A;
  typedef WgmmaOperand<typename SegmentType::B, Tile::tileN, Tile::clusterM> B;
  static constexpr int kBytes = A::kBytes;
  static_assert(kBytes == B::kBytes, "boxes of the same K");
  static constexpr u32 loadedBytes = A::bytes + J * B::bytes;
  static constexpr u32 offsetB = Tile::tileM * wgmmaRowBytes;
  static constexpr u32 bytesB = wgmmaStageColumns(Tile::tileN) * wgmmaRowBytes;

  static FUSEC_DEVICE int tiles(const SegmentType &segment) {
    return tilesOf(segment.k > 0 ? segment.k : 0, Tile::tileK);
  }
  static FUSEC_DEVICE void prefetch(const SegmentType &segment) {
    A::prefetch(segment.a);
    for (int j = 0; j < J; ++j)
      B::prefetch(segment.b[j]);
  }

  template <class Ring>
  static FUSEC_DEVICE void produce(const SegmentType &segment, TilePlace tile,
                                   int rank, Ring &ring) {
    // Unrolled, it would not keep to the producer's few registers.
    FUSEC_UNROLL_BY(1)
    for (int k = 0; k < segment.k; k += Tile::tileK) {
      primitive::waitBarrier(ring.empty(ring.stage), ring.parity ^ 1);
      u32 full = ring.full(ring.stage);
      u32 to = ring.base + ring.stage * ring.stageBytes;
      primitive::arriveExpecting(full, loadedBytes);
      A::copy(segment.a, to, full, tile.m * Tile::tileM, k, tile.batch, rank);
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        B::copy(segment.b[j], to + offsetB + j * bytesB, full,
                tile.n * Tile::tileN, k, tile.batch, rank);
      ring.advance();
    }
  }

  /// Multiplies `Steps` times 32 bytes of K a stage. Leaves the matmul of the
  /// last of `stages` under way.
  template <int Steps = kBytes / 32, class Ring>
  static FUSEC_DEVICE void consume(int stages, int firstBlock, Ring &ring,
                                   WgmmaAccumulators<Tile, J> &acc) {
    for (; stages > 0; --stages) {
      primitive::waitBarrier(ring.full(ring.stage), ring.parity);
      u32 at = ring.base + ring.stage * ring.stageBytes;
      u64 a = A::descriptor(at + firstBlock * A::blockBytes);
      u64 b = B::descriptor(at + offsetB);
      primitive::fenceWgmma();
      FUSEC_UNROLL
      for (int step = 0; step < Steps; ++step)
        FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        FUSEC_UNROLL
      for (int m = 0; m < Tile::blocksM; ++m)
        primitive::Wgmma<T, Tile::tileN>::template run<!A::alongK, !B::alongK>(
            acc[j][m], a + step * A::step + m * (A::blockBytes / 16),
            b + step * B::step + j * (bytesB / 16), step > 0 || ring.adds != 0);
      ring.adds = 1;
      primitive::commitWgmma();
      // The previous stage has been read when only this one is under way.
      primitive::waitWgmma<1>();
      ring.release();
      ring.reading = ring.stage;
      ring.advance();
    }
  }
};

/// Waits for the accumulators.
template <class Tile, int J, class Ring>
FUSEC_DEVICE void wgmmaFinish(Ring &ring, WgmmaAccumulators<Tile, J> &acc) {
  primitive::waitWgmma<0>();
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int m = 0; m < Tile::blocksM; ++m)
    FUSEC_UNROLL
  for (int i = 0; i < Tile::tileN / 2; ++i)
    primitive::pin(acc[j][m][i]);
  ring.adds = 0;
  ring.release();
  ring.reading = ring.none;
}

/// The number of a block within its cluster, which lies along the grid. (The
/// register that holds it is not known to be uniform.)
template <class Config> FUSEC_DEVICE int wgmmaRank() {
  return launch::block() % Config::cluster;
}

/// Calls body(tile, rank, index) for each tile of this block, by the order of
/// its cluster; `index` counts from that of the first.
template <class Config, class Body>
FUSEC_DEVICE void forEachWgmmaTile(const Shape &shape, int index, Body body) {
  constexpr int cluster = Config::cluster;
  int rank = wgmmaRank<Config>();
  int tilesM = wgmmaTilesM(shape.m, Config::tileM, Config::clusterM);
  int tilesN = wgmmaTilesM(shape.n, Config::tileN, Config::clusterN);
  for (int t = launch::block() / cluster; t < tilesM * tilesN * shape.batch;
       t += launch::blocks() / cluster) {
    TilePlace tile = wgmmaTileOf(t, tilesM, tilesN, Config::band);
    tile.m = tile.m * Config::clusterM + (Config::clusterM > 1 ? rank : 0);
    tile.n = tile.n * Config::clusterN + (Config::clusterN > 1 ? rank : 0);
    body(tile, rank, index++);
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_GEMM_WGMMA_RING_H
