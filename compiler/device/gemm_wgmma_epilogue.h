// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a wgmma tile where all results have tensor maps: evaluated on
// the accumulators as they lie in registers, packed into a swizzled buffer and
// stored by the copy engine, a warp's 16 rows at a time. No warp waits for
// another.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_EPILOGUE_H
#define FUSEC_DEVICE_GEMM_WGMMA_EPILOGUE_H

#include "gemm_wgmma_operand.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Accumulators of a consumer thread. Of a block of 64 rows and a group of
/// eight columns it has two rows (`half`, eight apart) of two columns.
template <class Config, int J>
using WgmmaAccumulators = float[J][Config::blocksM][Config::tileN / 2];

/// Where some groups of a thread's columns stand: rows inside of the matrix,
/// the first column, the columns from there to the matrix's end.
struct WgmmaPlace {
  i64 batch, row[2], column;
  int left;
  template <bool Inside> FUSEC_DEVICE Place at(int half, int group) const {
    int count = left - group * 8;
    return {batch, row[half], column + group * 8,
            Inside || count > 2 ? 2
            : count > 0         ? count
                                : 0};
  }
};

/// What a thread holds of an operand; by default of one that varies with row
/// and column.
template <class Operand, int Groups> struct Fragment {
  typedef typename Operand::Value Value;
  static constexpr int values = 4 * Groups;
  Value held[2][Groups][2];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (int g = 0; g < Groups; ++g)
      operand.read(place.at<Inside>(half, g), held[half][g]);
  }
  FUSEC_DEVICE Value get(int half, int group, int i) const {
    return held[half][group][i];
  }
};
template <class T, class Columns, int Alignment, class Batch, int Groups>
struct Fragment<RowOperand<T, Columns, Alignment, Batch>, Groups> {
  typedef RowOperand<T, Columns, Alignment, Batch> Operand;
  typedef typename Operand::Value Value;
  static constexpr int values = 2 * Groups;
  Value held[Groups][2];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    FUSEC_UNROLL
    for (int g = 0; g < Groups; ++g)
      operand.read(place.at<Inside>(0, g), held[g]);
  }
  FUSEC_DEVICE Value get(int, int group, int i) const { return held[group][i]; }
};
template <class T, class Rows, class Batch, int Groups>
struct Fragment<ColumnOperand<T, Rows, Batch>, Groups> {
  typedef ColumnOperand<T, Rows, Batch> Operand;
  typedef typename Operand::Value Value;
  static constexpr int values = 2;
  Value held[2][1];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    operand.read(place.at<Inside>(0, 0), held[0]);
    operand.read(place.at<Inside>(1, 0), held[1]);
  }
  FUSEC_DEVICE Value get(int half, int, int) const { return held[half][0]; }
};
/// One value for all.
template <class Operand> struct FragmentValue {
  typedef typename Operand::Value Value;
  static constexpr int values = 1;
  Value held[1];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    operand.read(place.at<Inside>(0, 0), held);
  }
  FUSEC_DEVICE Value get(int, int, int) const { return held[0]; }
};
template <class T, class Batch, int Groups>
struct Fragment<ScalarOperand<T, Batch>, Groups>
    : FragmentValue<ScalarOperand<T, Batch>> {};
template <class T, int Groups>
struct Fragment<ValueOperand<T>, Groups> : FragmentValue<ValueOperand<T>> {};
template <Axis Which, int Groups> struct Fragment<IndexOperand<Which>, Groups> {
  typedef IndexOperand<Which> Operand;
  static constexpr int values = 4;
  WgmmaPlace held;
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &, const WgmmaPlace &place) {
    held = place;
  }
  FUSEC_DEVICE i64 get(int half, int group, int i) const {
    return Which == Axis::Batch ? held.batch
           : Which == Axis::Row ? held.row[half]
                                : held.column + group * 8 + i;
  }
};

/// The fragments of a pack of operands.
template <class PackType, int Groups> struct Fragments {
  static constexpr int values = 0;
  template <bool Inside>
  FUSEC_DEVICE void read(const PackType &, const WgmmaPlace &) {}
  template <int V>
  FUSEC_DEVICE void get(int, int, int, Values<V, PackType> &) const {}
};
template <class First, class... Rest, int Groups>
struct Fragments<Pack<First, Rest...>, Groups> {
  typedef Pack<First, Rest...> PackType;
  Fragment<First, Groups> first;
  Fragments<Pack<Rest...>, Groups> rest;
  static constexpr int values = Fragment<First, Groups>::values +
                                Fragments<Pack<Rest...>, Groups>::values;
  template <bool Inside>
  FUSEC_DEVICE void read(const PackType &pack, const WgmmaPlace &place) {
    first.template read<Inside>(pack.first, place);
    rest.template read<Inside>(pack.rest, place);
  }
  template <int V>
  FUSEC_DEVICE void get(int half, int group, int i,
                        Values<V, PackType> &to) const {
    to.first[i] = first.get(half, group, i);
    rest.get(half, group, i, to.rest);
  }
};

