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

/// Stands for offsets, weights or padding where bags have none.
struct NoBagOperand {
  static constexpr bool areThere = false, haveZeros = false;
};

namespace detail {
/// What stands for a row's number: it reads as zero, or is left out.
constexpr int zeroRow = -1, noRow = -2;

/// Where a row begins.
template <class T>
FUSEC_DEVICE const T *getRow(const T *table, i64 row, int width) {
  return table + row * width;
}

/// Columns of a table's rows, those of row 0 at `first`.
template <class T> struct BagColumns {
  const T *first;
  int width;

  template <int V> struct Read {
    Vec<T, V> at;
    FUSEC_DEVICE float get(int v) const { return cast<float>(at[v]); }
  };
  template <int V> FUSEC_DEVICE Read<V> read(i64 row) const {
    return {load<V>(getRow(first, row, width))};
  }
};

/// The same of rows that are quantised: factors and zeros (or NoBagOperand) are
/// of the block that the columns lie in.
template <class T, class F, class Zeros> struct NarrowBagColumns {
  const T *first;
  int width;
  const F *factors;
  Zeros zeros;
  int blocks;

  template <int V> struct Read {
    Vec<T, V> at;
    float factor, zero;
    FUSEC_DEVICE float get(int v) const {
      return (cast<float>(at[v]) - zero) * factor;
    }
  };
  template <int V> FUSEC_DEVICE Read<V> read(i64 row) const {
    return {load<V>(getRow(first, row, width)),
            cast<float>(*getRow(factors, row, blocks)), getZero(zeros, row)};
  }
  FUSEC_DEVICE float getZero(NoBagOperand, i64) const { return 0; }
  FUSEC_DEVICE float getZero(const F *from, i64 row) const {
    return cast<float>(*getRow(from, row, blocks));
  }
};
template <class T, class F, class Zeros>
NarrowBagColumns(const T *, int, const F *, Zeros, int)
    -> NarrowBagColumns<T, F, Zeros>;

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
        read[b][i] = columns.template read<V>(number < 0 ? 0 : number);
      }
    }
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b)
      FUSEC_UNROLL
    for (int i = 0; i < Ids; ++i) {
      FUSEC_UNROLL
      for (int v = 0; v < V; ++v) {
        const float none = isCounted[b][i] ? 0.0f : Combiner::identity(),
                    x = adds[b][i] ? weight(b, i, read[b][i].get(v)) : none;
        at[b][v] = Combiner::combine(at[b][v], x);
      }
      if (Mode != BagMode::Sum)
        counts[b] += isCounted[b][i];
    }
  }

  /// Joins those of the groups of `lanes` lanes that share bags, `split` of
  /// them.
  FUSEC_DEVICE void join(int lanes, int split) {
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b)
      for (int mask = lanes; mask < lanes * split; mask *= 2) {
        if (Mode != BagMode::Sum)
          counts[b] += primitive::shuffleXor(counts[b], mask);
        FUSEC_UNROLL
        for (int v = 0; v < V; ++v) {
          at[b][v] = Combiner::combine(at[b][v],
                                       primitive::shuffleXor(at[b][v], mask));
        }
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
