// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring of stages between the producer of a block and its consumers: its
// barriers, and how a segment of K passes through it.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_RING_H
#define FUSEC_KERNELS_GEMM_WGMMA_RING_H

#include "gemm_wgmma_fragment.h"
#include "gemm_wgmma_operand.h"
#include "gemm_wgmma_tiles.h"
#include "prelude_cluster.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// The ring of stages and its barriers, by their places in shared memory.
template <class Config, int J> struct WgmmaRing {
  static constexpr int stored = wgmmaStored(J, Config::splitsFactors);
  static constexpr u32 stageBytes =
      wgmmaStageBytes(Config::tileM, Config::tileN, stored, Config::rowBytesA);
  static constexpr u32 none = ~0u;
  static constexpr int never = 0x7fffffff;
  /// Warps of a block that read a stage.
  static constexpr int readers = Config::pingPong ? 4 : 4 * Config::consumers;
  /// Warps of the producer's warpgroup that split B, beside the one that
  /// copies.
  static constexpr int splitters = 3;
  /// Of a consumer's accumulators.
  static constexpr u32 sumBytes = J * Config::tileN / 2 * 4 * 128;
  u32 base, barriers;
  u32 stage = 0, parity = 0;
  u32 reading = none;
  /// 1 once the accumulators hold sums of this tile; 0: what they hold counts
  /// for nothing.
  u32 adds = 0;
  /// Of the next turn; the first of a ping-pong is that of consumer 0.
  u32 turns = primitive::uniform(Config::pingPong && launch::thread() < 256);
  /// Stages left of this tile, how many there are when this consumer lets the
  /// one before go first, and where it then waits.
  int left = 0, yieldsAt = never;
  u32 yieldsTo;
  /// Whether weights leave L2 first; stages of which they are on their way.
  bool streams = false;
  int ahead = 0;

  FUSEC_DEVICE WgmmaRing() {
    base = primitive::sharedAddress(launch::sharedMemory());
    barriers =
        base + wgmmaBarrierOffset(Config::tileM, Config::tileN, Config::stages,
                                  stored, Config::rowBytesA);
  }
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return barriers + stage * 16 + 8; }
  /// Where a consumer of a ping-pong waits for its turn, and the one behind a
  /// cooperative one for that to end their tile.
  FUSEC_DEVICE u32 turn(u32 consumer) const {
    return barriers + Config::stages * 16 + consumer * 8;
  }
  /// Counts the warps that have split the stage's B.
  FUSEC_DEVICE u32 split(u32 stage) const {
    return barriers + Config::stages * 16 + 16 + stage * 8;
  }
  /// Where K is split over a cluster, in place of those: counts the warps of
  /// the other block that are through with its stages, and the bytes of its
  /// sums.
  FUSEC_DEVICE u32 otherIsFree() const { return split(0); }
  FUSEC_DEVICE u32 received() const { return split(1); }
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
        primitive::initBarrier(empty(s), readers * Config::sharing);
        if constexpr (Config::clusterK == 1)
          primitive::initBarrier(split(s), splitters);
      }
      if constexpr (Config::clusterK > 1) {
        primitive::initBarrier(otherIsFree(), readers);
        primitive::initBarrier(received(), 1);
      }
      primitive::initBarrier(turn(0), 4);
      primitive::initBarrier(turn(1), 4);
      primitive::fenceBarriers();
      if constexpr (Config::clusterK > 1)
        primitive::arriveExpecting(received(), sumBytes);
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
  /// Consumers that share a tile end it one after another, so that the epilogue
  /// of one is evaluated under the last matmuls of the next: as soon as all
  /// that is left of the tile fits the ring, each lets the one before go first.
  FUSEC_DEVICE void startTile(int consumer, int stages) {
    if constexpr (!Config::pingPong) {
      constexpr int most = Config::stages - 1;
      left = stages;
      yieldsAt = consumer == 0 ? never : stages < most ? stages : most;
      yieldsTo = turn(consumer - 1);
    }
  }
  /// Before each stage. What this consumer has read is free meanwhile.
  FUSEC_DEVICE void yield() {
    if (Config::pingPong || left-- != yieldsAt)
      return;
    drain();
    primitive::waitBarrier(yieldsTo, turns);
    turns ^= 1;
  }
  FUSEC_DEVICE void endTile(int consumer) {
    if (!Config::pingPong && consumer + 1 < Config::consumers &&
        launch::lane() == 0)
      primitive::arrive(turn(consumer));
  }
  /// Around what a consumer multiplies of the current stage.
  FUSEC_DEVICE void enter() {
    yield();
    primitive::waitBarrier(full(stage), parity);
  }
  FUSEC_DEVICE void leave() {
    primitive::commitWgmma();
    // The previous stage has been read when only this one is under way.
    primitive::waitWgmma<1>();
    release();
    reading = stage;
    advance();
  }
  /// Waits for what is under way.
  FUSEC_DEVICE void drain() {
    primitive::waitWgmma<0>();
    release();
    reading = none;
  }
  /// Passes over the current stage, which another consumer multiplies.
  FUSEC_DEVICE void pass() {
    enter();
    release(stage);
    advance();
  }
  /// This consumer warp has read the stage that it was reading.
  FUSEC_DEVICE void release() {
    if (reading != none)
      release(reading);
  }
  /// All blocks that share what they load fill it.
  FUSEC_DEVICE void release(u32 stage) const {
    if constexpr (Config::sharing > 1) {
      if (launch::lane() < Config::sharing)
        primitive::arriveAt(empty(stage), launch::lane());
    } else if (launch::lane() == 0) {
      primitive::arrive(empty(stage));
    }
  }
};

