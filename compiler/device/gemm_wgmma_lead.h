// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A narrow product that a wgmma matmul needs as the A of its last segment, as
// in x W + (x A) B: tiles of x A come first in the order of the launch, in the
// clusters that have fewer tiles of the matmul than others, and the other
// clusters wait for them only before their last segment. What would be a launch
// of its own hides in the last, incomplete wave.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_LEAD_H
#define FUSEC_DEVICE_GEMM_WGMMA_LEAD_H

#include "gemm_wgmma_ring.h"
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
  static constexpr bool exists = false;
};

template <class Config, int Accumulators, class SegmentType, class Epilogue,
          int Columns>
struct WgmmaLeading {
  static constexpr bool exists = true;
  /// The same rows and stages, other columns.
  struct Tile : Config {
    static constexpr int tileN = Columns, clusterM = 1;
  };
  /// A leading tile waits for memory: it has as much on its way as the ring
  /// holds.
  typedef WgmmaSegment<Tile, 1, SegmentType,
                       wgmmaLeadDepth(Config::tileM, Config::tileN,
                                      Accumulators)>
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

  static FUSEC_DEVICE int tiles(const Shape &shape) {
    return wgmmaTilesM(shape.m, Config::tileM, Config::clusterM);
  }
  /// Clusters that have leading tiles, the last ones: those with fewer tiles of
  /// the matmul than others, where two each are enough.
  static FUSEC_DEVICE int clusters(const Shape &shape) {
    int all = launch::blocks() / Config::cluster;
    int spare = all - tiles(shape) * tilesOf(shape.n, Config::tileN) % all;
    return tiles(shape) <= 2 * spare ? spare : all;
  }
  /// Calls body(tile, index) for each leading tile of this block.
  template <class Body>
  static FUSEC_DEVICE int forEach(const Shape &shape, Body body) {
    constexpr int cluster = Config::cluster;
    int all = launch::blocks() / cluster, leading = clusters(shape), index = 0;
    int own = all - 1 - launch::block() / cluster;
    if (own < leading)
      for (int t = own; t < tiles(shape); t += leading)
        body(TilePlace{0, t * cluster + wgmmaRank<Config>(), 0}, index++);
    return index;
  }

  template <class Ring>
  FUSEC_DEVICE void produce(const Shape &shape, Ring &ring) const {
    forEach(shape, [&](TilePlace tile, int) {
      Leading::produce(lead.segment, tile, wgmmaRank<Config>(), ring);
    });
  }
  /// The first flag counts blocks that have ended; the others what the clusters
  /// have stored of their first leading tile, of their second, and so on.
  static FUSEC_DEVICE int roundOf(const Shape &shape, int t) {
    int round = t / clusters(shape);
    return round < wgmmaLeadRounds ? round : wgmmaLeadRounds - 1;
  }
  FUSEC_DEVICE u32 *flagOf(int round) const { return lead.flags + 1 + round; }
  /// Waits for what a tile of the matmul reads, and all that comes before it;
  /// one thread of each block calls, which has waited for `rounds` so far.
  FUSEC_DEVICE void await(const Shape &shape, TilePlace tile,
                          int &rounds) const {
    constexpr int warps = Config::pingPong ? 4 : 4 * Config::consumers;
    int needed = roundOf(shape, tile.m / Config::cluster) + 1;
    FUSEC_UNROLL_BY(1)
    for (; rounds < needed; ++rounds) {
      int all = tiles(shape), each = clusters(shape),
          left = all - rounds * each;
      bool isLast = rounds + 1 == wgmmaLeadRounds || left < each;
      primitive::awaitSignals(flagOf(rounds), u32(isLast ? left : each) *
                                                  Config::cluster * warps);
    }
  }
  /// One thread of each block calls, once, after all of its waits.
  FUSEC_DEVICE void finish(const Shape &shape) const {
    if (primitive::countUp(lead.flags) + 1 != u32(launch::blocks()))
      return;
    FUSEC_UNROLL_BY(1)
    for (int word = roundOf(shape, tiles(shape) - 1) + 1; word >= 0; --word)
      lead.flags[word] = 0;
  }

  /// The leading tiles of a consumer warpgroup; returns how many tiles the
  /// block has had.
  template <class Ring>
  FUSEC_DEVICE int consume(const Shape &shape, int consumer, Ring &ring) const {
    int firstBlock = Config::pingPong ? 0 : consumer * Config::blocksM;
    int count = Leading::tiles(lead.segment);
    return forEach(shape, [&](TilePlace tile, int index) {
      if (ring.skips(index, consumer, count))
        return;
      WgmmaAccumulators<Tile, 1> acc;
      ring.takeTurn(consumer);
      Leading::consume(count, firstBlock, ring, acc);
      ring.endTurn(consumer);
      wgmmaFinish<Tile, 1>(ring, acc);
      store(tile.m * Config::tileM + firstBlock * 64, shape.m, acc);
      launch::warpBarrier();
      if (launch::lane() == 0)
        primitive::signal(flagOf(roundOf(shape, tile.m / Config::cluster)));
    });
  }
  /// Stores a thread's pairs of columns, as its accumulators lie.
  FUSEC_DEVICE void
  store(int firstRow, int rows,
        const float (&acc)[Config::blocksM][Columns / 2]) const {
    int lane = launch::lane();
    FUSEC_UNROLL
    for (int m = 0; m < Config::blocksM; ++m)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = firstRow + m * 64 + (launch::warp() & 3) * 16 + (lane >> 2) +
                half * 8;
      if (row >= rows)
        continue;
      FUSEC_UNROLL
      for (int g = 0; g < Columns / 8; ++g) {
        const float pair[1][2] = {
            {acc[m][g * 4 + half * 2], acc[m][g * 4 + half * 2 + 1]}};
        evaluateRun(lead.epilogue, 0, row, g * 8 + (lane & 3) * 2, lead.n,
                    pair);
      }
    }
  }
};

} // namespace detail
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_WGMMA_LEAD_H
