// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The largest value of a row and the sum of all exponentials below it, found in
// one pass: where a larger one comes, the sum so far is scaled to it.

#ifndef FUSEC_KERNELS_REDUCE_ONLINE_H
#define FUSEC_KERNELS_REDUCE_ONLINE_H

#include "reduce.h"

namespace fusec {

struct PreciseExp {
  static FUSEC_DEVICE float of(float x) { return exp(x); }
};
struct FastExp {
  static FUSEC_DEVICE float of(float x) { return fast::exp(x); }
};

/// A combiner like those of reduce.h.
template <class ExpOf> struct OnlineSum {
  typedef MostAndSum Value;
  typedef ExpOf Exp;
  static FUSEC_DEVICE Value identity() {
    return {detail::lowestOf<float>(), 0.0f};
  }
  static FUSEC_DEVICE bool isInfinite(float x) {
    return absolute(x) == detail::highestOf<float>();
  }
  /// What exponentials are below, of such a largest value.
  static FUSEC_DEVICE float getFrom(float most) {
    return isInfinite(most) ? 0.0f : most;
  }
  /// What two passes give: a sum that is NaN where the largest value is
  /// infinite, or with `isFinite` one of exponentials of the items themselves.
  template <bool isFinite> static FUSEC_DEVICE Value getResult(Value total) {
    if (!isFinite)
      total.sum += total.most - total.most;
    return total;
  }
  /// exp(x - most) of x <= most, which may both be infinite.
  static FUSEC_DEVICE float below(float x, float most) {
    return x == most ? 1.0f : Exp::of(x - most);
  }
  static FUSEC_DEVICE Value combine(Value a, Value b) {
    const float most = maxNan(a.most, b.most);
    return {most, a.sum * below(a.most, most) + b.sum * below(b.most, most)};
  }
  template <int V>
  static FUSEC_DEVICE Value add(Value total, const Vec<float, V> &values) {
    float most = total.most;
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i)
      most = maxNan(most, values[i]);
    float sum = total.sum * below(total.most, most);
    const float from = getFrom(most);
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i)
      sum += Exp::of(values[i] - from);
    return {most, sum};
  }
};

/// Whether a row has no items.
template <class Index> FUSEC_DEVICE bool isEmptyRow(Index count) {
  return count <= 0;
}

/// body(base, width, add) calls add(lane, value) for each of the items that
/// forEachVectorIn would give it. Every worker gets the combiner's result.
template <class Scope, class Op, int V, bool isFinite = false, class Count,
          class Body>
FUSEC_DEVICE MostAndSum reduceOnline(Count count, Body body) {
  MostAndSum total = Op::identity();
  forEachVectorAtOnce<Scope, V, 4>(count, [&](auto base, auto width) {
    Vec<float, decltype(width)::value> values;
    body(base, width, [&](int lane, float value) { values[lane] = value; });
    total = Op::add(total, values);
  });
  total = Scope::template reduce<Op>(total);
  return isEmptyRow(count) ? total : Op::template getResult<isFinite>(total);
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_ONLINE_H
