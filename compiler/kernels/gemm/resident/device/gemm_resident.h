// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tall, narrow roots on sm_90a, which memory bounds: all weights stay in shared
// memory for the kernel's life, a producer thread streams rows of A through a
// ring, and each consumer warpgroup contracts and evaluates 64 rows of its own,
// so that one's epilogue hides under the others' copies. Results leave through
// tensor maps. Multiprocessors differ in how fast memory serves them, so that
// after the first tiles each block takes the next one that nobody has.

#ifndef FUSEC_KERNELS_GEMM_RESIDENT_H
#define FUSEC_KERNELS_GEMM_RESIDENT_H

#include "gemm_resident_epilogue.h"
#ifndef FUSEC_HOST
#include "prelude_grid.h"
#endif

namespace fusec {

#ifdef FUSEC_HOST

/// The tiles of this block, shared out by their number.
template <class Config, class Epilogue, class... Segments>
void gemmResident(u32 *, const Shape &shape, const Epilogue &epilogue,
                  const Segments &...segments) {
  hostTiles<Config>(launch::block(), launch::blocks(), shape, epilogue,
                    segments...);
}

#else
namespace detail {

template <class Config, class Epilogue> struct ResidentMemory {
  static constexpr int J = Epilogue::accumulators;
  static constexpr int staged =
      Staged<Config::tileN, typename Epilogue::Results>::bytes;
  static constexpr u32 weightBytes = J * Config::tileN * wgmmaRowBytes;
  u32 base, weights, staging, barriers;

  explicit FUSEC_DEVICE ResidentMemory(int blocksK) {
    base = primitive::sharedAddress(launch::sharedMemory());
    weights = base + residentWeightsOffset(Config::stages, Config::consumers);
    staging = weights + blocksK * weightBytes;
    barriers = staging + 4 * Config::consumers * staged;
  }
  /// A consumer's stages are neighbours.
  FUSEC_DEVICE u32 stage(int consumer, u32 at) const {
    return consumer * Config::stages + at % Config::stages;
  }
  FUSEC_DEVICE u32 full(u32 stage) const {
    return barriers + stage * residentStageSyncBytes;
  }
  FUSEC_DEVICE u32 empty(u32 stage) const { return full(stage) + 8; }
  /// The number of the tile whose rows the stage holds.
  FUSEC_DEVICE u32 tile(u32 stage) const { return full(stage) + 16; }
  FUSEC_DEVICE u32 loaded() const {
    return full(Config::consumers * Config::stages);
  }
  FUSEC_DEVICE u32 rows(u32 stage) const {
    return base + stage * residentStageBytes;
  }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < Config::consumers * Config::stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), 4);
      }
      primitive::initBarrier(loaded(), 1);
      primitive::fenceBarriers();
    }
    launch::barrier();
  }
};

/// The first copies do not wait for their maps one after the other.
template <class Config, class SegmentType>
FUSEC_DEVICE void residentPrefetch(const SegmentType &segment) {
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  WgmmaOperand<typename SegmentType::A, residentRows>::prefetch(segment.a);
  FUSEC_UNROLL
  for (int j = 0; j < SegmentType::accumulators; ++j)
    B::prefetch(segment.b[j]);
}

template <class Config, int J, class Memory, class SegmentType>
FUSEC_DEVICE void residentLoadWeights(const SegmentType &segment,
                                      const Memory &memory, u32 &at) {
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  static_assert(B::bytes == Config::tileN * wgmmaRowBytes, "whole boxes");
  static_assert(isSame<decltype(segment.b[0].batch), Unbatched>,
                "batches are rows of A");
  constexpr int elements = wgmmaRowBytes / sizeof(typename B::T);
  int blocks = residentBlocksK(segment.k, sizeof(typename B::T));
  for (int block = 0; block < blocks; ++block)
    FUSEC_UNROLL
  for (int j = 0; j < J; ++j) {
    B::copy(segment.b[j], at, memory.loaded(), 0, block * elements, 0);
    at += Config::tileN * wgmmaRowBytes;
  }
}

