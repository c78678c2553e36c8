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

/// Calls body(row, column, tag) for vectors of V of the `columns` points, a
/// multiple of V, of each of `rows`, and what it returns once the row is held:
/// `Size` elements from begin(row) on, by vectors of `Fill`. A block has a row
/// at a time. What a thread's first body loads is on its way beside the row:
/// behind the barrier it would wait for the memory again.
template <int Fill, int V, class T, int Size, class Index, class Begin,
          class Body>
FUSEC_DEVICE void forEachHeldRow(HeldRow<T, Size> &held, Index rows,
                                 Index columns, Begin begin, Body body) {
  if (columns <= 0)
    return;
  const Index own = Index(launch::thread()) * V,
              step = Index(launch::threads()) * V;
  const bool hasOwn = own < columns;
  for (Index row = Index(launch::block()); row < rows;
       row += Index(launch::blocks())) {
    auto first = body(row, hasOwn ? own : 0, Width<V>());
    detail::fillRow<Fill>(held, begin(row));
    launch::barrier();
    if (hasOwn)
      detail::goOn(first);
    for (Index column = own + step; column < columns; column += step)
      detail::goOn(body(row, column, Width<V>()));
    launch::barrier();
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_HELD_ROWS_H
