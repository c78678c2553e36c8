// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of parts that lie side by side: a block puts some rows together in
// shared memory, part by part, and stores them as one run of memory. Stored
// where they belong, short parts would write sectors in pieces, and parts that
// begin anywhere element by element.

#ifndef FUSEC_DEVICE_ASSEMBLED_ROWS_H
#define FUSEC_DEVICE_ASSEMBLED_ROWS_H

#include "vector.h"

namespace fusec {

/// What a block has of them: `Rows` rows of `Pitch` items, to be written by
/// vectors.
template <class T, int Rows, int Pitch> struct AssembledRows {
  static constexpr int rows = Rows, pitch = Pitch;
  alignas(16) T at[Rows * Pitch];
};

/// `Columns` items of each row, from `Offset` on: body(i, width) begins to load
/// neighbours of the part, of which vectors of V are aligned, and returns what
/// gives the vector; i counts from the first row's first item.
template <int Columns, int Offset, int V, class Body> struct PartOfRows {
  static constexpr int columns = Columns, offset = Offset, vector = V;
  Body body;
};
template <int Columns, int Offset, int V, class Body>
FUSEC_DEVICE PartOfRows<Columns, Offset, V, Body> partOfRows(Body body) {
  return {body};
}

namespace detail {
/// Puts neighbours of a part where they belong, as many at a time as always
/// lie together.
template <class Part, class Held, class T, int V>
FUSEC_DEVICE void putPart(Held &held, int i, const Vec<T, V> &items) {
  constexpr int all = Part::columns | Part::offset | Held::pitch | V,
                together = all & -all;
  constexpr bool isOfOneRow = Part::columns % V == 0;
  const auto place = [](int item) {
    return item / Part::columns * Held::pitch + Part::offset +
           item % Part::columns;
  };
  const int first = place(i);
  FUSEC_UNROLL
  for (int lane = 0; lane < V; lane += together) {
    Vec<T, together> some;
    FUSEC_UNROLL
    for (int k = 0; k < together; ++k)
      some[k] = items[lane + k];
    store<together>(
        held.at + (isOfOneRow || !lane ? first + lane : place(i + lane)), some);
  }
}

/// Vectors that a thread begins before it goes on with the first.
constexpr int partsTogether = 8;

template <int Threads, int Step, int Free, class Held, class Index,
          class Finish>
FUSEC_DEVICE void putParts(Held &, Index, int, Finish finish) {
  finish();
}
/// Of whole runs: what one of `Threads` puts of the parts, from its vector
/// `Step` of the first of them on. `Free` more are begun before finish().
template <int Threads, int Step, int Free, class Held, class Index,
          class Finish, class Part, class... Parts>
FUSEC_DEVICE void putParts(Held &held, Index first, int thread, Finish finish,
                           Part part, Parts... parts) {
  constexpr int V = Part::vector, count = Held::rows * Part::columns / V,
                next = Step + 1;
  static_assert(Held::rows % V == 0, "runs begin with vectors");
  const bool isThere =
      next * Threads <= count || Step * Threads + thread < count;
  // Others load what is there, too, so that nothing is to be decided.
  const int i = isThere ? (Step * Threads + thread) * V : 0;
  auto rest = part.body(first * Part::columns + i, Width<V>());
  auto both = [=, &held] {
    finish();
    if (isThere)
      putPart<Part>(held, i, rest());
  };
  auto goOn = [&](auto begun, auto free) {
    if constexpr (next * Threads < count)
      putParts<Threads, next, free.value>(held, first, thread, begun, part,
                                          parts...);
    else
      putParts<Threads, 0, free.value>(held, first, thread, begun, parts...);
  };
  if constexpr (Free > 1) {
    goOn(both, Width<Free - 1>());
  } else {
    both();
    goOn([] {}, Width<partsTogether>());
  }
}

/// The same of fewer rows, item by item.
template <class Held, class Index, class Part>
FUSEC_DEVICE void putItems(Held &held, Index first, int rows, Part part) {
  for (int i = launch::thread(); i < rows * Part::columns;
       i += launch::threads())
    putPart<Part>(held, i, part.body(first * Part::columns + i, Width<1>())());
}

/// Stores so many rows, the first of them at `to`, which is aligned.
template <class T, int Rows, int Pitch>
FUSEC_DEVICE void storeRun(const AssembledRows<T, Rows, Pitch> &held, int rows,
                           T *to) {
  constexpr int V = int(16 / sizeof(T));
  const int items = rows * Pitch, whole = items / V * V;
  for (int i = launch::thread() * V; i < whole; i += launch::threads() * V)
    store<V>(to + i, load<V>(held.at + i));
  for (int i = whole + launch::thread(); i < items; i += launch::threads())
    to[i] = held.at[i];
}
} // namespace detail

/// Puts all rows together and stores them from `to` on, by blocks of `Threads`
/// threads.
template <int Threads, class T, int Rows, int Pitch, class Index,
          class... Parts>
FUSEC_DEVICE void assembleRows(AssembledRows<T, Rows, Pitch> &held, Index rows,
                               T *to, Parts... parts) {
  static_assert(Rows % int(16 / sizeof(T)) == 0, "runs begin with vectors");
  for (Index first = Index(launch::block()) * Rows; first < rows;
       first += Index(launch::blocks()) * Rows) {
    const Index left = rows - first;
    const int count = left < Rows ? int(left) : Rows;
    if (count == Rows)
      for (int turn = 0; turn < launch::workersOf(Threads); ++turn)
        detail::putParts<Threads, 0, detail::partsTogether>(
            held, first, turn + launch::thread(), [] {}, parts...);
    else
      (detail::putItems(held, first, count, parts), ...);
    launch::barrier();
    detail::storeRun(held, count, to + first * Pitch);
    launch::barrier();
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_ASSEMBLED_ROWS_H
