// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose length is no whole number of vectors, so that most do not begin
// with one: a row is a span of the memory that its operands lie in, of which
// vectors are whole where memory's are. What is before and behind them are
// single items.

#ifndef FUSEC_KERNELS_REDUCE_SPAN_H
#define FUSEC_KERNELS_REDUCE_SPAN_H

#include "reduce_kept.h"

namespace fusec {

/// Items [begin, end).
template <class Index> struct Span { Index begin, end; };
template <class Index> FUSEC_DEVICE Index beginOf(Span<Index> span) {
  return span.begin;
}
template <class Index> FUSEC_DEVICE Index endOf(Span<Index> span) {
  return span.end;
}
template <class Index> FUSEC_DEVICE bool isEmptyRow(Span<Index> span) {
  return span.end <= span.begin;
}

namespace detail {
/// A span's whole vectors, from `first` on, and its other items.
template <int V, class Index> struct SpanParts {
  Index begin, head, first, whole, tail;
  FUSEC_DEVICE SpanParts(Span<Index> span) : begin(span.begin) {
    first = (begin + (V - 1)) / V * V;
    first = first < span.end ? first : span.end;
    head = first - begin;
    whole = (span.end - first) / V;
    tail = span.end - first - whole * V;
  }
  FUSEC_DEVICE Index getVector(Index i) const { return first + i * V; }
  /// Of the items of head and tail.
  FUSEC_DEVICE Index getItem(Index i) const {
    return begin + i + (i < head ? 0 : whole * V);
  }
};

/// Of as many vectors as are whole wherever a span of this length begins: who
/// knows the length knows how many. The tail may have a vector's items more.
template <int V, class Index>
FUSEC_DEVICE SpanParts<V, Index> getSureParts(Span<Index> span) {
  SpanParts<V, Index> parts(span);
  const Index length = span.end - span.begin;
  parts.whole = length < V - 1 ? 0 : (length - (V - 1)) / V;
  parts.tail = length - parts.head - parts.whole * V;
  return parts;
}

/// Items of head and tail, of which no worker has two where there are enough of
/// these.
template <class Scope, int V, class Index, class Body>
FUSEC_DEVICE void forEachEdge(const SpanParts<V, Index> &parts, Body body) {
  const Index count = parts.head + parts.tail;
  if constexpr (Scope::maxSize >= 2 * (V - 1) &&
                launch::workersOf(Scope::maxSize) == 1) {
    const Index i = Index(knownRank<Scope>());
    if (i < count)
      body(parts.getItem(i), Width<1>());
  } else {
    forEachIn<Scope>(count,
                     [&](Index i) { body(parts.getItem(i), Width<1>()); });
  }
}
} // namespace detail

/// body(k, width) for items of head and tail, which wait for memory together
/// while other workers go on, and then for vectors; decltype(width)::value is V
/// or 1.
template <class Scope, int V, int Steps, class Index, class Body>
FUSEC_DEVICE void forEachVectorAtOnce(Span<Index> span, Body body) {
  const auto parts = detail::getSureParts<V>(span);
  if constexpr (V > 1)
    detail::forEachEdge<Scope>(parts, body);
  forEachStep<Steps, Scope>(
      parts.whole, [&](Index i) { body(parts.getVector(i), Width<V>()); });
}
template <class Scope, int V, class Index, class Body>
FUSEC_DEVICE void forEachVectorIn(Span<Index> span, Body body) {
  forEachVectorAtOnce<Scope, V, 4>(span, body);
}

/// Accesses of a span that a worker holds: a step more, of a single item.
template <class Scope, int Steps>
constexpr int keptSpanSteps = (Steps + 1) * launch::workersOf(Scope::maxSize);

/// forEachKept of a span: body(step, k, width).
template <class Scope, int V, int Steps, class Index, class Body>
FUSEC_DEVICE void forEachKept(Span<Index> span, Body body) {
  static_assert(2 * (V - 1) <= Scope::maxSize, "an item each");
  constexpr int workers = launch::workersOf(Scope::maxSize);
  const auto parts = detail::getSureParts<V>(span);
  FUSEC_UNROLL
  for (int step = 0; step < Steps * workers; ++step) {
    const Index i = Index(step * Scope::size() + Scope::rank());
    if (i < parts.whole)
      body(step, parts.getVector(i), Width<V>());
  }
  FUSEC_UNROLL
  for (int turn = 0; turn < workers; ++turn) {
    const Index i = Index(turn * Scope::size() + Scope::rank());
    if (i < parts.head + parts.tail)
      body(Steps * workers + turn, parts.getItem(i), Width<1>());
  }
}

/// Items [begin, end) of a row, which begin with a whole vector.
template <class Index> struct Part { Index begin, end; };

/// forEachKept of a part: body(step, k, width), of single items behind the last
/// vector.
template <class Scope, int V, int Steps, class Index, class Body>
FUSEC_DEVICE void forEachKept(Part<Index> part, Body body) {
  constexpr int workers = launch::workersOf(Scope::maxSize);
  const Index whole = (part.end - part.begin) / V;
  FUSEC_UNROLL
  for (int step = 0; step < Steps * workers; ++step) {
    const Index i = Index(step * Scope::size() + Scope::rank());
    if (i < whole)
      body(step, part.begin + i * V, Width<V>());
  }
  if constexpr (V > 1) {
    static_assert(V <= Scope::maxSize, "an item each");
    FUSEC_UNROLL
    for (int turn = 0; turn < workers; ++turn) {
      const Index k =
          part.begin + whole * V + Index(turn * Scope::size() + Scope::rank());
      if (k < part.end)
        body(Steps * workers + turn, k, Width<1>());
    }
  }
}

/// Loads what a step holds: a vector, or an item into its first lane.
template <int Width, class T, int V, class Pointer>
FUSEC_DEVICE void keep(Vec<T, V> &kept, Pointer p) {
  const Vec<T, Width> loaded = load<Width>(p);
  FUSEC_UNROLL
  for (int lane = 0; lane < Width; ++lane)
    kept[lane] = loaded[lane];
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_SPAN_H
