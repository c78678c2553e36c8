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
  int &block = launch::coordinates.block[0];
  int own = block;
  for (; block < tilesOf(shape.m, Config::tileM); block += launch::blocks())
    hostGemm<Config>(shape, 1, epilogue, segments...);
  block = own;
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

/// How a matrix lies in shared memory, `Tile` outer indices by 128 bytes of K.
template <class MatrixType, int Tile> struct ResidentOperand {
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major == Major::K;
  static_assert(MatrixType::major != Major::Strided &&
                    (alongK || (sizeof(T) == 2 && Tile % 64 == 0)),
                "a matrix that the tensor cores read from shared memory");
  static_assert(isSame<decltype(MatrixType::batch), Unbatched>,
                "batches are rows of A");
  static constexpr WgmmaBox box = wgmmaBox(alongK, Tile, sizeof(T));
  static constexpr u32 boxBytes = box.inner * box.outer * sizeof(T);
  static constexpr int elements = wgmmaRowBytes / sizeof(T);
  /// What a step of 32 bytes of K adds to the descriptor.
  static constexpr u64 step = (alongK ? 32 : 16 * wgmmaRowBytes) / 16;

  static FUSEC_DEVICE void copy(const MatrixType &matrix, bool streamed,
                                u64 policy, u32 to, u32 barrier, int outer,
                                int block) {
    FUSEC_UNROLL
    for (int i = 0; i < box.count; ++i) {
      int k = block * elements;
      int x = alongK ? k : outer + i * box.inner, y = alongK ? outer : k;
      if (streamed)
        primitive::copyBoxAs(policy, to + i * boxBytes, matrix.map, barrier, x,
                             y);
      else
        primitive::copyBox<1>(to + i * boxBytes, matrix.map, barrier, x, y);
    }
  }
};

/// The first copies do not wait for their maps one after the other.
template <class SegmentType>
FUSEC_DEVICE void residentPrefetch(const SegmentType &segment) {
  primitive::prefetchMap(segment.a.map);
  FUSEC_UNROLL
  for (int j = 0; j < SegmentType::accumulators; ++j)
    primitive::prefetchMap(segment.b[j].map);
}

template <class Config, int J, class Memory, class SegmentType>
FUSEC_DEVICE void residentLoadWeights(const SegmentType &segment,
                                      const Memory &memory, u32 &at) {
  typedef ResidentOperand<typename SegmentType::B, Config::tileN> B;
  int blocks =
      residentBlocksK(segment.k, sizeof(typename SegmentType::B::Element));
  for (int block = 0; block < blocks; ++block)
    FUSEC_UNROLL
  for (int j = 0; j < J; ++j) {
    B::copy(segment.b[j], false, 0, at, memory.loaded(), 0, block);
    at += Config::tileN * wgmmaRowBytes;
  }
}

/// Loads one segment of a tile. `at` counts the blocks of K that the tile's
/// consumer has had.
template <class Config, class Memory, class SegmentType>
FUSEC_DEVICE void residentProduce(const SegmentType &segment, int tile,
                                  int consumer, u64 policy,
                                  const Memory &memory, u32 &at) {
  typedef ResidentOperand<typename SegmentType::A, residentRows> A;
  int blocks =
      residentBlocksK(segment.k, sizeof(typename SegmentType::A::Element));
  for (int block = 0; block < blocks; ++block, ++at) {
    u32 stage = memory.stage(consumer, at);
    primitive::waitBarrier(memory.empty(stage), (at / Config::stages & 1) ^ 1);
    primitive::arriveExpecting(memory.full(stage), residentStageBytes);
    A::copy(segment.a, Config::streamedRows, policy, memory.rows(stage),
            memory.full(stage), tile * residentRows, block);
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
  typedef ResidentOperand<typename SegmentType::A, residentRows> A;
  typedef ResidentOperand<typename SegmentType::B, Config::tileN> B;
  // All accumulators in one instruction, where there is such a width.
  constexpr bool joined = primitive::NarrowWgmma<T, J * Config::tileN>::exists;
  constexpr int width = joined ? J * Config::tileN : Config::tileN;
  int blocks = residentBlocksK(segment.k, sizeof(T));
  for (int i = 0; i < blocks; ++i, ++at, ++block) {
    u32 stage = memory.stage(consumer, at);
    primitive::waitBarrier(memory.full(stage), at / Config::stages & 1);
    u64 a = primitive::tileDescriptor(memory.rows(stage), A::boxBytes);
    u64 b = primitive::tileDescriptor(
        memory.weights + block * Memory::weightBytes, B::boxBytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < wgmmaRowBytes / 32; ++step)
      FUSEC_UNROLL
    for (int j = 0; j < (joined ? 1 : J); ++j)
      primitive::NarrowWgmma<T, width>::template run<!A::alongK, !B::alongK>(
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
    (detail::residentPrefetch(segments), ...);
  memory.start();
  u64 policy = primitive::streamPolicy();
  int tiles = tilesOf(shape.m, residentRows);
  int group = launch::thread() / 128;
  if (group == 0) {
    primitive::giveRegisters<Config::consumers == 3 ? 32 : 24>();
    // The rows do not wait for the weights to be asked for.
    if (launch::thread() == 32) {
      primitive::arriveExpecting(memory.loaded(), blocksK * memory.weightBytes);
      u32 to = memory.weights;
      (detail::residentLoadWeights<Config, J>(segments, memory, to), ...);
    }
    if (launch::thread() == 0) {
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
    primitive::takeRegisters<Config::consumers == 3 ? 160 : 240>();
    int consumer = group - 1;
    u32 staging = memory.staging + (launch::warp() - 4) * memory.staged;
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
      detail::residentEpilogue<Config, Epilogue, J>(epilogue, shape, int(tile),
                                                    staging, policy, acc);
    }
    if (launch::lane() == 0)
      primitive::waitStores();
  }
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_RESIDENT_H
