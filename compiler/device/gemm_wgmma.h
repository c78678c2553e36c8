// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul by wgmma on sm_90a: persistent blocks, a producer thread that fills a
// ring of swizzled stages through tensor maps, consumer warpgroups that share
// each tile (cooperative) or take tiles in turn (ping-pong). The producer runs
// ahead into the next tile while the consumers evaluate the epilogue of this
// one.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_H
#define FUSEC_DEVICE_GEMM_WGMMA_H

#include "gemm_wgmma_epilogue.h"
#include "gemm_wgmma_operand.h"
#include "gemm_wgmma_rows.h"
#include "gemm_wgmma_staged.h"
#include "prelude_cluster.h"

namespace fusec {

#ifdef FUSEC_HOST

/// The tiles of this block.
template <class Config, class Epilogue, class... Segments>
void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
               const Segments &...segments) {
  hostTiles<Config>(launch::block(), launch::blocks(), shape, epilogue,
                    segments...);
}

#else
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

template <class Config, int J, class SegmentType> struct WgmmaSegment {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Config::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Config::tileM, Config::clusterN>
      A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN, Config::clusterM>
      B;
  static constexpr u32 loadedBytes = A::bytes + J * B::bytes;
  static constexpr u32 offsetB = Config::tileM * wgmmaRowBytes;
  static constexpr u32 bytesB =
      wgmmaStageColumns(Config::tileN) * wgmmaRowBytes;

  static FUSEC_DEVICE int tiles(const SegmentType &segment) {
    return tilesOf(segment.k > 0 ? segment.k : 0, Config::tileK);
  }
  static FUSEC_DEVICE void prefetch(const SegmentType &segment) {
    A::prefetch(segment.a);
    for (int j = 0; j < J; ++j)
      B::prefetch(segment.b[j]);
  }

  static FUSEC_DEVICE void produce(const SegmentType &segment, TilePlace tile,
                                   int rank, WgmmaRing<Config, J> &ring) {
    for (int k = 0; k < segment.k; k += Config::tileK) {
      primitive::waitBarrier(ring.empty(ring.stage), ring.parity ^ 1);
      u32 full = ring.full(ring.stage);
      u32 to = ring.base + ring.stage * ring.stageBytes;
      primitive::arriveExpecting(full, loadedBytes);
      A::copy(segment.a, to, full, tile.m * Config::tileM, k, tile.batch, rank);
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        B::copy(segment.b[j], to + offsetB + j * bytesB, full,
                tile.n * Config::tileN, k, tile.batch, rank);
      ring.advance();
    }
  }

  /// Leaves the matmul of the last of `stages` under way.
  static FUSEC_DEVICE void consume(int stages, int firstBlock,
                                   WgmmaRing<Config, J> &ring,
                                   WgmmaAccumulators<Config, J> &acc) {
    for (; stages > 0; --stages) {
      primitive::waitBarrier(ring.full(ring.stage), ring.parity);
      u32 at = ring.base + ring.stage * ring.stageBytes;
      u64 a = A::descriptor(at + firstBlock * 64 * wgmmaRowBytes);
      u64 b = B::descriptor(at + offsetB);
      primitive::fenceWgmma();
      FUSEC_UNROLL
      for (int step = 0; step < wgmmaRowBytes / 32; ++step)
        FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        FUSEC_UNROLL
      for (int m = 0; m < Config::blocksM; ++m)
        primitive::Wgmma<T, Config::tileN>::template run<!A::alongK,
                                                         !B::alongK>(
            acc[j][m], a + step * A::step + m * (64 * wgmmaRowBytes / 16),
            b + step * B::step + j * (bytesB / 16));
      primitive::commitWgmma();
      // The previous stage has been read when only this one is under way.
      primitive::waitWgmma<1>();
      ring.release();
      ring.reading = ring.stage;
      ring.advance();
    }
  }
};

/// Whether the stages of all segments look alike to the tensor cores.
template <class First, class... Rest>
constexpr bool wgmmaLayoutsAgree = ((First::A::alongK == Rest::A::alongK &&
                                     First::B::alongK == Rest::B::alongK) &&
                                    ...);

/// Waits for the accumulators.
template <class Config, int J>
FUSEC_DEVICE void wgmmaFinish(WgmmaRing<Config, J> &ring,
                              WgmmaAccumulators<Config, J> &acc) {
  primitive::waitWgmma<0>();
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int m = 0; m < Config::blocksM; ++m)
    FUSEC_UNROLL
  for (int i = 0; i < Config::tileN / 2; ++i)
    primitive::pin(acc[j][m][i]);
  ring.release();
  ring.reading = ring.none;
}

