// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roots with few rows on sm_90a, which the weights' bytes bound: the weights
// are the 64-row side of wgmma and the rows of A its narrow side. The blocks of
// a cluster contract a part of K each, write their partial sums to each
// other's shared memory, and each adds, in the order of the blocks, and
// evaluates a slice of the columns.

#ifndef FUSEC_DEVICE_GEMM_SKINNY_H
#define FUSEC_DEVICE_GEMM_SKINNY_H

#include "gemm.h"
#include "gemm_skinny_config.h"
#include "gemm_skinny_rows.h"
#include "gemm_wgmma.h"
#include "prelude_cluster.h"

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

template <class Config, int J> struct SkinnyMemory {
  static constexpr u32 loadedBytes =
      skinnyStageBytes(Config::tokens, Config::blocks, J);
  static constexpr u32 stageBytes = skinnyStageBytes(
      Config::tokens, Config::blocks, J, Config::splitsFactors);
  static constexpr u32 weightBytes = Config::tileN * wgmmaRowBytes;
  u32 base, barriers;

  FUSEC_DEVICE SkinnyMemory() {
    base = primitive::sharedAddress(launch::sharedMemory());
    barriers = base + skinnyBarrierOffset(Config::tokens, Config::blocks,
                                          Config::stages, Config::cluster, J,
                                          Config::splitsFactors);
  }
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return barriers + stage * 16 + 8; }
  FUSEC_DEVICE u32 stage(u32 stage) const { return base + stage * stageBytes; }
  /// Counts the partial sums that this block receives.
  FUSEC_DEVICE u32 received() const { return full(Config::stages); }
  /// Counts the warps that have split a share of the stage's tokens.
  FUSEC_DEVICE u32 split(u32 stage) const {
    return received() + 16 + stage * 8;
  }
  /// Where the partial sums of one block for one token of one accumulator lie.
  static FUSEC_DEVICE u32 received(int from, int j, int token) {
    return skinnyReceivedOffset(Config::tokens, Config::blocks, Config::stages,
                                J, Config::splitsFactors) +
           ((from * J + j) * Config::tokens + token) *
               (skinnyPitch(Config::blocks, Config::cluster) * 4);
  }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < Config::stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), 4);
        if (Config::splitsFactors)
          primitive::initBarrier(split(s), 4);
      }
      primitive::initBarrier(received(), Config::cluster > 1 ? 1 : 128);
      primitive::fenceBarriers();
      if (Config::cluster > 1)
        primitive::arriveExpecting(received(), Config::cluster * J *
                                                   Config::tokens *
                                                   Config::slice * 4);
    }
    launch::barrier();
  }
};

/// The first copies do not wait for their maps one after the other.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyPrefetch(const SegmentType &segment) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    WgmmaOperand<typename SegmentType::B, Config::tileN>::prefetch(
        segment.b[j]);
  WgmmaOperand<typename SegmentType::A, Config::tokens>::prefetch(segment.a);
}

/// Copies the weights of a stage.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void
skinnyCopyWeights(const SegmentType &segment, TilePlace tile, int k, u64 policy,
                  const SkinnyMemory<Config, J> &memory, u32 stage) {
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  primitive::arriveExpecting(memory.full(stage), memory.loadedBytes);
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    B::template copy<Config::streamed>(
        segment.b[j], memory.stage(stage) + j * memory.weightBytes,
        memory.full(stage), tile.n * Config::tileN, k, tile.batch, 0, policy);
}

/// Those of the first stages, as many as the ring holds; returns how many.
template <class Config, int J, class First, class... Rest>
FUSEC_DEVICE u32 skinnyCopyAhead(TilePlace tile, Split split, u64 policy,
                                 const SkinnyMemory<Config, J> &memory,
                                 const First &first, const Rest &...) {
  KRange range = rangeOf(first.k, Config::tileK, split);
  u32 stage = 0;
  for (int k = range.first; k < range.last && stage < Config::stages;
       k += Config::tileK, ++stage)
    skinnyCopyWeights(first, tile, k, policy, memory, stage);
  return stage;
}

/// Copies a segment's stages; the weights of those before `ahead` are on their
/// way.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyProduce(const SegmentType &segment, TilePlace tile,
                                Split split, u64 policy,
                                const SkinnyMemory<Config, J> &memory,
                                u32 ahead, u32 &at) {
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  static_assert(A::alongK, "rows of A are K-major");
  KRange range = rangeOf(segment.k, Config::tileK, split);
  for (int k = range.first; k < range.last; k += Config::tileK, ++at) {
    u32 stage = at % Config::stages, round = at / Config::stages;
    if (at >= ahead) {
      primitive::waitBarrier(memory.empty(stage), (round & 1) ^ 1);
      skinnyCopyWeights(segment, tile, k, policy, memory, stage);
    }
    A::copy(segment.a, memory.stage(stage) + J * memory.weightBytes,
            memory.full(stage), tile.m * Config::tokens, k, tile.batch);
  }
}

template <class Config, int J>
using SkinnyAccumulators = float[J][Config::blocks][Config::tokens / 2];

