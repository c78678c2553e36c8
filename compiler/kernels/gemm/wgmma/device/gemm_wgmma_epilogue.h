// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a wgmma tile where all results have tensor maps: evaluated on
// the accumulators as they lie in registers, packed into a swizzled buffer and
// stored by the copy engine, a warp's 16 rows at a time. No warp waits for
// another.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_EPILOGUE_H
#define FUSEC_KERNELS_GEMM_WGMMA_EPILOGUE_H

#include "gemm_wgmma_results.h"
#include "gemm_wgmma_tiles.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// The lane as an epilogue asks for it: anew where the matmul before needs most
/// registers, so that none hold addresses over it.
template <class Config> FUSEC_DEVICE int wgmmaEpilogueLane() {
  int lane = launch::lane();
  if constexpr (Config::splitsFactors)
    primitive::pin(lane);
  return lane;
}

/// The epilogue of a consumer thread over all of its tiles. `Tight`: the matmul
/// before has no register to spare for it.
template <class Config, class Epilogue, bool Tight = false>
struct WgmmaMappedStore {
  typedef typename Epilogue::Operands Operands;
  typedef typename Epilogue::Results Results;
  static constexpr int J = Epilogue::accumulators;
  static constexpr int operandBytes = OperandMaps<Operands>::bytes,
                       resultBytes = ResultMaps<Results>::bytes;
  static constexpr bool loads = operandBytes > 0;
  static constexpr int columns = wgmmaResultColumns(
      Config::tileN, operandBytes > resultBytes ? operandBytes : resultBytes);
  static constexpr bool suits =
      Epilogue::Results::size > 0 && ResultMaps<Results>::all &&columns > 0;
  static constexpr int groups = suits ? columns / 8 : 2;

  /// Registers for operands beside the accumulators; 8 more keep results that
  /// wait to be sent.
  static constexpr int spare =
      wgmmaConsumerRegisters(Config::tileM) - wgmmaOtherRegisters(1) - 8 -
      wgmmaAccumulatorRegisters(Config::tileM, Config::tileN, Config::schedule,
                                J);
  /// What varies with the column only is read once a tile, before its matmul,
  /// where it takes half of them at most.
  template <Holds Which>
  using OfTile = Fragments<Operands, Config::tileN / 8, groups, Which>;
  static constexpr bool holdsColumns =
      2 * OfTile<Holds::ByColumn>::values <= spare;
  typedef OfTile<holdsColumns ? Holds::ByColumn : Holds::Nothing> ColumnValues;
  template <int Groups>
  using OfStep = Fragments<Operands, Groups, groups,
                           holdsColumns ? Holds::Others : Holds::All>;
  /// Groups whose other operands are read together, if possible one step ahead.
  static constexpr FUSEC_DEVICE bool readsAhead(int groupsOfStep) {
    return 2 * OfStep<1>::values * groupsOfStep + ColumnValues::values <= spare;
  }
  static constexpr FUSEC_DEVICE int groupsRead() {
    int most = groups;
    while (most > 2 && !readsAhead(most))
      most /= 2;
    return most;
  }
  static constexpr int step = groupsRead();
  static constexpr bool ahead = readsAhead(step);
  static constexpr int stepsPerBuffer = groups / step;
  static constexpr int stepsPerBlock = Config::tileN / (step * 8);
  static constexpr int steps = Config::blocksM * stepsPerBlock;
  static constexpr int buffersPerBlock = Config::tileN / columns;
  static constexpr int buffers = Config::blocksM * buffersPerBlock;
  typedef OfStep<step> Read;

  const Epilogue &epilogue;
  const Shape &shape;
  u32 staging, buffer = 0;
  /// Of loaded operands: memory, barriers, buffers that have been read.
  u32 loaded, barriers, readBuffers = 0;
  int batch, firstRow, firstColumn;
  bool inside;
  ColumnValues columnValues;
  Read first;

