// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roots with few rows on sm_90a, which the weights' bytes bound: the weights
// are the 64-row side of wgmma and the rows of A its narrow side. The blocks of
// a cluster contract a part of K each, write their partial sums to each
// other's shared memory, and each adds, in the order of the blocks, and
// evaluates a slice of the columns.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_H
#define FUSEC_KERNELS_GEMM_SKINNY_H

#include "gemm_skinny_made.h"
#include "gemm_skinny_ring.h"
#include "gemm_skinny_rows.h"
#include "gemm_skinny_tf32x3.h"

namespace fusec {

#ifdef FUSEC_HOST

/// The first block of a cluster does its tile; K is not split.
template <class Config, class Epilogue, class... Segments>
void gemmSkinny(const Shape &shape, const Epilogue &epilogue,
                const Segments &...segments) {
  if (launch::block() % Config::cluster == 0)
    hostTiles<Config>(launch::block() / Config::cluster, launch::blocks(),
                      shape, epilogue, segments...);
}

#else
namespace detail {

/// Writes each slice of the accumulators to the block that finishes it.
template <class Config, int J>
FUSEC_DEVICE void skinnySend(int rank, const SkinnyMemory<Config, J> &memory,
                             const SkinnyAccumulators<Config, J> &acc) {
  int lane = launch::lane();
  FUSEC_UNROLL
  for (int b = 0; b < Config::blocks; ++b)
    FUSEC_UNROLL
  for (int half = 0; half < 2; ++half) {
    // Eight neighbouring columns a warp: never of two slices.
    int column = b * 64 + (launch::warp() & 3) * 16 + half * 8;
    int owner = column / Config::slice;
    SkinnyReceiver<Config> to(memory.base +
                                  memory.received(rank, 0, (lane & 3) * 2) +
                                  (column % Config::slice + (lane >> 2)) * 4,
                              memory.received(), owner);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int i = 0; i < Config::tokens / 2; i += 4)
      FUSEC_UNROLL
    for (int e = 0; e < 2; ++e)
      to.write(memory.received(0, j, i * 2 + e) - memory.received(0, 0, 0),
               acc[j][b][i + half * 2 + e]);
  }
}

/// A thread's runs of four columns of one token.
template <class Config> struct SkinnyRuns {
  static constexpr int perToken = Config::slice / 4;
  static constexpr int count = Config::tokens * perToken;
  static constexpr int perThread = (count + 127) / 128;
  /// Runs whose operands are read before the sums are there.
  static constexpr int ahead = perThread < 2 ? perThread : 2;
};

template <class Config, class Epilogue, int J> struct SkinnyFinish {
  typedef SkinnyRuns<Config> Runs;
  const Epilogue &epilogue;
  const Shape &shape;
  TilePlace tile;
  int rank;
  Values<4, typename Epilogue::Operands> operands[Runs::ahead];

  FUSEC_DEVICE Place place(int i) const {
    int run = i * 128 + launch::thread();
    int row = tile.m * Config::tokens + run / Runs::perToken;
    int column = tile.n * Config::tileN + rank * Config::slice +
                 run % Runs::perToken * 4;
    bool inside = run < Runs::count && row < shape.m;
    return {tile.batch, row, column, inside ? min(shape.n - column, 4) : 0};
  }
  FUSEC_DEVICE void readAhead() {
    FUSEC_UNROLL
    for (int i = 0; i < Runs::ahead; ++i) {
      Place at = place(i);
      if (at.count > 0)
        readPack(epilogue.operands, at, operands[i]);
    }
  }
  /// replaceOutOfRange() of four sums.
  template <class... Segments>
  FUSEC_DEVICE void replaceOutOfRange(Place at, float (&sums)[J][4],
                                      const Segments &...segments) const {
    int row[1] = {int(at.row)}, column[4];
    FUSEC_UNROLL
    for (int c = 0; c < 4; ++c)
      column[c] = min(int(at.column) + c, shape.n - 1);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      if (isInRange(sums[j][0]) && isInRange(sums[j][1]) &&
          isInRange(sums[j][2]) && isInRange(sums[j][3]))
        continue;
      float byFma[1][4] = {};
      (addByFma(segments, j, at.batch, segments.range(at.batch), row, column,
                byFma),
       ...);
      FUSEC_UNROLL
      for (int c = 0; c < 4; ++c)
        if (!isInRange(sums[j][c]))
          sums[j][c] = byFma[0][c];
    }
  }
  template <class... Segments>
  FUSEC_DEVICE void run(const Segments &...segments) {
    FUSEC_UNROLL
    for (int i = 0; i < Runs::perThread; ++i) {
      Place at = place(i);
      if (at.count <= 0)
        continue;
      if (i >= Runs::ahead)
        readPack(epilogue.operands, at, operands[i % Runs::ahead]);
      int run = i * 128 + launch::thread();
      float sums[J][4] = {};
      FUSEC_UNROLL
      for (int from = 0; from < Config::cluster; ++from)
        FUSEC_UNROLL
      for (int j = 0; j < J; ++j) {
        const unsigned char *p =
            launch::sharedMemory() +
            SkinnyMemory<Config, J>::received(from, j, run / Runs::perToken) +
            run % Runs::perToken * 16;
        Vec<float, 4> part = load<4>(reinterpret_cast<const float *>(p));
        FUSEC_UNROLL
        for (int c = 0; c < 4; ++c)
          sums[j][c] = from == 0 ? part[c] : sums[j][c] + part[c];
      }
      if constexpr (Config::splitsFactors)
        replaceOutOfRange(at, sums, segments...);
      Values<4, typename Epilogue::Results> results;
      FUSEC_UNROLL
      for (int c = 0; c < 4; ++c) {
        float values[J];
        FUSEC_UNROLL
        for (int j = 0; j < J; ++j)
          values[j] = sums[j][c];
        applyAt<Epilogue>(c, values, operands[i % Runs::ahead], results);
      }
      writePack(epilogue.results, at, results);
    }
  }
};

} // namespace detail

