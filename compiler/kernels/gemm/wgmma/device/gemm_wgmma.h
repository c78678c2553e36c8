// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul by wgmma on sm_90a: persistent blocks, a producer thread that fills a
// ring of swizzled stages through tensor maps, consumer warpgroups that share
// each tile (cooperative) or take tiles in turn (ping-pong). The producer runs
// ahead into the next tile while the consumers evaluate the epilogue of this
// one.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_H
#define FUSEC_KERNELS_GEMM_WGMMA_H

#include "gemm_wgmma_epilogue.h"
#include "gemm_wgmma_lead.h"
#include "gemm_wgmma_made.h"
#include "gemm_wgmma_rows.h"
#include "gemm_wgmma_split_k.h"
#include "gemm_wgmma_staged.h"
#include "gemm_wgmma_tf32x3.h"
#include "gemm_wgmma_walk.h"

namespace fusec {

#ifdef FUSEC_HOST

/// The tiles of this block.
template <class Config, class Epilogue, class... Segments>
void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
               const Segments &...segments) {
  hostTiles<Config>(launch::block(), launch::blocks(), shape, epilogue,
                    segments...);
}

/// Behind all of the leading product, since no block waits for another.
template <class Config, class Segment, class LeadEpilogue, int Columns,
          class Epilogue, class... Segments>
void gemmWgmmaLed(const WgmmaLead<Segment, LeadEpilogue, Columns> &lead,
                  const Shape &shape, const Epilogue &epilogue,
                  const Segments &...segments) {
  hostTiles<Config>(0, 1, {shape.m, lead.n, 1}, lead.epilogue, lead.segment);
  gemmWgmma<Config>(shape, epilogue, segments...);
}

