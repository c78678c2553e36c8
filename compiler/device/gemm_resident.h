// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tall, narrow roots on sm_90a, which memory bounds: all weights stay in shared
// memory for the kernel's life, a producer thread streams rows of A through a
// ring, and each consumer warpgroup contracts and evaluates 64 rows of its own,
// so that one's epilogue hides under the others' copies. Results leave through
// tensor maps.

#ifndef FUSEC_DEVICE_GEMM_RESIDENT_H
#define FUSEC_DEVICE_GEMM_RESIDENT_H

#include "gemm_resident_epilogue.h"

namespace fusec {

#ifdef FUSEC_HOST

/// The tiles of this block.
template <class Config, class Epilogue, class... Segments>
void gemmResident(const Shape &shape, const Epilogue &epilogue,
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
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return full(stage) + 8; }
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

/// Loads one segment of a tile. `at` counts the blocks of K that the tile's
/// consumer has had.
template <class Config, class Memory, class SegmentType>
FUSEC_DEVICE void residentProduce(const SegmentType &segment, int tile,
                                  int consumer, u64 policy,
                                  const Memory &memory, u32 &at) {
  typedef WgmmaOperand<typename SegmentType::A, residentRows> A;
  static_assert(isSame<decltype(segment.a.batch), Unbatched>,
                "batches are rows of A");
  constexpr int elements = wgmmaRowBytes / sizeof(typename A::T);
  int blocks = residentBlocksK(segment.k, sizeof(typename A::T));
  for (int block = 0; block < blocks; ++block, ++at) {
    u32 stage = memory.stage(consumer, at);
    primitive::waitBarrier(memory.empty(stage), (at / Config::stages & 1) ^ 1);
    primitive::arriveExpecting(memory.full(stage), residentStageBytes);
    A::template copy<Config::streamedRows>(
        segment.a, memory.rows(stage), memory.full(stage), tile * residentRows,
        block * elements, 0, 0, policy);
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

} // namespace detail

/// The tiles of this block; any grid.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmResident(const Shape &shape, const Epilogue &epilogue,
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
  u64 policy = primitive::streamPolicy();
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
    if (warp == 0 && primitive::elect()) {
      int consumer = 0;
      u32 at = 0;
      for (i64 tile = launch::block(); tile < tiles; tile += launch::blocks()) {
        u32 next = at;
        (detail::residentProduce<Config>(segments, int(tile), consumer, policy,
                                         memory, next),
         ...);
        if (++consumer == Config::consumers) {
          consumer = 0;
          at = next;
        }
      }
    }
  } else {
    primitive::takeRegisters<Config::registers>();
    typedef detail::ResidentOperands<Config, Epilogue> Operands;
    typename Operands::Columns columns;
    Operands::template read<Config::tileN>(epilogue, shape, 0, 0, columns);
    int consumer = group - 1;
    u32 staging = memory.staging + (warp - 4) * memory.staged;
    primitive::waitBarrier(memory.loaded(), 0);
    u32 at = 0;
    for (i64 tile = launch::block() + i64(consumer) * launch::blocks();
         tile < tiles; tile += i64(Config::consumers) * launch::blocks()) {
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
      detail::residentEpilogue<Config, Epilogue, J>(
          epilogue, columns, shape, int(tile), warp, staging, policy, acc);
    }
    if (primitive::elect())
      primitive::waitStores();
  }
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_RESIDENT_H
