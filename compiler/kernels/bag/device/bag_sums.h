// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a group of lanes keeps of the bags that it reduces: sums or maxima of
// some columns in registers, to which rows are added several at a time.

#ifndef FUSEC_DEVICE_BAG_SUMS_H
#define FUSEC_DEVICE_BAG_SUMS_H

#include "prelude.h"

#include "bag_config.h"
#include "gather.h"
#include "reduce.h"

namespace fusec {

enum class BagMode { Sum, Mean, Max };

/// Stands for offsets, weights, padding or an epilogue where bags have none.
struct NoBagOperand {
  static constexpr bool areThere = false, haveZeros = false,
                        reducesRows = false;
};

namespace detail {
/// What stands for a row's number: it reads as zero, or is left out.
constexpr int zeroRow = -1, noRow = -2;

/// Where a row of so many elements begins. A product of 32 bits without a sign
/// and the sum with the table are one instruction.
template <class T>
FUSEC_DEVICE const T *getRow(const T *table, int row, int width) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(table) +
                                     u64(u32(row)) *
                                         (u32(width) * u32(sizeof(T))));
}
template <class T>
FUSEC_DEVICE const T *getRow(const T *table, i64 row, int width) {
  return table + row * width;
}

/// Columns of a table's rows, those of row 0 at `first`.
template <class T> struct BagColumns {
  const T *first;
  int width;

  template <int V> struct Read {
    static constexpr bool isScaled = false;
    Vec<T, V> at;
    FUSEC_DEVICE float get(int v) const { return cast<float>(at[v]); }
  };
  template <int V, class Row> FUSEC_DEVICE Read<V> read(Row row) const {
    return {load<V>(getRow(first, row, width))};
  }
};

/// Integers of Bits bits, V of them as they lie in memory; one of 4 bits is the
/// half of a byte that `isHigh` names.
template <class T, int Bits, int V> struct NarrowElements {
  static constexpr int bytes = V * Bits < 8 ? 1 : V * Bits / 8;
  static constexpr bool isSigned = T(-1) < T(0);
  Vec<T, bytes> at;
  bool isHigh;

  /// Conversions have a sixteenth of the other instructions' rate. A byte below
  /// the bits of 2^23 is a float already, which is that much too large.
  FUSEC_DEVICE float get(int v) const {
    if constexpr (bytes % 4 == 0) {
      VecWords<T, bytes> u;
      u.vector = at;
      constexpr int perWord = 32 / Bits;
      u32 word = reinterpret_cast<const u32 *>(u.words)[v / perWord];
      const int byte = v % perWord * Bits / 8;
      float tooMuch = 8388608.0f;
      if (Bits == 4)
        word = (v % 2 ? word >> 4 : word) & 0x0f0f0f0f;
      if (isSigned) {
        word ^= Bits == 4 ? 0x08080808 : 0x80808080;
        tooMuch += Bits == 4 ? 8 : 128;
      }
      return primitive::floatOf(
                 primitive::permuteBytes(word, 0x4b000000, 0x7440 + byte)) -
             tooMuch;
    } else if constexpr (Bits == 8) {
      return cast<float>(at[v]);
    } else {
      const int high = V == 1 ? isHigh : v % 2,
                bits = at[v / 2] >> (high * 4) & 15;
      return float(isSigned ? (bits ^ 8) - 8 : bits);
    }
  }
};

