// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of columns: rows that are neighbours in memory. Threads beside
// each other take vectors of columns, so that their loads are coalesced; groups
// of threads share the length of the columns and combine what they found in a
// fixed order.

#ifndef FUSEC_DEVICE_REDUCE_COLUMNS_H
#define FUSEC_DEVICE_REDUCE_COLUMNS_H

#include "reduce_kept.h"
#include "reduce_places.h"

namespace fusec {

/// `Groups` threads of a block of `Threads` work on each vector of columns: a
/// scope like those of reduce.h, whose barrier is the block's.
template <int Threads, int Groups> struct ColumnScope {
  static_assert(Threads % Groups == 0, "as many threads on each column");
  static constexpr int maxSize = Groups, threads = Threads;
  /// Vectors that the block works on at a time.
  static constexpr FUSEC_DEVICE int vectors() {
    return Threads / Groups / launch::workersOf(Threads / Groups);
  }
  static FUSEC_DEVICE int vector() { return launch::thread() % vectors(); }
  static FUSEC_DEVICE int rank() { return launch::thread() / vectors(); }
  static constexpr FUSEC_DEVICE int size() {
    return Groups / launch::workersOf(Groups);
  }
  static FUSEC_DEVICE void barrier() { launch::barrier(); }

  /// Lane by lane over the threads that share a vector; all get the results.
  template <class Op, int V>
  static FUSEC_DEVICE Vec<typename Op::Value, V>
  reduce(Vec<typename Op::Value, V> total) {
    if constexpr (size() == 1)
      return total;
    FUSEC_SHARED typename Op::Value partial[V][Threads];
    launch::barrier(); // The previous results have been read by everybody.
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      partial[lane][launch::thread()] = total[lane];
    launch::barrier();
    meet<Op, V, Groups>(partial);
    constexpr int left = Groups < inOneGo ? Groups : inOneGo;
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      total[lane] = combine<Op, left>(partial[lane], vector(), vectors());
    return total;
  }

protected:
  /// Groups of which every thread combines all. More of them meet by levels,
  /// with a barrier each: one behind another they take longer than their loads.
  static constexpr int inOneGo = 8;

  /// What `Count` threads found, `apart` from one another.
  template <class Op, int Count>
  static FUSEC_DEVICE typename Op::Value
  combine(const typename Op::Value *partial, int first, int apart) {
    typename Op::Value total = partial[first];
    FUSEC_UNROLL
    for (int i = 1; i < Count; ++i)
      total = Op::combine(total, partial[first + i * apart]);
    return total;
  }
  /// Leaves what `Left` groups found with the first `inOneGo`.
  template <class Op, int V, int Left>
  static FUSEC_DEVICE void meet(typename Op::Value (&partial)[V][Threads]) {
    if constexpr (Left > inOneGo) {
      constexpr int each = Left / inOneGo < inOneGo ? Left / inOneGo : inOneGo,
                    next = Left / each;
      if (rank() < next) {
        FUSEC_UNROLL
        for (int lane = 0; lane < V; ++lane)
          partial[lane][launch::thread()] = combine<Op, each>(
              partial[lane], launch::thread(), next * vectors());
      }
      launch::barrier();
      meet<Op, V, next>(partial);
    }
  }
};
template <int Threads, int Groups>
constexpr bool hidesStep<ColumnScope<Threads, Groups>> = true;

/// Calls body(i, isMine) for each of `count` vectors of columns. Every thread
/// of a block runs as many bodies, so that they may reduce and synchronise;
/// without a vector of its own it gets the last one, and is not to store.
/// `IsOnce`: there are threads for all vectors.
template <class Scope, bool IsOnce = false, class Body>
FUSEC_DEVICE void forEachColumns(i64 count, Body body) {
  const i64 step = i64(launch::blocks()) * Scope::vectors(),
            own = i64(launch::block()) * Scope::vectors();
  forEachTurn<IsOnce>(own, count, step, [&](i64 first) {
    i64 mine = first + Scope::vector();
    body(mine < count ? mine : count - 1, mine < count);
  });
}

/// The k-th of `count` rows from `first` on, with row 0 behind the last.
template <class Index>
FUSEC_DEVICE Index wrapRow(Index k, Index first, Index count) {
  const Index row = first + k;
  return row < count ? row : row - count;
}

/// The extremes of a worker's columns.
template <class Op, int V, class Index> struct LaneExtremes {
  typedef decltype(Op::Value::value) Element;
  Element value[V];
  Index at[V]; // -1: nothing exceeds the least of all

  FUSEC_DEVICE LaneExtremes() {
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane) {
      value[lane] = Op::least();
      at[lane] = -1;
    }
  }
  FUSEC_DEVICE void take(int lane, Element v, Index place) {
    const bool takes = Op::takesPlace(v, value[lane]);
    value[lane] = takes ? v : value[lane];
    at[lane] = takes ? place : at[lane];
  }
};