/// One tile a cluster: skinnyGrid() blocks.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmSkinny(const Shape &shape, const Epilogue &epilogue,
                             const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  static_assert(skinnyRegisters(Config::tokens, Config::blocks, J,
                                Config::splitsFactors) <=
                    skinnyMaxRegisters(Config::splitsFactors),
                "accumulators that fit the registers");
  static_assert(!Config::splitsFactors || !reducesRows<Epilogue>,
                "sums that FMA replaces are those of a thread");
  constexpr int cluster = Config::cluster;
  detail::SkinnyMemory<Config, J> memory;
  if (launch::thread() == 128)
    (detail::skinnyPrefetch<Config, J>(segments), ...);
  memory.start();
  if constexpr (cluster > 1)
    primitive::arriveInCluster();
  int rank = launch::block() % cluster;
  // Neighbouring clusters read neighbouring columns.
  TilePlace tile =
      tileOf(launch::block() / cluster, tilesOf(shape.m, Config::tokens),
             tilesOf(shape.n, Config::tileN));
  Split split{rank, cluster};
  u32 at = 0;
  if (primitive::uniform(launch::warp()) == 4) {
    if (primitive::elect()) {
      u64 policy = primitive::streamPolicy();
      u32 ahead = 0;
      if constexpr (Config::early) {
        ahead =
            detail::skinnyCopyAhead(tile, split, policy, memory, segments...);
        launch::awaitPrevious();
      }
      (detail::skinnyProduce(segments, tile, split, policy, memory, ahead, at),
       ...);
    }
    return;
  }
  if constexpr (Config::splitsApart)
    if (primitive::uniform(launch::warp()) == 5) {
      (detail::skinnySplitAllTokens<Config, J>(segments, split, memory, at),
       ...);
      return;
    }
  if constexpr (Config::early)
    launch::awaitPrevious();
  detail::SkinnyFinish<Config, Epilogue, J> finish{epilogue, shape, tile, rank};
  if constexpr (!reducesRows<Epilogue>)
    finish.readAhead();
  detail::SkinnyAccumulators<Config, J> acc = {};
  detail::skinnyPin<Config, J>(acc);
  if constexpr (Config::splitsFactors)
    (detail::skinnyConsumeSplit<Config, J>(segments, split, memory, at, acc),
     ...);
  else if constexpr (Config::makesWeights)
    (detail::skinnyConsumeMade<Config>(segments, shape.n, tile, split, memory,
                                       at, acc[0][0]),
     ...);
  else
    (detail::skinnyConsume<Config, J>(segments, split, memory, at, acc), ...);
  // Nobody writes to a block that has not started; none ends before it has
  // received everything.
  if constexpr (cluster > 1)
    primitive::waitForCluster();
  if constexpr (reducesRows<Epilogue>)
    detail::skinnySendRows<Config, J>(rank, memory.base, memory.received(),
                                      acc);
  else
    detail::skinnySend<Config, J>(rank, memory, acc);
  if constexpr (cluster == 1)
    primitive::arrive(memory.received());
  primitive::waitBarrier(memory.received(), 0);
  if constexpr (reducesRows<Epilogue>)
    detail::skinnyFinishRows<Config>(epilogue, shape, tile, rank);
  else
    finish.run(segments...);
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_SKINNY_H
