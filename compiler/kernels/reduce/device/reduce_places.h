// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where along a row its extreme is, found lane by lane of vectors.

#ifndef FUSEC_KERNELS_REDUCE_PLACES_H
#define FUSEC_KERNELS_REDUCE_PLACES_H

#include "reduce.h"

namespace fusec {

/// Where a row begins.
template <class Index> FUSEC_DEVICE Index beginOf(Index) { return 0; }

/// The extremes of a worker's items, a lane of its vectors each: with one for
/// all, each would wait for the one before.
template <class Op, int V, class Index> struct LaneExtremes {
  typedef decltype(Op::Value::value) Element;
  Element value[V];
  Index at[V]; // -1: nothing exceeds the least of all

  FUSEC_DEVICE LaneExtremes() {
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane) {
      value[lane] = Op::least();
      at[lane] = -1;
    }
  }
  FUSEC_DEVICE void take(int lane, Element v, Index place) {
    const bool takes = Op::takesPlace(v, value[lane]);
    value[lane] = takes ? v : value[lane];
    at[lane] = takes ? place : at[lane];
  }
  FUSEC_DEVICE typename Op::Value get() const {
    typename Op::Value total = Op::identity();
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      total = Op::combine(total, {value[lane], at[lane]});
    return total;
  }
};

/// reduceRowVectors of ArgExtremes: body(base, width, add) calls
/// add(lane, value). Of nothing, or of values that are all the least, it is the
/// first place.
template <class Scope, class Op, int V, class Count, class Body>
FUSEC_DEVICE typename Op::Value findInRow(Count count, Body body) {
  LaneExtremes<Op, V, decltype(beginOf(count))> found;
  forEachVectorAtOnce<Scope, V, 4>(count, [&](auto base, auto width) {
    body(base, width,
         [&](int lane, auto value) { found.take(lane, value, base + lane); });
  });
  auto total = Scope::template reduce<Op>(found.get());
  total.index = total.index < 0 ? 0 : total.index - beginOf(count);
  return total;
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_PLACES_H
