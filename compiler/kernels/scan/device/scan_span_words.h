// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of rows that begin anywhere in memory: parts begin with memory's
// vectors, so that the first may begin before its row, and the last may end
// behind it.

#ifndef FUSEC_KERNELS_SCAN_SPAN_WORDS_H
#define FUSEC_KERNELS_SCAN_SPAN_WORDS_H

#include "reduce_span.h"
#include "scan_words.h"

namespace fusec {

namespace detail {
/// Calls body(k, width, lane) for the V items at k that the span has: for all
/// of them, or for each, which is `lane` of the vector.
template <int V, class Index, class Body>
FUSEC_DEVICE void forEachInside(Span<Index> span, Index k, Body body) {
  if (span.begin <= k && k + V <= span.end)
    return body(k, Width<V>(), 0);
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane)
    if (span.begin <= k + lane && k + lane < span.end)
      body(k + lane, Width<1>(), lane);
}
} // namespace detail

/// scanChainOfRow of the items of `span`, which lie in the `length` ones from
/// `first` on: load(k, width, put) and store(k, width, sums) as of scanSpan.
/// Of those `IsFull` says that every thread has all of its vectors.
template <class Scope, class Form, int Steps, bool IsFull, class Chain,
          class Index, class Load, class Store, class Fetch>
FUSEC_DEVICE void scanChainOfSpan(Chain &chain, Index first, Index length,
                                  Span<Index> span, Load load, Store store,
                                  Fetch fetch) {
  constexpr int V = Form::vector;
  // All parts but the first and the last of a row: nothing is asked of their
  // vectors.
  if (span.begin == first && span.end == first + length)
    return scanChainOfRow<Scope, Form, Steps, IsFull>(
        chain, length,
        [&](Index k, auto put) { load(first + k, Width<V>(), put); },
        [&](Index k, const auto &sums) { store(first + k, Width<V>(), sums); },
        fetch);
  scanChainOfRow<Scope, Form, Steps, false>(
      chain, length,
      [&](Index k, auto put) {
        detail::forEachInside<V>(
            span, first + k, [&](Index at, auto width, int from) {
              load(at, width,
                   [&](int lane, auto value) { put(from + lane, value); });
            });
      },
      [&](Index k, const auto &sums) {
        detail::forEachInside<V>(span, first + k,
                                 [&](Index at, auto width, int from) {
                                   constexpr int W = decltype(width)::value;
                                   Vec<typename Form::Op::Value, W> own;
                                   FUSEC_UNROLL
                                   for (int lane = 0; lane < W; ++lane)
                                     own[lane] = sums[from + lane];
                                   store(at, width, own);
                                 });
      },
      fetch);
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_SPAN_WORDS_H