/// A stage of the consumer's for rows of this tile, as soon as one is free;
/// `at` counts the blocks of K that it has had.
template <class Config, class Memory>
FUSEC_DEVICE u32 residentClaim(const Memory &memory, int consumer, u32 at,
                               int tile) {
  u32 stage = memory.stage(consumer, at);
  primitive::waitBarrier(memory.empty(stage), (at / Config::stages & 1) ^ 1);
  primitive::storeShared(memory.tile(stage), u32(tile));
  return stage;
}

/// The tile of the consumer's next stage. The lane that gives the stage back
/// reads it, so that no other's read can come after the next number.
template <class Config, class Memory>
FUSEC_DEVICE int residentAwait(const Memory &memory, int consumer, u32 at) {
  u32 stage = memory.stage(consumer, at);
  primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
  int tile = 0;
  if (launch::lane() == 0)
    tile = int(primitive::loadShared(memory.tile(stage)));
  return primitive::uniform(tile);
}

/// Loads one segment of a tile. `at` counts the blocks of K that the tile's
/// consumer has had.
template <class Config, class Memory, class SegmentType>
FUSEC_DEVICE void residentProduce(const SegmentType &segment, int tile,
                                  int consumer, const Memory &memory, u32 &at) {
  typedef WgmmaOperand<typename SegmentType::A, residentRows> A;
  static_assert(isSame<decltype(segment.a.batch), Unbatched>,
                "batches are rows of A");
  constexpr int elements = wgmmaRowBytes / sizeof(typename A::T);
  int blocks = residentBlocksK(segment.k, sizeof(typename A::T));
  for (int block = 0; block < blocks; ++block, ++at) {
    u32 stage = residentClaim<Config>(memory, consumer, at, tile);
    primitive::arriveExpecting(memory.full(stage), residentStageBytes);
    A::copy(segment.a, memory.rows(stage), memory.full(stage),
            tile * residentRows, block * elements, 0);
  }
}

/// Contracts one segment of a tile. `at` counts the blocks of K that this
/// consumer has had, `block` those of the tile.
template <class Config, int J, class Memory, class SegmentType>
FUSEC_DEVICE void residentContract(const SegmentType &segment, int consumer,
                                   const Memory &memory, u32 &at, int &block,
                                   ResidentAccumulators<Config, J> &acc) {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  typedef WgmmaOperand<typename SegmentType::A, residentRows> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN> B;
  // All accumulators in one instruction, where there is such a width.
  constexpr bool joined = isWgmmaWidth(J * Config::tileN);
  constexpr int width = joined ? J * Config::tileN : Config::tileN;
  int blocks = residentBlocksK(segment.k, sizeof(T));
  for (int i = 0; i < blocks; ++i, ++at, ++block) {
    u32 stage = memory.stage(consumer, at);
    primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    u64 a = A::descriptor(memory.rows(stage));
    u64 b = B::descriptor(memory.weights + block * Memory::weightBytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < wgmmaRowBytes / 32; ++step)
      FUSEC_UNROLL
    for (int j = 0; j < (joined ? 1 : J); ++j)
      primitive::Wgmma<T, width>::template run<!A::alongK, !B::alongK>(
          acc.at + j * acc.each, a + step * A::step,
          b + step * B::step + j * (Config::tileN * wgmmaRowBytes / 16));
    primitive::commitWgmma();
  }
}

