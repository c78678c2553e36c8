// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A narrow product that a wgmma matmul needs as the A of its last segment, as
// in x W + (x A) B: blocks compute tiles of x A under their tiles of the
// matmul, or before them, and wait for those of others before their last
// segment. What would be a launch of its own hides in the last, incomplete
// wave, or under the matmul.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_LEAD_H
#define FUSEC_KERNELS_GEMM_WGMMA_LEAD_H

#include "prelude.h"

#include "gemm_wgmma_lead_config.h"
#include "gemm_wgmma_ring.h"
#include "gemm_wgmma_walk.h"
#include "prelude_grid.h"

namespace fusec {

/// The leading product, M x n, and its epilogue, which stores it where the last
/// segment reads it. `Columns`: n in whole instructions of the tensor cores.
/// `flags`: wgmmaLeadFlags words that are zero before a launch and after it.
template <class SegmentType, class Epilogue, int Columns> struct WgmmaLead {
  static constexpr int columns = Columns;
  SegmentType segment;
  Epilogue epilogue;
  int n;
  u32 *flags;
};

#ifndef FUSEC_HOST
namespace detail {

/// There is none.
struct WgmmaNoLead {
  static constexpr bool exists = false, isWide = false;
};

template <class Config, int Accumulators, class SegmentType, class Epilogue,
          int Columns>
struct WgmmaLeading {
  static constexpr bool exists = true, isWide = Columns == wgmmaLeadColumns;
  struct Tile : Config {
    static constexpr int tileM =
        wgmmaLeadRows(Config::tileM, Config::pingPong, Columns);
    static constexpr int tileN = Columns, clusterM = 1, blocksM = 1;
  };
  /// Consumers that compute a tile, 64 rows each.
  static constexpr int consumers = Tile::tileM / 64;
  typedef WgmmaSegment<Tile, 1, SegmentType,
                       wgmmaLeadDepth(Config::tileM, Config::tileN,
                                      Accumulators, Tile::tileM, Columns)>
      Leading;
  static_assert(Config::clusterN == 1 && Epilogue::accumulators == 1 &&
                    isWgmmaWidth(Columns) && Columns <= wgmmaLeadColumns,
                "a tile beside those of the matmul");
  /// Of the last segment, whose k is `Columns`: stages, and steps of the last.
  static constexpr int bytes =
      Columns * int(sizeof(typename SegmentType::A::Element));
  static constexpr int stages = tilesOf(bytes, wgmmaRowBytes);
  static constexpr int lastSteps =
      tilesOf(bytes - (stages - 1) * wgmmaRowBytes, 32);

  const WgmmaLead<SegmentType, Epilogue, Columns> &lead;
  WgmmaLeadOrder order;
  int rows, cluster;

  FUSEC_DEVICE
  WgmmaLeading(const WgmmaLead<SegmentType, Epilogue, Columns> &lead,
               const Shape &shape)
      : lead(lead),
        order(shape.m, wgmmaTilesM(shape.m, Config::tileM, Config::clusterM),
              tilesOf(shape.n, Config::tileN),
              launch::blocks() / Config::cluster, Config::tileM, Config::tileN,
              Config::cluster, Config::band, Tile::tileM),
        rows(shape.m), cluster(launch::block() / Config::cluster) {}

  /// Units under this block's tile of this index, which follow the `had` of
  /// before.
  FUSEC_DEVICE int unitsUnder(int index, int had) const {
    return order.unitsBy(cluster, index) - had;
  }
  FUSEC_DEVICE int stagesOf(int units) const {
    return units * Leading::tiles(lead.segment);
  }
  /// Calls leading(unit, tile, stage) and own(stages) for the stages of `units`
  /// leading tiles and the `count` of the first segment; in turn, unless the
  /// former come first. The last quarter of the latter is for others to see the
  /// result of the former.
  template <class LeadingStage, class OwnStages>
  FUSEC_DEVICE void inTurn(int had, int units, int count, LeadingStage leading,
                           OwnStages own) const {
    int left = stagesOf(units);
    int each = left > 0 && !order.isFirst ? (count - count / 4) / left : 0;
    int unit = order.firstUnit(cluster) + had * order.leading, stage = 0;
    // One place calls own(): each is a main loop to compile.
    FUSEC_UNROLL_BY(1)
    for (int next = left > 0 ? 0 : count;; next = --left > 0 ? each : count) {
      own(next);
      count -= next;
      if (left == 0)
        break;
      int m = unit * Config::cluster + wgmmaRank<Config>();
      leading(unit, WgmmaTile{{0, m, 0}, m * Tile::tileM, 0}, stage);
      if (++stage == stagesOf(1)) {
        stage = 0;
        unit += order.leading;
      }
    }
  }