/// A buffer's results as a thread holds them: a word of two 16-bit elements, or
/// two words.
template <class T, int Groups> struct ResultFragment {
  static constexpr int words = int(sizeof(T)) / 2;
  static constexpr int rowBytes = Groups * 8 * int(sizeof(T));
  u32 held[Groups][2][words];

  static FUSEC_DEVICE u32 bitsOf(Compute<T> value) {
    if constexpr (isSame<T, float>)
      return primitive::bitsOf(value);
    else
      return u32(Unsigned<T>(value));
  }
  FUSEC_DEVICE void put(int group, int half, const Compute<T> (&pair)[2]) {
    if constexpr (isHalf<T>) {
      held[group][half][0] = primitive::packPair(T(), pair[0], pair[1]);
    } else if constexpr (words == 1) {
      held[group][half][0] = bitsOf(pair[0]) | bitsOf(pair[1]) << 16;
    } else {
      held[group][half][0] = bitsOf(pair[0]);
      held[group][half][1] = bitsOf(pair[1]);
    }
  }
  FUSEC_DEVICE void stage(u32 to) const {
    int lane = launch::lane();
    if constexpr (words == 1) {
      FUSEC_UNROLL
      for (int g = 0; g < Groups; g += 2)
        primitive::storeMatrix4(
            to + wgmmaSwizzledUnit(rowBytes, lane & 15, g ^ lane >> 4),
            held[g][0][0], held[g][1][0], held[g + 1][0][0], held[g + 1][1][0]);
    } else {
      // Every other line writes its second half first, so that the stores of
      // half a warp meet in no bank.
      constexpr int apart = Groups / 2;
      int row = lane >> 2;
      bool late = row & (wgmmaRowBytes / rowBytes);
      FUSEC_UNROLL
      for (int g = 0; g < apart; ++g)
        FUSEC_UNROLL
      for (int half = 0; half < 2; ++half) {
        const u32(&a)[words] = held[g][half],
              (&b)[words] = held[g + apart][half];
        auto place = [&](int group) {
          return to +
                 wgmmaSwizzledUnit(rowBytes, row + half * 8,
                                   group * 2 + (lane >> 1 & 1)) +
                 (lane & 1) * 8;
        };
        primitive::storeShared(place(late ? g + apart : g), late ? b[0] : a[0],
                               late ? b[1] : a[1]);
        primitive::storeShared(place(late ? g : g + apart), late ? a[0] : b[0],
                               late ? a[1] : b[1]);
      }
    }
  }
};

/// Whether every result has a tensor map, and what their elements take.
template <class PackType> struct ResultMaps {
  static constexpr bool all = true;
  static constexpr int bytes = 0;
};
template <class First, class... Rest> struct ResultMaps<Pack<First, Rest...>> {
  static constexpr bool all = false;
  static constexpr int bytes = 0;
};
template <class Described, class... Rest>
struct ResultMaps<Pack<Mapped<Described>, Rest...>> {
  static constexpr int own = int(sizeof(typename Described::Element));
  static constexpr bool all =
      (own == 2 || own == 4) && ResultMaps<Pack<Rest...>>::all;
  static constexpr int bytes = own + ResultMaps<Pack<Rest...>>::bytes;
};

/// The results of a pack, one buffer of 16 rows behind the other.
template <class PackType, int Groups> struct ResultFragments {
  template <int V>
  FUSEC_DEVICE void put(int, int, const Values<V, PackType> &) {}
  FUSEC_DEVICE void stage(u32) const {}
  static FUSEC_DEVICE void store(const PackType &, u32, int, int, int) {}
  static FUSEC_DEVICE void prefetch(const PackType &) {}
};
template <class First, class... Rest, int Groups>
struct ResultFragments<Pack<First, Rest...>, Groups> {
  typedef Pack<First, Rest...> PackType;
  typedef typename First::Element T;
  static constexpr int bytes = 16 * Groups * 8 * int(sizeof(T));
  ResultFragment<T, Groups> first;
  ResultFragments<Pack<Rest...>, Groups> rest;
  template <int V>
  FUSEC_DEVICE void put(int group, int half, const Values<V, PackType> &from) {
    first.put(group, half, from.first);
    rest.put(group, half, from.rest);
  }
  FUSEC_DEVICE void stage(u32 to) const {
    first.stage(to);
    rest.stage(to + bytes);
  }
  static FUSEC_DEVICE void prefetch(const PackType &pack) {
    primitive::prefetchMap(pack.first.map);
    ResultFragments<Pack<Rest...>, Groups>::prefetch(pack.rest);
  }
  static FUSEC_DEVICE void store(const PackType &pack, u32 from, int column,
                                 int row, int batch) {
    if constexpr (isSame<decltype(pack.first.batch), Unbatched>)
      primitive::storeBox(pack.first.map, from, column, row);
    else
      primitive::storeBox(pack.first.map, from, column, row, batch);
    ResultFragments<Pack<Rest...>, Groups>::store(pack.rest, from + bytes,
                                                  column, row, batch);
  }
};

