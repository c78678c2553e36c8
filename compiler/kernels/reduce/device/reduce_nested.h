// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions of what others found, along an inner axis: threads beside each
// other find a row's items, by vectors of columns, and reduce the row together.

#ifndef FUSEC_KERNELS_REDUCE_NESTED_H
#define FUSEC_KERNELS_REDUCE_NESTED_H

#include "reduce_columns.h"

namespace fusec {

/// A ColumnScope whose `Groups` are lanes of one warp: `Lanes` neighbours have
/// vectors of one row beside each other, and the next lanes those of the items
/// behind, so that a warp reads what lies in one piece.
template <int Threads, int Lanes, int Groups> struct WarpColumnScope {
  static_assert(Lanes * Groups <= 32, "of one warp");
  static constexpr int maxSize = Groups, threads = Threads;
  static constexpr FUSEC_DEVICE int vectors() {
    return Threads / Groups / launch::workersOf(Threads / Groups);
  }
  static FUSEC_DEVICE int vector() {
    return launch::thread() / (Lanes * Groups) * Lanes +
           launch::thread() % Lanes;
  }
  static FUSEC_DEVICE int rank() { return launch::thread() / Lanes % Groups; }
  static constexpr FUSEC_DEVICE int size() {
    return Groups / launch::workersOf(Groups);
  }
  static FUSEC_DEVICE void barrier() { launch::warpBarrier(); }

  /// Lane by lane over the threads that share a vector; all get the results.
  template <class Op, int V>
  static FUSEC_DEVICE Vec<typename Op::Value, V>
  reduce(Vec<typename Op::Value, V> total) {
    if constexpr (size() > 1)
      meet<Op, Lanes, V>(total);
    return total;
  }

private:
  /// Of two threads each combines one half of the first `Count` columns, of
  /// which it tells the other one when it has met the rest.
  template <class Op, int Mask, int Count, int V>
  static FUSEC_DEVICE void meet(Vec<typename Op::Value, V> &total) {
    if constexpr (Mask < Lanes * Groups) {
      const bool isUpper = launch::lane() & Mask;
      auto combine = [&](auto own, auto other) {
        return isUpper ? Op::combine(other, own) : Op::combine(own, other);
      };
      if constexpr (Count == 1) {
        total[0] = combine(total[0], detail::exchange(total[0], Mask));
        meet<Op, Mask * 2, 1>(total);
      } else {
        constexpr int half = Count / 2;
        FUSEC_UNROLL
        for (int i = 0; i < half; ++i) {
          const auto own = isUpper ? total[i + half] : total[i],
                     others = isUpper ? total[i] : total[i + half];
          total[i] = combine(own, detail::exchange(others, Mask));
        }
        meet<Op, Mask * 2, half>(total);
        FUSEC_UNROLL
        for (int i = 0; i < half; ++i) {
          const auto own = total[i], other = detail::exchange(own, Mask);
          total[i] = isUpper ? other : own;
          total[i + half] = isUpper ? own : other;
        }
      }
    }
  }
};

/// A scope like those of reduce.h of `Lanes` neighbours, a power of two, of the
/// threads that have vectors of their own in `Columns`, a ColumnScope: whole
/// warps of them where it is more than one. Groups that share columns all get
/// the results.
template <class Columns, int Lanes> struct RowOfColumns {
  static_assert((Lanes & (Lanes - 1)) == 0, "halves meet");
  static_assert(Columns::threads / Columns::maxSize % Lanes == 0,
                "whole rows a group");
  static constexpr int maxSize = Lanes;
  static FUSEC_DEVICE int rank() { return Columns::vector() % size(); }
  static constexpr FUSEC_DEVICE int size() {
    return Lanes / launch::workersOf(Lanes);
  }
  static FUSEC_DEVICE void barrier() { launch::barrier(); }
  /// Rows that the block works on at a time.
  static FUSEC_DEVICE int rowsOfBlock() { return Columns::vectors() / size(); }
  static FUSEC_DEVICE i64 group() {
    return i64(launch::block()) * rowsOfBlock() + Columns::vector() / size();
  }
  static FUSEC_DEVICE i64 groups() {
    return i64(launch::blocks()) * rowsOfBlock();
  }
  static FUSEC_DEVICE bool isFirst() {
    return Columns::rank() == 0 && rank() == 0;
  }

  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    if constexpr (size() == 1)
      return v;
    v = reduceLanes<Op, (Lanes < 32 ? Lanes : 32)>(v);
    constexpr int warps = Lanes / 32;
    if constexpr (warps > 1) {
      FUSEC_SHARED typename Op::Value partial[Columns::threads / 32];
      launch::barrier(); // The previous result has been read by everybody.
      if (launch::lane() == 0)
        partial[launch::warp()] = v;
      launch::barrier();
      const int first = launch::warp() / warps * warps;
      v = partial[first];
      FUSEC_UNROLL
      for (int w = 1; w < warps; ++w)
        v = Op::combine(v, partial[first + w]);
    }
    return v;
  }
};

/// Calls body(row, isMine) for each row. Every thread of a block runs as many
/// bodies, so that they may reduce and synchronise; without a row of its own it
/// gets the last one, and is not to store.
template <class Scope, class Body>
FUSEC_DEVICE void forEachRowOfColumns(i64 rows, Body body) {
  const int inBlock = Scope::rowsOfBlock();
  for (i64 row = Scope::group(); row / inBlock * inBlock < rows;
       row += Scope::groups())
    body(row < rows ? row : rows - 1, row < rows);
}

/// Calls body(step, column) for each of the worker's vectors of items, of which
/// every one has as many: those that are not there have column 0.
template <class Scope, int V, int Steps, class Index, class Body>
FUSEC_DEVICE void forEachItems(Index count, Body body) {
  FUSEC_UNROLL
  for (int step = 0; step < keptSteps<Scope, Steps>; ++step) {
    const Index k = Index(step * Scope::size() + Scope::rank()) * V;
    body(step, k < count ? k : Index(0));
  }
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_NESTED_H