/// The producer: loads tiles for one consumer after the other, until there are
/// no more. The first of each consumer is given. The number of a later one is
/// asked for while the tile before is loaded, that of the first before all
/// loads, behind which the question would queue. Each block gets one number too
/// many, so that `turn` ends as it began, at zero.
template <class Config, class Memory, class... Segments>
FUSEC_DEVICE void residentProduceAll(u32 *turn, int tiles, int blocksK,
                                     const Memory &memory,
                                     const Segments &...segments) {
  constexpr int consumers = Config::consumers;
  int blocks = launch::blocks(), given = consumers * blocks;
  u32 lastTurn = max(tiles - given, 0) + blocks - 1;
  auto ask = [&] { return given + int(primitive::takeTurn(turn, lastTurn)); };
  int tile = launch::block(), consumer = 0;
  u32 at = 0;
  auto load = [&] {
    u32 to = at;
    (residentProduce<Config>(segments, tile, consumer, memory, to), ...);
    if (++consumer == consumers) {
      consumer = 0;
      at = to;
    }
  };
  int next = ask();
  FUSEC_UNROLL_BY(1)
  for (; tile < min(tiles, given); tile += blocks)
    load();
  for (tile = next; tile < tiles; tile = next) {
    next = ask();
    load();
  }
  for (int told = 0; told < consumers; ++told) {
    primitive::arrive(
        memory.full(residentClaim<Config>(memory, consumer, at, tiles)));
    if (++consumer == consumers) {
      consumer = 0;
      at += blocksK;
    }
  }
}

} // namespace detail

/// Tiles of the launch, until it has no more; any grid. `turn` is zero before a
/// launch and after it.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmResident(u32 *turn, const Shape &shape,
                               const Epilogue &epilogue,
                               const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  static_assert(J * Config::tileN <= (Config::consumers == 3 ? 160 : 256),
                "accumulators that fit the registers");
  int blocksK =
      (0 + ... +
       residentBlocksK(segments.k, sizeof(typename Segments::A::Element)));
  detail::ResidentMemory<Config, Epilogue> memory(blocksK);
  if (launch::thread() == 32)
    (detail::residentPrefetch<Config>(segments), ...);
  memory.start();
  int tiles = tilesOf(shape.m, residentRows);
  int warp = primitive::uniform(launch::warp()), group = warp / 4;
  if (group == 0) {
    primitive::giveRegisters<Config::consumers == 3 ? 32 : 24>();
    // The rows do not wait for the weights to be asked for.
    if (warp == 1 && primitive::elect()) {
      primitive::arriveExpecting(memory.loaded(), blocksK * memory.weightBytes);
      u32 to = memory.weights;
      (detail::residentLoadWeights<Config, J>(segments, memory, to), ...);
    }
    if (warp == 0 && primitive::elect())
      detail::residentProduceAll<Config>(turn, tiles, blocksK, memory,
                                         segments...);
  } else {
    primitive::takeRegisters<Config::registers>();
    typedef detail::ResidentOperands<Config, Epilogue> Operands;
    typename Operands::Columns columns;
    Operands::template read<Config::tileN>(epilogue, shape, 0, 0, columns);
    int consumer = group - 1;
    u32 staging = memory.staging + (warp - 4) * memory.staged;
    primitive::waitBarrier(memory.loaded(), 0);
    for (u32 at = 0;;) {
      int tile = detail::residentAwait<Config>(memory, consumer, at);
      if (tile >= tiles)
        break;
      detail::ResidentAccumulators<Config, J> acc = {};
      u32 first = at;
      int block = 0;
      (detail::residentContract<Config, J>(segments, consumer, memory, at,
                                           block, acc),
       ...);
      primitive::waitWgmma<0>();
      FUSEC_UNROLL
      for (int i = 0; i < J * acc.each; ++i)
        primitive::pin(acc.at[i]);
      if (launch::lane() == 0)
        for (; first != at; ++first)
          primitive::arrive(memory.empty(memory.stage(consumer, first)));
      detail::residentEpilogue<Config, Epilogue, J>(epilogue, columns, shape,
                                                    tile, warp, staging, acc);
    }
    if (primitive::elect())
      primitive::waitStores();
  }
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_RESIDENT_H
