// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where along a row its extreme is, found lane by lane of vectors.

#ifndef FUSEC_KERNELS_REDUCE_PLACES_H
#define FUSEC_KERNELS_REDUCE_PLACES_H

#include "reduce.h"

namespace fusec {

/// Where a row begins, and where it ends.
template <class Index> FUSEC_DEVICE Index beginOf(Index) { return 0; }
template <class Index> FUSEC_DEVICE Index endOf(Index count) { return count; }

/// reduceRowVectors of ArgExtremes: body(base, width, add) calls
/// add(lane, value). Of nothing, or of values that are all the least, it is the
/// first place.
///
/// Which vector has it is found first, by one comparison each; its items are
/// computed again, one by each of as many workers, to find the one.
template <class Scope, class Op, int V, class Count, class Body>
FUSEC_DEVICE typename Op::Value findInRow(Count count, Body body) {
  typedef decltype(beginOf(count)) Index;
  typedef typename Op::template Of<Index> Find;
  typedef decltype(Op::Value::value) Element;
  // Single items of a span come before its vectors, wherever they lie.
  typename Find::Value found = Find::identity(), single = found;
  forEachVectorAtOnce<Scope, V, 4>(count, [&](auto base, auto width) {
    constexpr int W = decltype(width)::value;
    Element values[W];
    body(base, width, [&](int lane, Element value) { values[lane] = value; });
    FUSEC_UNROLL
    for (int step = 1; step < W; step *= 2)
      FUSEC_UNROLL
    for (int lane = 0; lane < W; lane += 2 * step)
      values[lane] = Op::extreme(values[lane], values[lane + step]);
    auto &mine = W == 1 && V > 1 ? single : found;
    const bool takes = Op::takesPlace(values[0], mine.value);
    mine.value = takes ? values[0] : mine.value;
    mine.index = takes ? base : mine.index;
  });
  if constexpr (V > 1)
    found = Find::combine(found, single);
  found = Scope::template reduce<Find>(found);
  constexpr int together = Scope::maxSize < V ? 1 : V,
                workers = together / launch::workersOf(together);
  typename Find::Value item = {Op::least(), found.index};
  FUSEC_UNROLL
  for (int lane = 0; lane < V; lane += workers) {
    const Index k = min(found.index + Index(Scope::rank() % workers + lane),
                        endOf(count) - 1);
    // Of a warp's groups some may have no items.
    if (found.index >= 0)
      body(k, Width<1>(), [&](int, Element value) {
        const bool takes = Op::takesPlace(value, item.value);
        item.value = takes ? value : item.value;
        item.index = takes ? k : item.index;
      });
  }
  item = reduceLanes<Find, together>(item);
  return {item.value, item.index < 0 ? 0 : item.index - beginOf(count)};
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_PLACES_H