/// A segment of a tile, which may have fewer columns than the ring was made
/// for; then a stage holds `Depth` tiles of K.
template <class Tile, int J, class SegmentType, int Depth = 1>
struct WgmmaSegment {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Tile::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Tile::tileM, Tile::clusterN> A;
  typedef WgmmaOperand<typename SegmentType::B, Tile::tileN, Tile::clusterM> B;
  static constexpr int kBytes = B::kBytes;
  /// Ks of a box of A, and its boxes of a tile of K: of what it is made of.
  static constexpr int boxK = A::kBytes / int(sizeof(typename A::T));
  static constexpr int boxesA = A::isMade ? Tile::tileK / boxK : 1;
  static_assert(A::isMade ? kBytes == wgmmaRowBytes && Depth == 1
                          : A::kBytes == kBytes,
                "boxes of the same K");
  static_assert(A::isMade == Tile::makesA && !B::isMade, "A is what is made");
  static constexpr u32 loadedBytes = Depth * (boxesA * A::bytes + J * B::bytes);
  static constexpr u32 offsetB = Depth * Tile::tileM * Tile::rowBytesA;
  /// The B of all accumulators lie one behind the other, so that one
  /// instruction may have the columns of all and reads A once. Columns that are
  /// not whole boxes would not be neighbours.
  static constexpr bool joined =
      isWgmmaWidth(J * Tile::tileN) && (B::alongK || Tile::tileN % 64 == 0);
  static constexpr int width = joined ? J * Tile::tileN : Tile::tileN;

  static FUSEC_DEVICE int tiles(const SegmentType &segment) {
    return tilesOf(segment.k > 0 ? segment.k : 0, Depth * Tile::tileK);
  }
  static FUSEC_DEVICE void prefetch(const SegmentType &segment) {
    A::prefetch(segment.a);
    for (int j = 0; j < J; ++j)
      B::prefetch(segment.b[j]);
  }