/// The epilogue of a consumer thread over all of its tiles.
template <class Config, class Epilogue> struct WgmmaMappedStore {
  typedef typename Epilogue::Operands Operands;
  typedef typename Epilogue::Results Results;
  static constexpr int J = Epilogue::accumulators;
  static constexpr int columns =
      wgmmaResultColumns(Config::tileN, ResultMaps<Results>::bytes);
  static constexpr bool suits =
      Epilogue::Results::size > 0 && ResultMaps<Results>::all &&columns > 0;
  static constexpr int groups = suits ? columns / 8 : 2;

  /// Registers for operands beside the accumulators.
  static constexpr int spare =
      wgmmaConsumerRegisters(Config::tileM) - wgmmaOtherRegisters -
      wgmmaAccumulatorRegisters(Config::tileM, Config::tileN, Config::schedule,
                                J);
  /// Groups whose operands are read together, if possible one step ahead.
  static constexpr int groupsRead() {
    int most = groups;
    while (most > 2 && 2 * Fragments<Operands, 1>::values * most > spare)
      most /= 2;
    return most;
  }
  static constexpr int step = groupsRead();
  static constexpr bool ahead =
      2 * Fragments<Operands, 1>::values * step <= spare;
  static constexpr int stepsPerBuffer = groups / step;
  static constexpr int stepsPerBlock = Config::tileN / (step * 8);
  static constexpr int steps = Config::blocksM * stepsPerBlock;
  typedef Fragments<Operands, step> Read;

  const Epilogue &epilogue;
  const Shape &shape;
  u32 staging, buffer = 0;
  int batch, firstRow, firstColumn;
  bool inside;
  Read first;

  FUSEC_DEVICE WgmmaMappedStore(const Epilogue &epilogue, const Shape &shape,
                                u32 staging)
      : epilogue(epilogue), shape(shape),
        staging(primitive::sharedAddress(launch::sharedMemory()) + staging) {
    if (launch::lane() == 0)
      ResultFragments<Results, groups>::prefetch(epilogue.results);
  }

  FUSEC_DEVICE void read(Read &to, int s) const {
    int lane = launch::lane();
    int row = firstRow + s / stepsPerBlock * 64 + (lane >> 2);
    int column = firstColumn + s % stepsPerBlock * step * 8 + (lane & 3) * 2;
    int last = shape.m - 1;
    WgmmaPlace place{batch,
                     {row < last ? row : last, row + 8 < last ? row + 8 : last},
                     column,
                     shape.n - column};
    if (inside)
      to.template read<true>(epilogue.operands, place);
    else
      to.template read<false>(epilogue.operands, place);
  }
  /// Reads the first operands of the tile whose first rows are `row`.
  FUSEC_DEVICE void begin(TilePlace tile, int row) {
    batch = tile.batch;
    firstRow = row;
    firstColumn = tile.n * Config::tileN;
    inside = firstColumn + Config::tileN <= shape.n;
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
      int block = s / stepsPerBlock, inBlock = s % stepsPerBlock;
      int inBuffer = inBlock % stepsPerBuffer;
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
            sums[j] = acc[j][block][(inBlock * step + g) * 4 + half * 2 + i];
          current.get(half, g, i, operands);
          applyAt<Epilogue>(i, sums, operands, values);
        }
        results.put(inBuffer * step + g, half, values);
      }
      if (inBuffer == stepsPerBuffer - 1)
        store(results, firstRow + block * 64,
              firstColumn + (inBlock + 1) * step * 8 - columns);
      if (ahead)
        current = next;
    }
  }
  FUSEC_DEVICE void store(const ResultFragments<Results, groups> &results,
                          int row, int column) {
    bool issues = launch::lane() == 0;
    if (issues)
      primitive::waitStoresRead<1>();
    launch::warpBarrier();
    results.stage(staging + buffer);
    primitive::fenceCopies();
    launch::warpBarrier();
    if (issues) {
      if (row < shape.m && column < shape.n)
        results.store(epilogue.results, staging + buffer, column, row, batch);
      primitive::commitStores();
    }
    buffer ^= wgmmaStagingBytes / 2;
  }
  /// The block's memory outlives the copies from it.
  FUSEC_DEVICE void finish() {
    if (launch::lane() == 0)
      primitive::waitStoresRead<0>();
  }
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_DEVICE_GEMM_WGMMA_EPILOGUE_H