  /// Copies the stages of `units`, in turn with own(stages).
  template <class Ring, class OwnStages>
  FUSEC_DEVICE void produce(int had, int units, int count, Ring &ring,
                            OwnStages own) const {
    inTurn(
        had, units, count,
        [&](int, WgmmaTile tile, int stage) {
          Leading::produce(lead.segment, tile, 0, ring, stage, 1);
        },
        own);
  }
  /// Waits for what a tile of the matmul reads, and all that comes before it;
  /// one thread of each block calls, which has waited for `flags` so far.
  FUSEC_DEVICE void await(TilePlace tile, int &flags) const {
    int needed = order.flagOfRow(tile.m / Config::cluster) + 1;
    FUSEC_UNROLL_BY(1)
    for (; flags < needed; ++flags)
      primitive::awaitSignals(lead.flags + 1 + flags,
                              u32(order.counted(flags)) * Config::cluster * 4 *
                                  consumers);
  }
  /// One thread of each block calls, once, after all of its waits.
  FUSEC_DEVICE void reset() const {
    if (primitive::countUp(lead.flags) + 1 != u32(launch::blocks()))
      return;
    FUSEC_UNROLL_BY(1)
    for (int word = order.flagOf(order.units - 1) + 1; word >= 0; --word)
      lead.flags[word] = 0;
  }

  /// Multiplies the stages of `units`, in turn with own(stages); consumer
  /// warpgroups without a part in them pass over them.
  template <class Ring, class OwnStages>
  FUSEC_DEVICE void consume(int had, int units, int count, int consumer,
                            Ring &ring, OwnStages own) const {
    bool computes = Config::pingPong || consumer < consumers;
    int block = Config::pingPong ? 0 : consumer;
    WgmmaAccumulators<Tile, 1> sums;
    inTurn(
        had, units, count,
        [&](int unit, WgmmaTile tile, int stage) {
          if (!computes) {
            ring.pass();
            return;
          }
          ring.enter();
          Leading::multiply(ring, block, stage > 0, sums);
          ring.leave();
          if (stage + 1 == stagesOf(1))
            finish(unit, tile.m * consumers + block, ring, sums);
        },
        own);
  }
  /// Stores the results of a block of 64 rows and says so.
  template <class Ring>
  FUSEC_DEVICE void finish(int unit, int block, Ring &ring,
                           WgmmaAccumulators<Tile, 1> &sums) const {
    ring.drain();
    FUSEC_UNROLL
    for (int i = 0; i < Columns / 2; ++i)
      primitive::pin(sums[0][i]);
    store(block * 64, sums);
    launch::warpBarrier();
    if (launch::lane() == 0)
      primitive::signal(lead.flags + 1 + order.flagOf(unit));
  }
  /// Stores a thread's pairs of columns, as its accumulators lie.
  FUSEC_DEVICE void store(int firstRow,
                          const WgmmaAccumulators<Tile, 1> &sums) const {
    int lane = launch::lane();
    FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = firstRow + (launch::warp() & 3) * 16 + (lane >> 2) + half * 8;
      if (row >= rows)
        continue;
      FUSEC_UNROLL
      for (int g = 0; g < Columns / 8; ++g) {
        const float pair[1][2] = {
            {sums[0][g * 4 + half * 2], sums[0][g * 4 + half * 2 + 1]}};
        evaluateRun(lead.epilogue, 0, row, g * 8 + (lane & 3) * 2, lead.n,
                    pair);
      }
    }
  }
};

} // namespace detail
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_WGMMA_LEAD_H