template <class Config, int J>
FUSEC_DEVICE void skinnyPin(SkinnyAccumulators<Config, J> &acc) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int b = 0; b < Config::blocks; ++b)
    FUSEC_UNROLL
  for (int i = 0; i < Config::tokens / 2; ++i)
    primitive::pin(acc[j][b][i]);
}

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyConsume(const SegmentType &segment, Split split,
                                const SkinnyMemory<Config, J> &memory, u32 &at,
                                SkinnyAccumulators<Config, J> &acc) {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Config::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  KRange range = rangeOf(segment.k, Config::tileK, split);
  int tiles = tilesOf(range.last - range.first, Config::tileK);
  u32 last = 0;
  for (int t = 0; t < tiles; ++t, ++at) {
    u32 stage = at % Config::stages;
    primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    u64 w = B::descriptor(memory.stage(stage));
    u64 x = A::descriptor(memory.stage(stage) + J * memory.weightBytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < wgmmaRowBytes / 32; ++step)
      FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      primitive::Wgmma<T, Config::tokens>::template run<!B::alongK, false>(
          acc[j][b],
          w + step * B::step +
              (j * Config::blocks + b) * (64 * wgmmaRowBytes / 16),
          x + step * A::step);
    primitive::commitWgmma();
    // The previous stage has been read when only this one is under way.
    primitive::waitWgmma<1>();
    if (t > 0 && launch::lane() == 0)
      primitive::arrive(memory.empty(last));
    last = stage;
  }
  primitive::waitWgmma<0>();
  skinnyPin<Config, J>(acc);
  if (tiles > 0 && launch::lane() == 0)
    primitive::arrive(memory.empty(last));
}

/// The stages of a segment with split factors. The next one's are split while
/// this one's are multiplied.
template <class Config, int J, class SegmentType> struct SkinnySplitStages {
  typedef WgmmaOperand<typename SegmentType::A, Config::tokens> A;
  typedef WgmmaSplitRows<wgmmaRowBytes> Weights[J][Config::blocks];
  static constexpr int tokenBytes = Config::tokens * wgmmaRowBytes;
  const SkinnyMemory<Config, J> &memory;
  SkinnyAccumulators<Config, J> &acc;
  SkinnyAccumulators<Config, J> sum;

  static FUSEC_DEVICE u32 stageOf(u32 at) { return at % Config::stages; }
  static FUSEC_DEVICE u32 parityOf(u32 at) { return at / Config::stages & 1; }
  FUSEC_DEVICE u32 tokens(u32 at) const {
    return memory.stage(stageOf(at)) + J * memory.weightBytes;
  }
  /// Splits a share of the tokens, and this warp's weights.
  FUSEC_DEVICE void split(u32 at, Weights &weights) {
    primitive::waitBarrier(memory.full(stageOf(at)), parityOf(at));
    writeLowTf32<128, tokenBytes>(
        launch::sharedMemory() + (tokens(at) - memory.base), launch::thread());
    launch::warpBarrier();
    if (launch::lane() == 0)
      primitive::arrive(memory.split(stageOf(at)));
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      weights[j][b].read(
          memory.stage(stageOf(at)) +
          ((j * Config::blocks + b) * 64 + (launch::warp() & 3) * 16) *
              wgmmaRowBytes);
  }
  FUSEC_DEVICE void multiply(u32 at, const Weights &weights) {
    primitive::waitBarrier(memory.split(stageOf(at)), parityOf(at));
    u64 x = A::descriptor(tokens(at));
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      weights[j][b].template multiply<Config::tokens, A::step>(
          x, x + tokenBytes / 16, sum[j][b]);
    primitive::commitWgmma();
  }
  /// Sums of a stage start from zero, as those of wgmmaConsumeSplit().
  FUSEC_DEVICE void finish(u32 at) {
    primitive::waitWgmma<0>();
    if (launch::lane() == 0)
      primitive::arrive(memory.empty(stageOf(at)));
    skinnyPin<Config, J>(sum);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int b = 0; b < Config::blocks; ++b)
      FUSEC_UNROLL
    for (int i = 0; i < Config::tokens / 2; ++i)
      acc[j][b][i] += sum[j][b][i];
  }
};

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void skinnyConsumeSplit(const SegmentType &segment, Split split,
                                     const SkinnyMemory<Config, J> &memory,
                                     u32 &at,
                                     SkinnyAccumulators<Config, J> &acc) {
  typedef SkinnySplitStages<Config, J, SegmentType> Stages;
  KRange range = rangeOf(segment.k, Config::tileK, split);
  u32 end = at + tilesOf(range.last - range.first, Config::tileK);
  Stages stages{memory, acc};
  typename Stages::Weights weights[2];
  if (at < end)
    stages.split(at, weights[0]);
  FUSEC_UNROLL_BY(1)
  while (at < end) {
    FUSEC_UNROLL
    for (int i = 0; i < 2; ++i) {
      stages.multiply(at, weights[i]);
      if (at + 1 < end)
        stages.split(at + 1, weights[i ^ 1]);
      stages.finish(at);
      if (++at == end)
        break;
    }
  }
}

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
      (addByFma(segments, j, at.batch, wholeRange(segments.k), row, column,
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

#endif // FUSEC_DEVICE_GEMM_SKINNY_H