  /// Another policy than to stream is none: large problems take a third longer
  /// with one that says that all is as usual.
  template <bool Streamed, class Operand, class Matrix>
  static FUSEC_DEVICE void copyTile(const Matrix &matrix, u32 to, u32 full,
                                    int outer, int k, int batch, int rank,
                                    bool streams) {
    if constexpr (Streamed)
      if (streams)
        return Operand::template copy<true>(matrix, to, full, outer, k, batch,
                                            rank, primitive::streamPolicy());
    Operand::copy(matrix, to, full, outer, k, batch, rank);
  }
  /// Copies the A of a stage, or its B.
  template <bool IsA, class Ring>
  static FUSEC_DEVICE void copy(const SegmentType &segment, WgmmaTile tile,
                                int rank, const Ring &ring, u32 stage, int k) {
    constexpr bool streamed = Tile::streamed && IsA == Tile::swapped;
    u32 full = ring.full(stage), to = ring.base + stage * ring.stageBytes;
    FUSEC_UNROLL
    for (int d = 0; d < Depth; ++d, k += Tile::tileK) {
      if constexpr (IsA) {
        FUSEC_UNROLL
        for (int box = 0; box < boxesA; ++box)
          copyTile<streamed, A>(segment.a, to + (d * boxesA + box) * A::bytes,
                                full, tile.row, k + box * boxK, tile.batch,
                                rank, ring.streams);
      } else {
        FUSEC_UNROLL
        for (int j = 0; j < J; ++j)
          copyTile<streamed, B>(segment.b[j],
                                to + offsetB + (d * J + j) * B::bytes, full,
                                tile.column, k, tile.batch, rank, ring.streams);
      }
    }
  }
  /// Copies the weights of a stage, whose barrier then expects the rest, too.
  template <class Ring>
  static FUSEC_DEVICE void produceWeights(const SegmentType &segment,
                                          WgmmaTile tile, int rank,
                                          const Ring &ring, u32 stage, int k) {
    static_assert(loadedBytes <= Ring::stageBytes, "tiles that a stage holds");
    primitive::arriveExpecting(ring.full(stage), loadedBytes);
    copy<Tile::swapped>(segment, tile, rank, ring, stage, k);
  }
  /// Those of the first of these stages of a block's first tile, as many as the
  /// ring holds.
  template <class Ring>
  static FUSEC_DEVICE void produceAhead(const SegmentType &segment,
                                        WgmmaTile tile, int rank, Ring &ring,
                                        int first, int stages) {
    FUSEC_UNROLL_BY(1)
    for (; ring.ahead < Tile::stages && ring.ahead < stages; ++ring.ahead)
      produceWeights(segment, tile, rank, ring, ring.ahead,
                     (first + ring.ahead) * (Depth * Tile::tileK));
  }
  /// Copies `stages` of the tile's stages, from the `first` on.
  template <class Ring>
  static FUSEC_DEVICE void produce(const SegmentType &segment, WgmmaTile tile,
                                   int rank, Ring &ring, int first,
                                   int stages) {
    // Unrolled, it would not keep to the producer's few registers.
    FUSEC_UNROLL_BY(1)
    for (int k = first * (Depth * Tile::tileK); stages > 0;
         --stages, k += Depth * Tile::tileK) {
      if (Tile::early && ring.ahead > 0) {
        --ring.ahead;
      } else {
        primitive::waitBarrier(ring.empty(ring.stage), ring.parity ^ 1);
        produceWeights(segment, tile, rank, ring, ring.stage, k);
      }
      copy<!Tile::swapped>(segment, tile, rank, ring, ring.stage, k);
      ring.advance();
    }
  }

  /// Starts to multiply `Steps` times 32 bytes of K of the current stage; the
  /// first product overwrites the accumulators unless `adds`.
  template <int Steps = kBytes / 32, class Ring>
  static FUSEC_DEVICE void multiply(const Ring &ring, int firstBlock, bool adds,
                                    WgmmaAccumulators<Tile, J> &acc) {
    u32 at = ring.base + ring.stage * ring.stageBytes;
    u64 a = A::descriptor(at + firstBlock * A::blockBytes);
    u64 b = B::descriptor(at + offsetB);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int d = 0; d < Depth; ++d)
      FUSEC_UNROLL
    for (int step = 0; step < Steps; ++step)
      FUSEC_UNROLL
    for (int column = 0; column < J * Tile::tileN; column += width)
      FUSEC_UNROLL
    for (int m = 0; m < Tile::blocksM; ++m)
      primitive::Wgmma<T, width>::template run<!A::alongK, !B::alongK>(
          acc[m] + column / 2,
          a + (d * A::bytes + m * A::blockBytes) / 16 + step * A::step,
          b + (d * J + column / Tile::tileN) * (B::bytes / 16) + step * B::step,
          d + step > 0 || adds);
  }

  /// Multiplies `stages` stages. Leaves the matmul of the last under way.
  template <int Steps = kBytes / 32, class Ring>
  static FUSEC_DEVICE void consume(int stages, int firstBlock, Ring &ring,
                                   WgmmaAccumulators<Tile, J> &acc) {
    for (; stages > 0; --stages) {
      ring.enter();
      multiply<Steps>(ring, firstBlock, ring.adds != 0, acc);
      ring.adds = 1;
      ring.leave();
    }
  }
};

/// Waits for the accumulators.
template <class Tile, int J, class Ring>
FUSEC_DEVICE void wgmmaFinish(Ring &ring, WgmmaAccumulators<Tile, J> &acc) {
  primitive::waitWgmma<0>();
  FUSEC_UNROLL
  for (int m = 0; m < Tile::blocksM; ++m)
    FUSEC_UNROLL
  for (int i = 0; i < J * Tile::tileN / 2; ++i)
    primitive::pin(acc[m][i]);
  ring.adds = 0;
  ring.release();
  ring.reading = ring.none;
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_RING_H
