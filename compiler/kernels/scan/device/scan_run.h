// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a few columns, of which no row is a vector: a block moves its part,
// which is one run of memory, by whole vectors, and threads find the items of
// their columns in shared memory.

#ifndef FUSEC_KERNELS_SCAN_RUN_H
#define FUSEC_KERNELS_SCAN_RUN_H

#include "scan_held.h"
#include "scan_parts.h"

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
    // As many together as 64 words of registers hold.
    constexpr int steps = 64 / (V * int(sizeof(T) + 3) / 4);
    Vec<T, V> moved[steps];
    detail::forEachOfRun<V, steps>(
        count,
        [&](int s, Index i, auto width) {
          load(i, width,
               [&](int lane, auto value) { moved[s][lane] = cast<T>(value); });
        },
        [&](int s, Index i, auto width) {
          FUSEC_UNROLL
          for (int lane = 0; lane < width.value; ++lane)
            at[place(int(i) + lane)] = moved[s][lane];
        });
    launch::barrier();
  }
  /// Of a row and a column.
  FUSEC_DEVICE T &item(int row, int column) {
    return at[place(row * Columns + column)];
  }
  /// Calls store(i, width, sums) for the same.
  template <class Index, class Store>
  FUSEC_DEVICE void take(Index count, Store store) {
    launch::barrier();
    detail::forEachOfRun<V, 1>(
        count, [](int, Index, auto) {},
        [&](int, Index i, auto width) {
          Vec<T, decltype(width)::value> sums;
          FUSEC_UNROLL
          for (int lane = 0; lane < width.value; ++lane)
            sums[lane] = at[place(int(i) + lane)];
          store(i, width, sums);
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