  FUSEC_DEVICE WgmmaMappedStore(const Epilogue &epilogue, const Shape &shape,
                                int warp)
      : epilogue(epilogue), shape(shape) {
    u32 base = primitive::sharedAddress(launch::sharedMemory());
    staging = base +
              wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages,
                                 wgmmaStored(J, Config::splitsFactors),
                                 Config::rowBytesA) +
              warp * wgmmaStagingBytes;
    if (launch::lane() == 0)
      ResultFragments<Results, groups>::prefetch(epilogue.results);
    if constexpr (loads) {
      base += wgmmaOperandOffset(Config::tileM, Config::tileN, Config::stages,
                                 wgmmaStored(J, Config::splitsFactors),
                                 Config::rowBytesA);
      loaded = base + warp * wgmmaStagingBytes;
      barriers = base + 4 * Config::consumers * wgmmaStagingBytes + warp * 16;
      if (launch::lane() == 0) {
        Read::prefetch(epilogue.operands);
        primitive::initBarrier(barriers, 1);
        primitive::initBarrier(barriers + 8, 1);
        primitive::fenceBarriers();
      }
      launch::warpBarrier();
    }
  }

  /// Loads the operands of a buffer of this tile; one thread calls.
  FUSEC_DEVICE void load(int index) const {
    u32 slot = (readBuffers + index) & 1;
    primitive::arriveExpecting(barriers + slot * 8, Read::loadedBytes);
    Read::load(epilogue.operands, loaded + slot * (wgmmaStagingBytes / 2),
               barriers + slot * 8, columnOf(index), rowOf(index), batch);
  }
  /// Reads the operands of some of this tile's groups.
  template <class Held>
  FUSEC_DEVICE void readAt(Held &to, WgmmaPlace place) const {
    if (inside) {
      to.template read<true>(epilogue.operands, place);
    } else {
      // Addresses at the edge are worth less than the registers to keep them.
      primitive::pin(place.column);
      to.template read<false>(epilogue.operands, place);
    }
  }
  FUSEC_DEVICE WgmmaPlace placeOf(int block, int group) const {
    int lane = launch::lane();
    int row = firstRow + block * 64 + (lane >> 2), last = shape.m - 1;
    return {batch,
            {row < last ? row : last, row + 8 < last ? row + 8 : last},
            firstColumn + group * 8 + (lane & 3) * 2,
            shape.n - 1,
            0,
            0};
  }
  FUSEC_DEVICE void read(Read &to, int s) const {
    WgmmaPlace place = placeOf(s / stepsPerBlock, s % stepsPerBlock * step);
    place.firstGroup = s % stepsPerBuffer * step;
    if constexpr (loads) {
      u32 index = readBuffers + s / stepsPerBuffer;
      place.buffer = loaded + (index & 1) * (wgmmaStagingBytes / 2);
      if (s % stepsPerBuffer == 0)
        primitive::waitBarrier(barriers + (index & 1) * 8, index >> 1 & 1);
    }
    readAt(to, place);
  }
  /// The next tile, whose first row is `row`.
  FUSEC_DEVICE void place(WgmmaTile tile, int row) {
    batch = tile.batch;
    firstRow = row;
    firstColumn = tile.column;
    // The first is known while compiling, or false.
    inside = wgmmaHasWholeTiles<Config>(shape.n) ||
             firstColumn + Config::tileN <= shape.n;
    if constexpr (loads) {
      launch::warpBarrier();
      if (primitive::elect()) {
        load(0);
        if (buffers > 1)
          load(1);
      }
    }
    readAt(columnValues, placeOf(0, 0));
  }
  /// Reads ahead while the accumulators are not there yet.
  FUSEC_DEVICE void begin() {
    if (ahead)
      read(first, 0);
  }
  FUSEC_DEVICE void run(const WgmmaAccumulators<Config, J> &acc) {
    Read current = first;
    ResultFragments<Results, groups> results;
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      Read next;
      if (!ahead)
        read(current, s);
      else if (s + 1 < steps)
        read(next, s + 1);
      int index = s / stepsPerBuffer;
      if (!staysBehindBranch(index) || isStored(index))
        evaluate(acc, current, s, results);
      if (s % stepsPerBuffer == stepsPerBuffer - 1)
        stage(results, index);
      if (ahead)
        current = next;
    }
    send(buffers - 1);
    readBuffers += buffers;
  }
  /// Whether a buffer is evaluated behind a branch, over which the compiler
  /// moves nothing up. Of the first one it would evaluate all before the last
  /// stage of the tile is given back, for which the producer waits. Ping-pongs
  /// hold most accumulators and have registers for one buffer at a time only;
  /// where two warps share a scheduler it pays to begin with the next. The
  /// branch takes registers of the matmul before.
  static constexpr FUSEC_DEVICE bool staysBehindBranch(int index) {
    return Config::pingPong || (index == 0 && !Tight);
  }
  FUSEC_DEVICE int rowOf(int index) const {
    return firstRow + index / buffersPerBlock * 64;
  }
  FUSEC_DEVICE int columnOf(int index) const {
    return firstColumn + index % buffersPerBlock * columns;
  }
  /// Whether any of a buffer lies inside of the matrix.
  FUSEC_DEVICE bool isStored(int index) const {
    return rowOf(index) < shape.m && columnOf(index) < shape.n;
  }
  /// Step s of the tile.
  FUSEC_DEVICE void evaluate(const WgmmaAccumulators<Config, J> &acc,
                             const Read &read, int s,
                             ResultFragments<Results, groups> &results) const {
    int block = s / stepsPerBlock, firstGroup = s % stepsPerBlock * step;
    FUSEC_UNROLL
    for (int g = 0; g < step; ++g)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      Values<2, Operands> operands;
      Values<2, Results> values;
      FUSEC_UNROLL
      for (int i = 0; i < 2; ++i) {
        float sums[J];
        FUSEC_UNROLL
        for (int j = 0; j < J; ++j)
          sums[j] =
              acc[block]
                 [wgmmaAccumulatorAt<Config>(j, firstGroup + g, half) + i];
        columnValues.get(half, firstGroup + g, i, operands);
        read.get(half, g, i, operands);
        applyAt<Epilogue>(i, sums, operands, values);
      }
      results.put(s % stepsPerBuffer * step + g, half, values);
    }
  }
  /// Stages a buffer's results. The one before is sent only now: what was
  /// written to it has arrived while this one was computed.
  FUSEC_DEVICE void stage(const ResultFragments<Results, groups> &results,
                          int index) {
    if (index > 0)
      send(index - 1);
    if (primitive::elect())
      primitive::waitStoresRead<1>();
    launch::warpBarrier();
    results.stage(staging + buffer, wgmmaEpilogueLane<Config>());
    buffer ^= wgmmaStagingBytes / 2;
    if (loads && index + 2 < buffers && primitive::elect())
      load(index + 2);
  }
  /// Has the copy engine store the buffer that was staged last.
  FUSEC_DEVICE void send(int index) {
    primitive::fenceCopies();
    launch::warpBarrier();
    if (primitive::elect()) {
      if (isStored(index))
        ResultFragments<Results, groups>::store(
            epilogue.results, staging + (buffer ^ wgmmaStagingBytes / 2),
            columnOf(index), rowOf(index), batch);
      primitive::commitStores();
    }
  }
  /// The block's memory outlives the copies from it.
  FUSEC_DEVICE void finish() {
    if (primitive::elect())
      primitive::waitStoresRead<0>();
  }
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_EPILOGUE_H
