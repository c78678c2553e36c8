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
/// computed again to find the one.
template <class Scope, class Op, int V, class Count, class Body>
FUSEC_DEVICE typename Op::Value findInRow(Count count, Body body) {
  typedef decltype(beginOf(count)) Index;
  typedef decltype(Op::Value::value) Element;
  typename Op::Value found = Op::identity();
  Index at = -1;
  forEachVectorAtOnce<Scope, V, 4>(count, [&](auto base, auto width) {
    constexpr int W = decltype(width)::value;
    Element values[W];
    body(base, width, [&](int lane, Element value) { values[lane] = value; });
    FUSEC_UNROLL
    for (int step = 1; step < W; step *= 2)
      FUSEC_UNROLL
    for (int lane = 0; lane < W; lane += 2 * step)
      values[lane] = Op::extreme(values[lane], values[lane + step]);
    const bool takes = Op::takesPlace(values[0], found.value);
    found.value = takes ? values[0] : found.value;
    at = takes ? base : at;
  });
  found.index = at;
  found = Scope::template reduce<Op>(found);
  if (found.index < 0)
    return {found.value, 0};
  at = Index(found.index);
  Element most = Op::least();
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane) {
    const Index k = min(Index(found.index) + lane, endOf(count) - 1);
    body(k, Width<1>(), [&](int, Element value) {
      const bool takes = Op::takesPlace(value, most);
      most = takes ? value : most;
      at = takes ? k : at;
    });
  }
  return {most, at - beginOf(count)};
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_PLACES_H
