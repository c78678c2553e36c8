// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a few columns, of which no row is a vector: a block moves its part,
// which is one run of memory, by whole vectors, and threads find the items of
// their columns in shared memory.

#ifndef FUSEC_KERNELS_SCAN_RUN_H
#define FUSEC_KERNELS_SCAN_RUN_H

#include "scan_held.h"

namespace fusec {

/// A part of up to `Length` rows of `Columns` items, of which a thread takes
/// those of one column in `Kept` rows.
template <class Form, int Length, int Columns, int Kept, int V> class ScanRun {
  typedef typename Form::Op::Value T;

public:
  /// Calls load(i, width, put) for vectors of V, and single items, of the run
  /// of `count`.
  template <class Index, class Load>
  FUSEC_DEVICE void fill(Index count, Load load) {
    // As many together as 32 words of registers hold.
    constexpr int steps = 32 / (V * int(sizeof(T)) / 4);
    Vec<T, V> moved[steps];
    detail::forEachOfRun<V, steps>(
        count,
        [&](int s, Index i, auto width) {
          load(i, width,
               [&](int lane, auto value) { moved[s][lane] = cast<T>(value); });
        },
        [&](int s, Index i, auto width) {
          constexpr int W = decltype(width)::value;
          Vec<T, W> vector;
          FUSEC_UNROLL
          for (int lane = 0; lane < W; ++lane)
            vector[lane] = moved[s][lane];
          fusec::store<W>(at + place(int(i)), vector);
        });
    launch::barrier();
  }
  /// Of a row and a column. A thread's own rows lie in one slice, whose begin
  /// is found once where rows come in their order.
  template <class Scope> FUSEC_DEVICE T &item(int row, int column) {
    if constexpr (Form::isReverse || launch::workersOf(2) == 2) {
      return at[place(row * Columns + column)];
    } else {
      const int rank = Scope::rank(), step = row - rank * Kept;
      return at[rank * (slice + gap) + step * Columns + column];
    }
  }
  /// Calls put(i, width, sums) for the same.
  template <class Index, class Put>
  FUSEC_DEVICE void take(Index count, Put put) {
    launch::barrier();
    detail::forEachOfRun<V, 1>(
        count, [](int, Index, auto) {},
        [&](int, Index i, auto width) {
          constexpr int W = decltype(width)::value;
          put(i, width, fusec::load<W>(at + place(int(i))));
        });
  }

private:
  /// Rows of one thread lie a vector further behind those of the one before,
  /// so that threads meet different banks.
  static constexpr int slice = Kept * Columns,
                       slices = (Length + Kept - 1) / Kept,
                       gap = 16 / int(sizeof(T));
  static_assert(slice % V == 0, "no vector lies in two slices");
  static FUSEC_DEVICE int place(int i) { return i + i / slice * gap; }
  alignas(16) T at[slices * (slice + gap)];
};

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_RUN_H
