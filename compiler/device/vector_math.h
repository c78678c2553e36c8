// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What takes less time of all elements of a vector than of one after another.

#ifndef FUSEC_DEVICE_VECTOR_MATH_H
#define FUSEC_DEVICE_VECTOR_MATH_H

#include "vector.h"

namespace fusec {

namespace detail {
/// any(x) of each element, where near(x) is the same of angles that are near.
/// The compiler moves nothing across a branch, so all elements have one; behind
/// it any() stands once, in a loop that keeps to registers because the elements
/// move on instead of an index.
template <int V, class Near, class Any>
FUSEC_DEVICE auto ofAngles(Vec<float, V> x, Near near, Any any)
    -> Vec<decltype(near(x[0])), V> {
  Vec<decltype(near(x[0])), V> y;
  bool areNear = true;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    y[i] = near(x[i]);
    areNear = areNear && fast::isNear(x[i]);
  }
  if (areNear)
    return y;
  FUSEC_UNROLL_BY(1)
  for (int turn = 0; turn < V; ++turn) {
    const auto next = any(x[0]);
    FUSEC_UNROLL
    for (int i = 1; i < V; ++i) {
      x[i - 1] = x[i];
      y[i - 1] = y[i];
    }
    y[V - 1] = next;
  }
  return y;
}
} // namespace detail

namespace detail {
/// Of a vector, or of a value that is the same for all elements.
template <int N>
FUSEC_DEVICE float elementOf(const Vec<float, N> &vector, int i) {
  return vector[i];
}
FUSEC_DEVICE float elementOf(float value, int) { return value; }

template <int V>
FUSEC_DEVICE bool areBetween(float value, float least, float most) {
  return value > least && value < most;
}
template <int V, int N>
FUSEC_DEVICE bool areBetween(const Vec<float, N> &vector, float least,
                             float most) {
  float smallest = vector[0], largest = vector[0];
  FUSEC_UNROLL
  for (int i = 1; i < V; ++i) {
    smallest = minNan(smallest, vector[i]);
    largest = maxNan(largest, vector[i]);
  }
  return smallest > least && largest < most;
}

/// x / y of the first V elements, one after another. It stands once in the
/// text: elements move on, since none has an index in registers.
template <int V, int N, class Divisor>
FUSEC_DEVICE Vec<float, V> divideEach(Vec<float, N> x, const Divisor &y) {
  Vec<float, V> quotients, divisors;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    divisors[i] = elementOf(y, i);
  FUSEC_UNROLL_BY(1)
  for (int turn = 0; turn < V; ++turn) {
    const float quotient = x[0] / divisors[0];
    FUSEC_UNROLL
    for (int i = 1; i < V; ++i) {
      x[i - 1] = x[i];
      divisors[i - 1] = divisors[i];
      quotients[i - 1] = quotients[i];
    }
    quotients[V - 1] = quotient;
  }
  return quotients;
}
} // namespace detail

/// x / y of the first V elements, the same bits but for x of less than 2^-100,
/// of which the last may differ. A division has a branch of its own, for
/// numbers that are too large or too small; all elements have one here, and the
/// reciprocal of what they share is found once.
template <int V, int N, class Divisor>
FUSEC_DEVICE Vec<float, V> divide(const Vec<float, N> &x, const Divisor &y) {
  float most = 0;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    most = maxNan(most, absolute(x[i]));
  if (!(most < 0x1p60f && detail::areBetween<V>(y, 0x1p-40f, 0x1p40f)))
    return detail::divideEach<V>(x, y);
  Vec<float, V> quotients;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    const float divisor = detail::elementOf(y, i),
                near = primitive::reciprocalApproximate(divisor),
                inverse =
                    multiplyAdd(multiplyAdd(-divisor, near, 1.0f), near, near),
                quotient = x[i] * inverse;
    quotients[i] =
        multiplyAdd(-multiplyAdd(divisor, quotient, -x[i]), inverse, quotient);
  }
  return quotients;
}

/// Element by element the same bits as the functions of one angle.
namespace fast {
template <int V> FUSEC_DEVICE Vec<float, V> sin(const Vec<float, V> &x) {
  return detail::ofAngles(
      x, [](float angle) { return sinNear(angle); },
      [](float angle) { return sin(angle); });
}
template <int V> FUSEC_DEVICE Vec<float, V> cos(const Vec<float, V> &x) {
  return detail::ofAngles(
      x, [](float angle) { return cosNear(angle); },
      [](float angle) { return cos(angle); });
}
template <int V>
FUSEC_DEVICE SineAndCosine<Vec<float, V>> sinCos(const Vec<float, V> &x) {
  const auto each = detail::ofAngles(
      x, [](float angle) { return sinCosNear(angle); },
      [](float angle) { return sinCos(angle); });
  SineAndCosine<Vec<float, V>> both;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    both.sine[i] = each[i].sine;
    both.cosine[i] = each[i].cosine;
  }
  return both;
}
} // namespace fast

} // namespace fusec

#endif // FUSEC_DEVICE_VECTOR_MATH_H