#else
namespace detail {

/// Whether the stages of all segments look alike to the tensor cores.
template <class First, class... Rest>
constexpr bool wgmmaLayoutsAgree = ((First::A::alongK == Rest::A::alongK &&
                                     First::B::alongK == Rest::B::alongK &&
                                     First::kBytes == Rest::kBytes) &&
                                    ...);

/// All stages of a tile, first those of the first segment.
template <class Config, class First, class... Rest, int J, class... Stages>
FUSEC_DEVICE void wgmmaConsume(int firstBlock, WgmmaRing<Config, J> &ring,
                               WgmmaAccumulators<Config, J> &acc, int first,
                               Stages... stages) {
  if constexpr (wgmmaLayoutsAgree<First, Rest...>) {
    First::consume((first + ... + stages), firstBlock, ring, acc);
  } else {
    First::consume(first, firstBlock, ring, acc);
    wgmmaConsume<Config, Rest...>(firstBlock, ring, acc, stages...);
  }
}
/// Of those that follow the first where there is a lead, which knows how much
/// counts of a stage of the last. In one loop with those of the first, which is
/// less to compile, ptxas (13.0) loses track of what is under way: it evaluates
/// some of the epilogue before it waits for the accumulators.
template <class Config, class Lead, class First, class... Rest, int J,
          class... Stages>
FUSEC_DEVICE void wgmmaConsumeLed(int firstBlock, WgmmaRing<Config, J> &ring,
                                  WgmmaAccumulators<Config, J> &acc, int first,
                                  Stages... stages) {
  if constexpr (sizeof...(Rest) > 0) {
    First::consume(first, firstBlock, ring, acc);
    wgmmaConsumeLed<Config, Lead, Rest...>(firstBlock, ring, acc, stages...);
  } else {
    if constexpr (Lead::stages > 1)
      First::consume(Lead::stages - 1, firstBlock, ring, acc);
    First::template consume<Lead::lastSteps>(1, firstBlock, ring, acc);
  }
}

/// Copies what the block multiplies of a tile, segment by segment.
template <class Config, int J, class... Segments>
FUSEC_DEVICE void wgmmaProduce(WgmmaRing<Config, J> &ring, WgmmaTile tile,
                               int rank, const Segments &...segments) {
  auto produce = [&](auto of, const auto &segment) {
    WgmmaStages stages = wgmmaStagesOf<Config, decltype(of)>(segment, rank);
    of.produce(segment, tile, rank, ring, stages.first, stages.count);
  };
  (produce(WgmmaSegment<Config, J, Segments>(), segments), ...);
}
/// Those that follow the first where there is a lead: the last one needs it.
/// Some of its `flags` the block has awaited.
template <class Config, class Lead, int J, class First, class... Rest>
FUSEC_DEVICE void wgmmaProduceLed(WgmmaRing<Config, J> &ring, const Lead &lead,
                                  int &flags, WgmmaTile tile, int rank,
                                  const First &first, const Rest &...rest) {
  if constexpr (sizeof...(Rest) == 0)
    lead.await(tile, flags);
  wgmmaProduce<Config, J>(ring, tile, rank, first);
  if constexpr (sizeof...(Rest) > 0)
    wgmmaProduceLed(ring, lead, flags, tile, rank, rest...);
}

/// All copies of this block; one thread calls.
template <class Config, class Lead, int J, class First, class... Rest>
FUSEC_DEVICE void wgmmaProducer(WgmmaRing<Config, J> ring, const Lead &lead,
                                const Shape &shape, const First &first,
                                const Rest &...rest) {
  ring.streams = Config::swapped ? shape.n <= wgmmaStreamedRows * Config::tileN
                                 : shape.m <= wgmmaStreamedRows * Config::tileM;
  if constexpr (Config::early) {
    static_assert(!Lead::exists, "a lead comes before the first segment");
    int rank = wgmmaRank<Config>(), t = launch::block() / Config::cluster;
    typedef WgmmaSegment<Config, J, First> Segment;
    WgmmaStages stages = wgmmaStagesOf<Config, Segment>(first, rank);
    if (t < wgmmaTiles<Config>(shape))
      Segment::produceAhead(first, wgmmaPlace<Config>(shape, t, rank), rank,
                            ring, stages.first, stages.count);
    launch::awaitPrevious();
  }
  int flags = 0, had = 0;
  forEachWgmmaTile<Config, Lead::exists>(shape, [&](WgmmaTile tile, int rank,
                                                    int index) {
    if constexpr (Lead::exists) {
      typedef WgmmaSegment<Config, J, First> Segment;
      bool isTile = tile.batch < shape.batch;
      int units = lead.unitsUnder(index, had), next = 0;
      lead.produce(had, units, isTile ? Segment::tiles(first) : 0, ring,
                   [&](int stages) {
                     Segment::produce(first, tile, rank, ring, next, stages);
                     next += stages;
                   });
      had += units;
      if (isTile)
        wgmmaProduceLed(ring, lead, flags, tile, rank, rest...);
    } else {
      wgmmaProduce<Config, J>(ring, tile, rank, first, rest...);
    }
  });
  if constexpr (Lead::exists)
    lead.reset();
}

/// All tiles of a consumer warpgroup: stage by stage, then the epilogue. `warp`
/// counts those of all consumers.
template <class Config, class Lead, class Epilogue, class First, class... Rest>
FUSEC_DEVICE void wgmmaConsumer(WgmmaRing<Config, Epilogue::accumulators> ring,
                                int warp, const Lead &lead, const Shape &shape,
                                const Epilogue &epilogue, const First &first,
                                const Rest &...rest) {
  constexpr int J = Epilogue::accumulators;
  typedef WgmmaMappedStore<Config, Epilogue, Lead::isWide> MappedStore;
  typedef
      typename Conditional<MappedStore::suits, MappedStore,
                           WgmmaStagedStore<Config, Epilogue>>::Type PointStore;
  typedef
      typename Conditional<reducesRows<Epilogue>,
                           WgmmaRowStore<Config, Epilogue>, PointStore>::Type
          Store;
  typedef WgmmaSegment<Config, J, First> FirstSegment;
  int consumer = warp / 4;
  Store store(epilogue, shape, warp);
  int firstBlock = Config::pingPong ? 0 : consumer * Config::blocksM;
  int own = wgmmaCountOf<Config, FirstSegment>(first), had = 0;
  ((own += wgmmaCountOf<Config, WgmmaSegment<Config, J, Rest>>(rest)), ...);
  forEachWgmmaTile<Config, Lead::exists>(shape, [&](WgmmaTile tile, int rank,
                                                    int index) {
    bool isTile = !Lead::exists || tile.batch < shape.batch;
    int stages = isTile ? own : 0, before = had, units = 0;
    if constexpr (Lead::exists) {
      units = lead.unitsUnder(index, had);
      stages += lead.stagesOf(units);
      had += units;
    }
    if (ring.skips(index, consumer, stages))
      return;
    int row =
        wgmmaStoredRow<Config>(shape, tile) + firstBlock * 64 + (warp & 3) * 16;
    // Of a tile of two blocks each finishes the rows of one consumer.
    bool finishes = Config::clusterK == 1 || consumer == rank;
    if (isTile && finishes)
      store.place(tile, row);
    WgmmaAccumulators<Config, J> acc;
    ring.takeTurn(consumer);
    ring.startTile(consumer, stages);
    if constexpr (Lead::exists) {
      lead.consume(before, units, isTile ? FirstSegment::tiles(first) : 0,
                   consumer, ring, [&](int stages) {
                     FirstSegment::consume(stages, firstBlock, ring, acc);
                   });
      if (!isTile) {
        ring.drain();
        ring.endTurn(consumer);
        ring.endTile(consumer);
        return;
      }
      wgmmaConsumeLed<Config, Lead, WgmmaSegment<Config, J, Rest>...>(
          firstBlock, ring, acc, WgmmaSegment<Config, J, Rest>::tiles(rest)...);
    } else if constexpr (Config::splitsFactors) {
      FUSEC_UNROLL
      for (float &sum : acc[0])
        sum = 0;
      wgmmaConsumeSplit<Config, J>(first, firstBlock, ring, acc);
      (wgmmaConsumeSplit<Config, J>(rest, firstBlock, ring, acc), ...);
    } else if constexpr (Config::makesA) {
      static_assert(sizeof...(Rest) == 0, "one product of what is made");
      wgmmaConsumeMade<Config, J>(first, shape.m, tile, firstBlock, ring, acc);
    } else {
      wgmmaConsume<Config, FirstSegment, WgmmaSegment<Config, J, Rest>...>(
          firstBlock, ring, acc, wgmmaCountOf<Config, FirstSegment>(first),
          wgmmaCountOf<Config, WgmmaSegment<Config, J, Rest>>(rest)...);
    }
    ring.endTurn(consumer);
    ring.endTile(consumer);
    if (finishes)
      store.begin();
    wgmmaFinish<Config, J>(ring, acc);
    if constexpr (Config::clusterK > 1) {
      WgmmaMeeting<Config, J> meeting(ring, rank, acc);
      meeting.start(own == 0);
      if (!finishes) {
        meeting.send();
        return;
      }
      meeting.receive();
    }
    if constexpr (Config::splitsFactors)
      wgmmaReplaceOutOfRange<Config, J>(shape, tile, row, warp, acc, first,
                                        rest...);
    store.run(acc);
  });
  store.finish();
}

/// The roles of a block's warpgroups.
template <class Config, class Lead, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmWgmma(const Lead &lead, const Shape &shape,
                            const Epilogue &epilogue,
                            const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  static_assert(J <= wgmmaMaxAccumulators &&
                    wgmmaAccumulatorRegisters(Config::tileM, Config::tileN,
                                              Config::schedule, J) <
                        wgmmaConsumerRegisters(Config::tileM),
                "accumulators that fit the registers");
  // Producers that do more than copy one product.
  constexpr bool isFull = Lead::exists || Config::splitsFactors;
  static_assert(128 * (wgmmaProducerRegisters(isFull) +
                       wgmmaConsumers(Config::tileM) *
                           wgmmaConsumerRegisters(Config::tileM, isFull)) <=
                    65536,
                "registers that a multiprocessor has");
  WgmmaRing<Config, J> ring;
  if (launch::thread() == 0)
    (WgmmaSegment<Config, J, Segments>::prefetch(segments), ...);
  ring.start();
  int warp = primitive::uniform(launch::warp());
  if (warp < 4) {
    primitive::giveRegisters<wgmmaProducerRegisters(isFull)>();
    if (warp == 0 && primitive::elect())
      wgmmaProducer(ring, lead, shape, segments...);
    if constexpr (Config::splitsFactors)
      if (warp > 0)
        wgmmaSplitter(ring, warp - 1, shape, segments...);
  } else {
    primitive::takeRegisters<wgmmaConsumerRegisters(Config::tileM, isFull)>();
    if constexpr (Config::early)
      launch::awaitPrevious();
    wgmmaConsumer(ring, warp - 4, lead, shape, epilogue, segments...);
  }
  if constexpr (Config::cluster > 1)
    ring.meet();
}

} // namespace detail

/// The tiles of this block; any grid of whole clusters. Segments of no K are
/// passed over, but one has some.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
                            const Segments &...segments) {
  detail::gemmWgmma<Config>(detail::WgmmaNoLead(), shape, epilogue,
                            segments...);
}

/// The same where the last segment's A is the result of `lead`. No batches; all
/// blocks have to run at the same time.
template <class Config, class Segment, class LeadEpilogue, int Columns,
          class Epilogue, class... Segments>
FUSEC_DEVICE void
gemmWgmmaLed(const WgmmaLead<Segment, LeadEpilogue, Columns> &lead,
             const Shape &shape, const Epilogue &epilogue,
             const Segments &...segments) {
  typedef detail::WgmmaLeading<Config, Epilogue::accumulators, Segment,
                               LeadEpilogue, Columns>
      Leading;
  detail::gemmWgmma<Config>(Leading(lead, shape), shape, epilogue, segments...);
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_WGMMA_H
