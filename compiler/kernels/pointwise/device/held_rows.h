// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which points pick elements by indices: a block reads them as they
// lie, and picks in shared memory. Picked from memory, every element would be a
// sector of its own, and every lane of a warp a line of L1.

#ifndef FUSEC_DEVICE_HELD_ROWS_H
#define FUSEC_DEVICE_HELD_ROWS_H

#include "vector.h"

namespace fusec {

/// Rows of `Size` elements that a block of `Threads` holds, each for a part of
/// its threads, which finds the elements of its own by their places.
template <class T, int Size, int Rows, int Threads> struct HeldRows {
  static_assert(Threads % Rows == 0, "parts of the block");
  static constexpr int rows = Rows / launch::workersOf(Rows);
  alignas(16) T at[rows][Size]; // written by vectors
  /// Of a row. A whole block's are asked for: what is known of a loop that is
  /// taken once or twice only makes it long.
  static FUSEC_DEVICE int threads() {
    constexpr int part = Threads / Rows;
    return rows > 1 ? part / launch::workersOf(part) : launch::threads();
  }
  /// The row of a thread, and its place among those of the row.
  static FUSEC_DEVICE int own() {
    return rows > 1 ? launch::thread() / threads() : 0;
  }
  static FUSEC_DEVICE int rank() {
    return rows > 1 ? launch::thread() % threads() : launch::thread();
  }
  template <class Index> FUSEC_DEVICE const T &operator[](Index i) const {
    return at[own()][i];
  }
};

namespace detail {
/// V elements at a time; several loads of a thread are on their way together.
template <int V, class T, int Size, int Rows, int Threads>
FUSEC_DEVICE void fillRow(HeldRows<T, Size, Rows, Threads> &held,
                          const T *from) {
  static_assert(Size % V == 0, "whole vectors");
  constexpr int count = Size / V, together = V > 1 ? 4 : 8;
  const int threads = held.threads();
  T *row = held.at[held.own()];
  for (int first = held.rank(); first < count; first += together * threads) {
    Vec<T, V> loaded[together];
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (first + i * threads < count)
        loaded[i] = loadStream<V>(from + (first + i * threads) * V);
    FUSEC_UNROLL
    for (int i = 0; i < together; ++i)
      if (first + i * threads < count)
        store<V>(row + (first + i * threads) * V, loaded[i]);
  }
}
} // namespace detail

/// Calls body(row, column, tag) for vectors of V of the `columns` points, a
/// multiple of V, of each of `rows`, and what it returns once the row is held:
/// `Size` elements from begin(row) on, by vectors of `Fill`. A part of a block
/// has a row at a time. What a thread's first body loads is on its way beside
/// the row: behind the barrier it would wait for the memory again.
template <int Fill, int V, class Held, class Index, class Begin, class Body>
FUSEC_DEVICE void forEachHeldRow(Held &held, Index rows, Index columns,
                                 Begin begin, Body body) {
  if (columns <= 0)
    return;
  const Index own = Index(held.rank()) * V, step = Index(held.threads()) * V;
  for (Index first = Index(launch::block()) * held.rows; first < rows;
       first += Index(launch::blocks()) * held.rows) {
    const Index row = first + held.own();
    const bool hasRow = row < rows, hasOwn = hasRow && own < columns;
    auto begun = body(hasRow ? row : first, hasOwn ? own : 0, Width<V>());
    if (hasRow)
      detail::fillRow<Fill>(held, begin(row));
    launch::barrier();
    if (hasOwn)
      detail::goOn(begun);
    if (hasRow)
      for (Index column = own + step; column < columns; column += step)
        detail::goOn(body(row, column, Width<V>()));
    launch::barrier();
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_HELD_ROWS_H
