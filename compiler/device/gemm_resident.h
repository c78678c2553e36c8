// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tall, narrow roots on sm_90a, which memory bounds: all weights stay in shared
// memory for the kernel's life, a producer thread streams rows of A through a
// ring, and each consumer warpgroup contracts and evaluates 64 rows of its own,
// so that one's epilogue hides under the others' copies. Results leave through
// tensor maps.

#ifndef FUSEC_DEVICE_GEMM_RESIDENT_H
#define FUSEC_DEVICE_GEMM_RESIDENT_H

#include "gemm_resident_config.h"
#include "gemm_wgmma.h"
#include "prelude_cluster.h"

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

template <class Result> struct ResultMap {
  static constexpr bool mapped = false;
};
template <class Result> struct ResultMap<Mapped<Result>> {
  static constexpr bool mapped = true;
  static_assert(sizeof(typename Result::Element) == 2 ||
                    isSame<typename Result::Element, float>,
                "a mapped result is a 16-bit float or a float");
};

/// Bytes that a warp stages of all mapped results of a pack.
template <int TileN, class PackType> struct Staged {
  static constexpr int bytes = 0;
};
template <int TileN, class First, class... Rest>
struct Staged<TileN, Pack<First, Rest...>> {
  static constexpr int own =
      ResultMap<First>::mapped
          ? residentStagedBytes(TileN, sizeof(typename First::Element))
          : 0;
  static constexpr int bytes = own + Staged<TileN, Pack<Rest...>>::bytes;
};

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

template <class Config, int J> struct ResidentAccumulators {
  static constexpr int each = Config::tileN / 2;
  float at[J * each];
};

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
          b + step * B::step + j * (Config::tileN * wgmmaRowBytes / 16), 1);
    primitive::commitWgmma();
  }
}

/// Results of 16 rows by 16 columns, as the fragments hold them: eight columns,
/// then half of the rows.
template <class Results> using ResidentValues = Values<2, Results>[2][2];

template <class Result, class Get>
FUSEC_DEVICE void stageResult(const Result &, u32 staging, int first, Get get) {
  typedef typename Result::Element T;
  int lane = launch::lane();
  if constexpr (sizeof(T) == 2) {
    int row = lane & 15, chunk = first / 8 + (lane >> 4);
    u32 to = staging + (chunk / 8) * (residentResultRows * wgmmaRowBytes) +
             row * wgmmaRowBytes + ((chunk & 7) ^ (row & 7)) * 16;
    u32 words[2][2];
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      words[n][half] =
          primitive::packPair(T(), get(n, half)[0], get(n, half)[1]);
    primitive::storeMatrix4(to, words[0][0], words[0][1], words[1][0],
                            words[1][1]);
  } else {
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = (lane >> 2) + half * 8;
      int chunk = first / 4 + n * 2 + (lane >> 1 & 1);
      u32 to = staging + (chunk / 8) * (residentResultRows * wgmmaRowBytes) +
               row * wgmmaRowBytes + ((chunk & 7) ^ (row & 7)) * 16 +
               (lane & 1) * 8;
      primitive::storeShared(to, primitive::bitsOf(get(n, half)[0]),
                            primitive::bitsOf(get(n, half)[1]));
    }
  }
}

/// Stages the mapped results of a fragment and writes the others. `get` leads
/// to the rest of the values of one place.
template <class Config, class Get>
FUSEC_DEVICE void finishFragment(const Pack<> &, u32, int,
                                 const Place (&)[2][2], Get) {}
template <class Config, class First, class... Rest, class Get>
FUSEC_DEVICE void finishFragment(const Pack<First, Rest...> &results,
                                 u32 staging, int first,
                                 const Place (&places)[2][2], Get get) {
  if constexpr (ResultMap<First>::mapped) {
    stageResult(results.first, staging, first,
                [&](int n, int half) { return get(n, half).first; });
    staging +=
        residentStagedBytes(Config::tileN, sizeof(typename First::Element));
  } else {
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      results.first.write(places[n][half], get(n, half).first);
  }
  finishFragment<Config>(
      results.rest, staging, first, places,
      [&](int n, int half) -> const Values<2, Pack<Rest...>> & {
        return get(n, half).rest;
      });
}

/// One thread stores what its warp has staged.
template <class Config>
FUSEC_DEVICE void storeStaged(const Pack<> &, u32, int, u64) {}
template <class Config, class First, class... Rest>
FUSEC_DEVICE void storeStaged(const Pack<First, Rest...> &results, u32 staging,
                              int row, u64 policy) {
  if constexpr (ResultMap<First>::mapped) {
    constexpr int bytes = sizeof(typename First::Element);
    constexpr int boxes = tilesOf(Config::tileN * bytes, wgmmaRowBytes);
    FUSEC_UNROLL
    for (int i = 0; i < boxes; ++i) {
      u32 from = staging + i * (residentResultRows * wgmmaRowBytes);
      int column = i * (wgmmaRowBytes / bytes);
      if (Config::streamedResults)
        primitive::storeBoxAs(policy, results.first.map, from, column, row);
      else
        primitive::storeBox(results.first.map, from, column, row);
    }
    staging += residentStagedBytes(Config::tileN, bytes);
  }
  storeStaged<Config>(results.rest, staging, row, policy);
}

/// Evaluates a warp's 16 rows straight from the accumulators: only the warp
/// itself waits.
template <class Config, class Epilogue, int J>
FUSEC_DEVICE void residentEpilogue(const Epilogue &epilogue, const Shape &shape,
                                   int tile, u32 staging, u64 policy,
                                   const ResidentAccumulators<Config, J> &acc) {
  typedef typename Epilogue::Results Results;
  constexpr bool stages = Staged<Config::tileN, Results>::bytes > 0;
  int lane = launch::lane();
  int warpRow = tile * residentRows + (launch::warp() & 3) * residentResultRows;
  if (stages) {
    if (lane == 0)
      primitive::waitStoresRead<0>();
    launch::warpBarrier();
  }
  FUSEC_UNROLL
  for (int first = 0; first < Config::tileN; first += 16) {
    Place places[2][2];
    Values<2, typename Epilogue::Operands> operands[2][2];
    Values<2, Results> results[2][2];
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = warpRow + (lane >> 2) + half * 8;
      int column = first + n * 8 + (lane & 3) * 2;
      int count = 2;
      if (first + 16 > Config::columns) // Zero or below past the last column.
        count = min(Config::columns - column, 2);
      // Rows past the end read the last one: nothing of theirs is stored.
      places[n][half] = {0, min(row, shape.m - 1), column, count};
      readPack(epilogue.operands, places[n][half], operands[n][half]);
      places[n][half].row = row;
      places[n][half].count = row < shape.m ? count : 0;
    }
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (int i = 0; i < 2; ++i) {
      float values[J];
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        values[j] = acc.at[j * acc.each + (first / 8 + n) * 4 + half * 2 + i];
      applyAt<Epilogue>(i, values, operands[n][half], results[n][half]);
    }
    finishFragment<Config>(epilogue.results, staging, first, places,
                           [&](int n, int half) -> const Values<2, Results> & {
                             return results[n][half];
                           });
  }
  if (stages) {
    primitive::fenceCopies();
    launch::warpBarrier();
    if (lane == 0 && warpRow < shape.m) {
      storeStaged<Config>(epilogue.results, staging, warpRow, policy);
      primitive::commitStores();
    }
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
