// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which points pick elements by indices: a block reads each as it lies,
// and picks in shared memory. Picked from memory, every element would be a
// sector of its own, and every lane of a warp a line of L1.

#ifndef FUSEC_DEVICE_HELD_ROWS_H
#define FUSEC_DEVICE_HELD_ROWS_H

#include "vector.h"

namespace fusec {

/// The row that a block holds.
template <class T, int Size> struct HeldRow {
  alignas(16) T at[Size]; // written by vectors
  template <class Index> FUSEC_DEVICE const T &operator[](Index i) const {
    return at[i];
  }
};

namespace detail {
/// V elements at a time; several loads of a thread are on their way together.
template <int V, class T, int Size>
FUSEC_DEVICE void fillRow(HeldRow<T, Size> &row, const T *from) {
  static_assert(Size % V == 0, "whole vectors");
  constexpr int count = Size / V, together = V > 1 ? 4 : 8;
  const int threads = launch::threads();
  for (int first = launch::thread(); first < count;
       first += together * threads) {
    Vec<T, V> loaded[together];
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (first + i * threads < count)
        loaded[i] = loadStream<V>(from + (first + i * threads) * V);
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (first + i * threads < count)
        store<V>(row.at + (first + i * threads) * V, loaded[i]);
  }
}
} // namespace detail

/// Calls body(row) for each of `count` rows, one a block at a time, which then
/// is held: the `Size` elements from begin(row) on. Every thread of the block
/// runs it.
template <int V, class T, int Size, class Index, class Begin, class Body>
FUSEC_DEVICE void forEachHeldRow(HeldRow<T, Size> &held, Index count,
                                 Begin begin, Body body) {
  for (Index row = Index(launch::block()); row < count;
       row += Index(launch::blocks())) {
    detail::fillRow<V>(held, begin(row));
    launch::barrier();
    body(row);
    launch::barrier();
  }
}

/// Calls body(column, tag) for vectors of V of the `count` columns, a multiple
/// of V.
template <int V, class Index, class Body>
FUSEC_DEVICE void forEachOfRow(Index count, Body body) {
  const Index step = Index(launch::threads()) * V;
  for (Index column = Index(launch::thread()) * V; column < count;
       column += step)
    body(column, Width<V>());
}

} // namespace fusec

#endif // FUSEC_DEVICE_HELD_ROWS_H
