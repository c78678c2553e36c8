// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of columns whose rows begin anywhere in memory. A row's phase is
// by how many elements it begins behind a whole vector of memory; every V-th
// row has the same. A thread keeps to rows of one phase: it loads whole vectors
// and adds them up lane by lane. Lanes are moved to their columns once, where
// threads meet in shared memory.

#ifndef FUSEC_DEVICE_REDUCE_PHASES_H
#define FUSEC_DEVICE_REDUCE_PHASES_H

#include "reduce_columns.h"

namespace fusec {

/// A scope of columns whose threads' vectors begin up to a vector earlier than
/// their columns do, each by its rows' phase. On the host a worker walks rows
/// of all phases.
template <int Threads, int Groups>
struct PhaseScope : ColumnScope<Threads, Groups> {
  typedef ColumnScope<Threads, Groups> Base;
  static_assert(Threads / Groups > 1, "a vector that completes the last one");

  /// Vectors of columns of which the block finds results: what it loads behind
  /// them has the last columns of the last one.
  static constexpr FUSEC_DEVICE int owned() {
    return Base::vectors() > 1 ? Base::vectors() - 1 : 1;
  }
  /// What all threads found, whose lanes are `phase` behind their columns. Each
  /// gets that of one column: of its vector the one that its rank says.
  template <class Op, int V>
  static FUSEC_DEVICE auto reduce(Vec<typename Op::Value, V> total, int phase) {
    if constexpr (Base::size() == 1) {
      return total;
    } else {
      static_assert(Groups % V == 0, "threads that keep to one phase");
      FUSEC_SHARED typename Op::Value partial[V][Threads];
      launch::barrier(); // The previous results have been read by everybody.
      FUSEC_UNROLL
      for (int lane = 0; lane < V; ++lane) {
        const bool isBefore = lane < phase;
        if (!isBefore || Base::vector() > 0)
          partial[lane - phase + isBefore * V][launch::thread() - isBefore] =
              total[lane];
      }
      launch::barrier();
      Base::template meet<Op, V, Groups>(partial);
      constexpr int left = Groups < Base::inOneGo ? Groups : Base::inOneGo;
      Vec<typename Op::Value, 1> own;
      own[0] = Base::template combine<Op, left>(
          partial[Base::rank() % V], Base::vector(), Base::vectors());
      return own;
    }
  }
};
template <int Threads, int Groups>
constexpr bool hidesStep<PhaseScope<Threads, Groups>> = true;

/// Calls body(row, first) for pieces of `columns` columns of each row, which a
/// block reduces; a thread's vector of columns begins with `first`.
template <class Scope, int V, class Body>
FUSEC_DEVICE void forEachPiece(i64 rows, i64 columns, Body body) {
  const i64 vectors = (columns + (V - 1)) / V,
            pieces = (vectors + (Scope::owned() - 1)) / Scope::owned();
  for (i64 piece = launch::block(); piece < rows * pieces;
       piece += launch::blocks())
    body(piece / pieces,
         (piece % pieces * Scope::owned() + Scope::vector()) * V);
}

/// Combines the columns of a thread's vector from `first` on:
/// body(k, column, width, add) calls add(lane, value) for `width` lanes from
/// `column` on, which may lie before the first and behind the last of
/// `columns`, of each k of [0, length). place(k, column) says where they are in
/// memory, which begins with a whole vector and ends at `extent`.
/// forEachOwnColumn takes the results.
template <class Scope, class Op, int V, class Index, class Place, class Body>
FUSEC_DEVICE auto reducePhases(Index length, i64 first, i64 columns, i64 extent,
                               Place place, Body body) {
  typedef typename Op::Value Value;
  // Of a thread without rows none: its first would lie where no Index leads.
  const int phase = Index(Scope::rank()) < length
                        ? int(place(Index(Scope::rank()), Index(0)) % V)
                        : 0;
  auto takeItems = [&](Index k, Index column, auto add) {
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      if (place(k, column) + lane < extent)
        body(k, column + lane, Width<1>(),
             [&](int, Value value) { add(lane, value); });
  };
  auto takeAll = [&](auto add) {
    const Index column = Index(first) - phase, last = length - 1;
    const bool isIn = column < columns && length > 0,
               endsInside = isIn && place(last, column) + V > extent;
    const Index whole = isIn ? length - endsInside : 0;
    forEachStep<stepsAtOnce, Scope>(
        whole, [&](Index k) { body(k, column, Width<V>(), add); });
    // Memory ends within the last row's last vector.
    if (endsInside && last % Scope::size() == Scope::rank())
      takeItems(last, column, add);
  };
  auto takeAlone = [&](auto add) {
    for (Index k = 0; k < length; ++k)
      for (Index column = Index(first) - place(k, Index(0)) % V;
           column < columns && column < first + V; column += V) {
        auto addOwn = [&](int lane, Value value) {
          const i64 own = column + lane - first;
          if (own >= 0 && own < V && first + own < columns)
            add(int(own), value);
        };
        if (place(k, column) + V > extent)
          takeItems(k, column, addOwn);
        else
          body(k, column, Width<V>(), addOwn);
      }
  };
  return detail::combineColumns<Op, V, Index>(
      [&](auto add) {
        if constexpr (Scope::size() == 1)
          takeAlone(add);
        else
          takeAll(add);
      },
      [&](Vec<Value, V> total) {
        return Scope::template reduce<Op>(total, phase);
      });
}

/// Calls body(column, own) for the columns of which the thread has results: the
/// `own`-th of them.
template <class Scope, int V, class Index, class Body>
FUSEC_DEVICE void forEachOwnColumn(Index first, i64 columns, Body body) {
  if constexpr (Scope::size() == 1) {
    for (int own = 0; own < V; ++own)
      if (first + own < columns)
        body(Index(first + own), own);
  } else {
    const Index column = first + Scope::rank();
    if (Scope::vector() < Scope::owned() && Scope::rank() < V &&
        column < columns)
      body(column, 0);
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_REDUCE_PHASES_H