/// The same of rows that are quantised: factors and zeros (or NoBagOperand) are
/// of the block that the columns lie in.
template <class T, int Bits, class F, class Zeros> struct NarrowBagColumns {
  const T *first;
  int pitch;
  bool isHigh;
  const F *factors;
  Zeros zeros;
  int blocks;

  template <int V> struct Read {
    static constexpr bool isScaled = true;
    NarrowElements<T, Bits, V> at;
    float factor, zero;
    FUSEC_DEVICE float get(int v) const { return (at.get(v) - zero) * factor; }
  };
  template <int V, class Row> FUSEC_DEVICE Read<V> read(Row row) const {
    return {{load<NarrowElements<T, Bits, V>::bytes>(getRow(first, row, pitch)),
             isHigh},
            cast<float>(*getRow(factors, row, blocks)),
            getZero(zeros, row)};
  }
  template <class Row> FUSEC_DEVICE float getZero(NoBagOperand, Row) const {
    return 0;
  }
  template <class Row>
  FUSEC_DEVICE float getZero(const F *from, Row row) const {
    return cast<float>(*getRow(from, row, blocks));
  }
};
template <int Bits, class T, class F, class Zeros>
FUSEC_DEVICE NarrowBagColumns<T, Bits, F, Zeros>
createNarrowColumns(const T *table, int width, int column, const F *factors,
                    Zeros zeros, int blocks) {
  return {table + column * Bits / 8,
          (width * Bits + 7) / 8,
          column % 2 != 0,
          factors,
          zeros,
          blocks};
}

/// How a block's threads stand to one another. On the host one is a group.
struct BagLanes {
  int lanes, split, lane, share, group, groups;

  FUSEC_DEVICE BagLanes(int ofRow, int ofBag)
      : lanes(launch::threads() == 1 ? 1 : ofRow),
        split(launch::threads() == 1 ? 1 : ofBag),
        lane(launch::thread() % lanes), share(launch::thread() / lanes % split),
        group(launch::thread() / (lanes * split)),
        groups(launch::threads() / (lanes * split)) {}
};

/// Calls add(row, weight) for Ids staged rows of each bag at a time, of which
/// row(b, i) is the i-th of bag b, or noRow, and weight(b, i, x) what counts of
/// an element x of it. A group takes the first `last` of `count` rows, its
/// share every split-th of them; the rows of its bags lie `apart`, and of those
/// behind the first isThere(b) says whether there is one. `OneTurn` keeps Ids
/// rows all that are on their way, where there are no registers for more.
template <int Ids, bool AreWeighted, bool OneTurn = false, class Row,
          class IsThere, class Add>
FUSEC_DEVICE void addStaged(const BagLanes &at, const Row *rows,
                            const float *weights, int apart, int count,
                            int last, IsThere isThere, Add add) {
  auto addFrom = [&](int k) {
    add(
        [&](int b, int i) {
          return k + i < count && (b == 0 || isThere(b))
                     ? rows[b * apart + k + i]
                     : Row(noRow);
        },
        [&](int b, int i, float x) {
          if constexpr (AreWeighted)
            return x * weights[b * apart + k + i];
          return x;
        });
  };
  const int first = at.share * Ids, step = at.split * Ids;
  if constexpr (OneTurn) {
    FUSEC_UNROLL_BY(1)
    for (int k = first; k < last; k += step)
      addFrom(k);
  } else {
    for (int k = first; k < last; k += step)
      addFrom(k);
  }
}

template <BagMode Mode> struct BagCombiner { typedef Sum<float> Type; };
template <> struct BagCombiner<BagMode::Max> { typedef Max<float> Type; };