/// All stages of a tile: first those of the first segment.
template <class Config, class First, class... Rest, int J, class... Stages>
FUSEC_DEVICE void wgmmaConsume(int firstBlock, WgmmaRing<Config, J> &ring,
                               WgmmaAccumulators<Config, J> &acc, int first,
                               Stages... stages) {
  if constexpr (sizeof...(Rest) == 0) {
    First::consume(first, firstBlock, ring, acc);
  } else if constexpr (wgmmaLayoutsAgree<First, Rest...>) {
    First::consume((first + ... + stages), firstBlock, ring, acc);
  } else {
    First::consume(first, firstBlock, ring, acc);
    wgmmaFinish(ring, acc);
    wgmmaConsume<Config, Rest...>(firstBlock, ring, acc, stages...);
  }
}

/// Calls body(tile, index) for each tile of this block, by the order of its
/// cluster.
template <class Config, class Body>
FUSEC_DEVICE void forEachWgmmaTile(const Shape &shape, Body body) {
  constexpr int cluster = Config::cluster;
  int rank = cluster > 1 ? int(primitive::blockInCluster()) : 0;
  int tilesM = wgmmaTilesM(shape.m, Config::tileM, Config::clusterM);
  int tilesN = wgmmaTilesM(shape.n, Config::tileN, Config::clusterN);
  int index = 0;
  for (int t = launch::block() / cluster; t < tilesM * tilesN * shape.batch;
       t += launch::blocks() / cluster) {
    TilePlace tile = wgmmaTileOf(t, tilesM, tilesN, Config::band);
    tile.m = tile.m * Config::clusterM + (Config::clusterM > 1 ? rank : 0);
    tile.n = tile.n * Config::clusterN + (Config::clusterN > 1 ? rank : 0);
    body(tile, rank, index++);
  }
}

/// All tiles of a consumer warpgroup: stage by stage, then the epilogue.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void wgmmaConsumer(WgmmaRing<Config, Epilogue::accumulators> ring,
                                int consumer, const Shape &shape,
                                const Epilogue &epilogue,
                                const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  typedef WgmmaMappedStore<Config, Epilogue> MappedStore;
  typedef
      typename Conditional<MappedStore::suits, MappedStore,
                           WgmmaStagedStore<Config, Epilogue>>::Type PointStore;
  typedef
      typename Conditional<reducesRows<Epilogue>,
                           WgmmaRowStore<Config, Epilogue>, PointStore>::Type
          Store;
  constexpr int staging =
      wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages, J);
  int warp = launch::warp() - 4;
  Store store(epilogue, shape, warp);
  int firstBlock = Config::pingPong ? 0 : consumer * Config::blocksM;
  int stages = 0;
  ((stages += WgmmaSegment<Config, J, Segments>::tiles(segments)), ...);
  // The first turn is that of consumer 0.
  u32 turn = consumer == 0 ? 1 : 0;
  if (Config::pingPong && consumer == 1)
    ring.skip(stages);
  forEachWgmmaTile<Config>(shape, [&](TilePlace tile, int, int index) {
    if (Config::pingPong && (index & 1) != consumer)
      return;
    store.place(tile,
                tile.m * Config::tileM + firstBlock * 64 + (warp & 3) * 16);
    WgmmaAccumulators<Config, J> acc = {};
    // Parities tell a stage of this round from the last one only once all
    // stages before it have been filled.
    if constexpr (Config::pingPong) {
      primitive::waitBarrier(ring.turn(consumer), turn);
      turn ^= 1;
    }
    wgmmaConsume<Config, WgmmaSegment<Config, J, Segments>...>(
        firstBlock, ring, acc,
        WgmmaSegment<Config, J, Segments>::tiles(segments)...);
    if constexpr (Config::pingPong) {
      if (launch::lane() == 0)
        primitive::arrive(ring.turn(consumer ^ 1));
      ring.skip(stages);
    }
    store.begin();
    wgmmaFinish(ring, acc);
    store.run(acc);
  });
  store.finish();
}

} // namespace detail

/// The tiles of this block; any grid of whole clusters.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
                            const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  static_assert(J <= wgmmaMaxAccumulators &&
                    wgmmaAccumulatorRegisters(Config::tileM, Config::tileN,
                                              Config::schedule, J) <
                        wgmmaConsumerRegisters(Config::tileM),
                "accumulators that fit the registers");
  detail::WgmmaRing<Config, J> ring;
  if (launch::thread() == 0)
    (detail::WgmmaSegment<Config, J, Segments>::prefetch(segments), ...);
  ring.start();
  int group = launch::thread() / 128;
  if (group == 0) {
    primitive::giveRegisters<wgmmaProducerRegisters>();
    if (launch::thread() == 0)
      detail::forEachWgmmaTile<Config>(
          shape, [&](TilePlace tile, int rank, int) {
            (detail::WgmmaSegment<Config, J, Segments>::produce(segments, tile,
                                                                rank, ring),
             ...);
          });
  } else {
    primitive::takeRegisters<wgmmaConsumerRegisters(Config::tileM)>();
    detail::wgmmaConsumer(ring, group - 1, shape, epilogue, segments...);
  }
  if constexpr (Config::cluster > 1)
    ring.meet();
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_WGMMA_H