/// A maximum or minimum, `Op`, whose items are 16-bit floats, of which an
/// instruction compares two.
template <class Op, class T> struct OfPairs : Op {
  typedef T Item;
  static FUSEC_DEVICE u32 combinePairs(u32 a, u32 b) {
    return primitive::extremesOfPairs<T, isSame<Op, Max<float>>>(a, b);
  }
};
template <class Op> constexpr bool comparesPairs = false;
template <class Op, class T>
constexpr bool comparesPairs<OfPairs<Op, T>> = true;

/// The extremes of a worker's columns, two in a register. Each item's lanes are
/// to come in order.
template <class Op, int V> class LanePairs {
public:
  typedef typename Op::Item Item;
  static_assert(V % 2 == 0, "whole pairs");

  FUSEC_DEVICE LanePairs() {
    const u32 bits = cast<Item>(Op::identity()).bits;
    FUSEC_UNROLL
    for (int pair = 0; pair < V / 2; ++pair)
      pairs[pair] = bits << 16 | bits;
  }
  FUSEC_DEVICE void take(int lane, Item item) {
    if (lane % 2 == 0)
      first = item.bits;
    else
      pairs[lane / 2] =
          Op::combinePairs(pairs[lane / 2], u32(item.bits) << 16 | first);
  }
  FUSEC_DEVICE float operator[](int lane) const {
    return cast<float>(Item{u16(pairs[lane / 2] >> lane % 2 * 16)});
  }

private:
  u32 pairs[V / 2], first = 0;
};

namespace detail {
/// Combines V columns of which forEachOwn(add) calls add(lane, value) with the
/// worker's items; reduce(total) those of all workers.
template <class Op, int V, class Index, class ForEachOwn, class Reduce>
FUSEC_DEVICE auto combineColumns(ForEachOwn forEachOwn, Reduce reduce) {
  Vec<typename Op::Value, V> total;
  if constexpr (findsPlaces<Op>) {
    LaneExtremes<Op, V, Index> found;
    forEachOwn([&](int lane, typename Op::Value item) {
      found.take(lane, item.value, Index(item.index));
    });
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      total[lane] = {found.value[lane], found.at[lane]};
    auto all = reduce(total);
    FUSEC_UNROLL
    for (int lane = 0; lane < int(sizeof(all) / sizeof(all[0])); ++lane)
      all[lane].index = all[lane].index < 0 ? 0 : all[lane].index;
    return all;
  } else if constexpr (comparesPairs<Op>) {
    LanePairs<Op, V> found;
    forEachOwn(
        [&](int lane, typename Op::Item item) { found.take(lane, item); });
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      total[lane] = found[lane];
    return reduce(total);
  } else {
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      total[lane] = Op::identity();
    forEachOwn([&](int lane, typename Op::Value value) {
      total[lane] = Op::combine(total[lane], value);
    });
    return reduce(total);
  }
}
/// The same by a scope whose workers all get the results.
template <class Scope, class Op, int V, class Index, class ForEachOwn>
FUSEC_DEVICE Vec<typename Op::Value, V> combineColumns(ForEachOwn forEachOwn) {
  return combineColumns<Op, V, Index>(
      forEachOwn, [](Vec<typename Op::Value, V> total) {
        return Scope::template reduce<Op>(total);
      });
}
} // namespace detail

/// Combines V columns: body(k, add) calls add(lane, value) for each lane, with
/// each k of [0, count); all threads that share the columns get the results.
/// `Own` and `Steps` as of forEachStep.
template <class Scope, class Op, int V, bool Own = false,
          int Steps = stepsAtOnce, class Index, class Body>
FUSEC_DEVICE Vec<typename Op::Value, V> reduceColumns(Index count, Body body) {
  return detail::combineColumns<Scope, Op, V, Index>([&](auto add) {
    forEachStep<Steps, Scope, Own>(count, [&](Index k) { body(k, add); });
  });
}

/// The same of columns that the threads' registers hold, a vector in each of
/// `Steps`: body(step, k, add).
template <class Scope, class Op, int V, int Steps, bool IsFree = false,
          class Index, class Body>
FUSEC_DEVICE Vec<typename Op::Value, V> reduceKeptColumns(Index count,
                                                          Body body) {
  return detail::combineColumns<Scope, Op, V, Index>([&](auto add) {
    forEachKept<Scope, 1, Steps, IsFree>(
        count, [&](int step, Index k) { body(step, k, add); });
  });
}

} // namespace fusec

#endif // FUSEC_DEVICE_REDUCE_COLUMNS_H