/// V columns of Bags bags.
template <BagMode Mode, int Bags, int V> struct BagSums {
  typedef typename BagCombiner<Mode>::Type Combiner;
  float at[Bags][V];
  int counts[Bags]; // of rows, where they matter

  FUSEC_DEVICE BagSums() {
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b) {
      counts[b] = 0;
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v)
        at[b][v] = Combiner::identity();
    }
  }

  /// Adds Ids rows to each bag. row(b, i) is the number of a row, weight(b, i)
  /// its factor; `columns` are the table's.
  template <class Row, int Ids, class Columns, class RowOf, class WeightOf>
  FUSEC_DEVICE void add(const Columns &columns, RowOf row, WeightOf weight) {
    // What is not there is read as row 0 and not added: loads under a
    // condition would wait for one another.
    typename Columns::template Read<V> read[Bags][Ids];
    bool adds[Bags][Ids], isCounted[Bags][Ids];
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b) {
      FUSEC_UNROLL
      for (int i = 0; i < Ids; ++i) {
        const Row number = row(b, i);
        adds[b][i] = number >= 0;
        isCounted[b][i] = number != noRow;
        read[b][i] = columns.template read<V>(number < 0 ? Row(0) : number);
      }
    }
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b)
      FUSEC_UNROLL
    for (int i = 0; i < Ids; ++i) {
      combine(at[b], read[b][i], adds[b][i], isCounted[b][i],
              [&](float x) { return weight(b, i, x); });
      if (Mode != BagMode::Sum)
        counts[b] += isCounted[b][i];
    }
  }

  template <class Read, class WeightOf>
  FUSEC_DEVICE static void combine(float (&into)[V], const Read &read,
                                   bool adds, bool isCounted, WeightOf weight) {
    if constexpr (Read::isScaled && Mode != BagMode::Max) {
      // Integers are finite: a row that is left out has the factor 0.
      const float factor = adds ? weight(read.factor) : 0.0f,
                  zero = adds ? read.zero : 0.0f;
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v)
        into[v] += (read.at.get(v) - zero) * factor;
    } else {
      const float none = isCounted ? 0.0f : Combiner::identity();
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v)
        into[v] = Combiner::combine(into[v], adds ? weight(read.get(v)) : none);
    }
  }

  /// Joins those of the groups of lanes that share bags: first of a warp, then
  /// of all warps by `partials`, which has room for Sharing threads, where a
  /// bag has several warps. What share 0 has then is the bag's.
  template <int Sharing>
  FUSEC_DEVICE void join(const BagLanes &at, float *partials) {
    const int shared = at.lanes * at.split;
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b)
      for (int mask = at.lanes; mask < 32 && mask < shared; mask *= 2)
        addOther(b, [&](auto x) { return primitive::shuffleXor(x, mask); });
    if constexpr (Sharing > 0) {
      static_assert(Bags == 1, "bags of several warps are taken one by one");
      if (shared <= 32)
        return;
      const int thread = launch::thread(),
                apart = at.lanes < 32 ? 32 : at.lanes;
      launch::barrier(); // Those before have been read.
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v)
        partials[v * Sharing + thread] = this->at[0][v];
      if (Mode != BagMode::Sum)
        partials[V * Sharing + thread] = primitive::floatOf(u32(counts[0]));
      launch::barrier();
      if (at.share != 0)
        return;
      for (int other = apart; other < shared; other += apart) {
        const float *from = partials + thread + other;
        if (Mode != BagMode::Sum)
          counts[0] += int(primitive::bitsOf(from[V * Sharing]));
        FUSEC_UNROLL
        for (int v = 0; v < V; ++v)
          this->at[0][v] = Combiner::combine(this->at[0][v], from[v * Sharing]);
      }
    }
  }

  /// Adds to those of bag b what `get` makes of each number.
  template <class Get> FUSEC_DEVICE void addOther(int b, Get get) {
    if (Mode != BagMode::Sum)
      counts[b] += get(counts[b]);
    FUSEC_UNROLL
    for (int v = 0; v < V; ++v)
      at[b][v] = Combiner::combine(at[b][v], get(at[b][v]));
  }

  /// What a length makes of bag b: another divisor, or a number that stands
  /// for rows beyond.
  template <class Lengths>
  FUSEC_DEVICE void finish(int b, const Lengths &lengths, i64 length,
                           bool isShort, float &scale) {
    if (Mode == BagMode::Mean && lengths.divides) {
      const float by = float(length);
      scale /= by < lengths.least ? lengths.least : by;
      counts[b] = 0;
    }
    if (Mode == BagMode::Max && lengths.fills && isShort) {
      counts[b] = 1;
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v)
        at[b][v] = Combiner::combine(at[b][v], lengths.fill);
    }
  }

  template <class R> FUSEC_DEVICE Vec<R, V> get(int b, float scale) const {
    if (Mode == BagMode::Mean && counts[b])
      scale /= float(counts[b]);
    Vec<R, V> result;
    FUSEC_UNROLL
    for (int v = 0; v < V; ++v)
      result[v] = cast<R>(
          Mode == BagMode::Max && counts[b] == 0 ? 0 : at[b][v] * scale);
    return result;
  }
};
} // namespace detail

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_SUMS_H
