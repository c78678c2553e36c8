// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that a worker's registers hold: loaded once, whatever is computed of
// them.

#ifndef FUSEC_KERNELS_REDUCE_KEPT_H
#define FUSEC_KERNELS_REDUCE_KEPT_H

#include "reduce.h"

namespace fusec {

/// Accesses of a row that a worker holds where each of a group takes `Steps`.
template <class Scope, int Steps>
constexpr int keptSteps = Steps *launch::workersOf(Scope::maxSize);

namespace detail {
/// Where in a row of `count` items the worker's step begins. Workers take
/// turns; but of rows of which all have as many items each block has a part
/// that lies side by side, as it fetches it.
template <class Scope, int V, int Steps, class Index>
FUSEC_DEVICE Index placeOfStep(int step, Index count) {
  if constexpr (isOfBlocks<Scope> && launch::workersOf(2) == 1)
    if (Index(Steps) * Index(Scope::size()) * V == count)
      return ((Index(Scope::block()) * Steps + step) * Scope::threads +
              launch::thread()) *
             V;
  return Index(step * Scope::size() + Scope::rank()) * V;
}
/// Whether a worker has the step at `k`. Of steps that all workers have, a free
/// one does not ask, so that nothing is under a condition.
template <class Scope, int V, bool IsFree, class Index>
FUSEC_DEVICE bool hasStep(int step, Index k, Index count) {
  return (IsFree && Index(step + 1) * Index(Scope::size()) * V <= count) ||
         k < count;
}
} // namespace detail

/// Calls body(step, k) for the worker's vectors of [0, count), a whole number
/// of them. Steps are known when compiling, so that they index registers.
/// `IsFree`: the compiler may order them as it likes.
template <class Scope, int V, int Steps, bool IsFree = false, class Index,
          class Body>
FUSEC_DEVICE void forEachKept(Index count, Body body) {
  FUSEC_UNROLL
  for (int step = 0; step < keptSteps<Scope, Steps>; ++step) {
    const Index k = detail::placeOfStep<Scope, V, Steps>(step, count);
    if (detail::hasStep<Scope, V, IsFree>(step, k, count))
      body(step, k);
  }
}

namespace detail {
/// Begins `Count` of the `Steps`, from `step` on, and goes on with each that is
/// there once `Window` others behind it have begun. What is not there loads
/// what the worker's first one does.
template <class Scope, int V, int Steps, int Count, int Window, bool IsFree,
          class Index, class Body, class... Begun>
FUSEC_DEVICE void beginKept(int step, Index count, Body body, Begun... begun);

template <class Scope, int V, int Steps, int Count, int Window, bool IsFree,
          class Index, class Body, class First, class... Begun>
FUSEC_DEVICE void finishKept(int step, Index count, Body body, First first,
                             Begun... begun) {
  first();
  beginKept<Scope, V, Steps, Count, Window, IsFree>(step, count, body,
                                                    begun...);
}

template <class Scope, int V, int Steps, int Count, int Window, bool IsFree,
          class Index, class Body, class... Begun>
FUSEC_DEVICE void beginKept(int step, Index count, Body body, Begun... begun) {
  if constexpr (Count == 0) {
    (begun(), ...);
  } else {
    const Index own = placeOfStep<Scope, V, Steps>(0, count),
                k = placeOfStep<Scope, V, Steps>(step, count);
    const bool isThere = hasStep<Scope, V, IsFree>(step, k, count);
    auto rest = body(step, isThere ? k : own);
    auto next = [=]() mutable {
      if (isThere)
        rest();
    };
    if constexpr (sizeof...(Begun) < Window)
      beginKept<Scope, V, Steps, Count - 1, Window, IsFree>(
          step + 1, count, body, begun..., next);
    else
      finishKept<Scope, V, Steps, Count - 1, Window, IsFree>(
          step + 1, count, body, begun..., next);
  }
}
} // namespace detail

/// forEachKept of a body that loads and returns what is left to do: `Window`
/// more steps load before one goes on, since no load passes a store that may be
/// to the same place.
template <class Scope, int Window, int V, int Steps, bool IsFree = false,
          class Index, class Body>
FUSEC_DEVICE void forEachKeptBehindLoads(Index count, Body body) {
  if (!detail::hasStep<Scope, V, IsFree>(0, Index(Scope::rank()) * V, count))
    return;
  // On the host a worker does what others do here, too.
  for (int step = 0; step < keptSteps<Scope, Steps>; step += Steps)
    detail::beginKept<Scope, V, Steps, Steps, Window, IsFree>(step, count,
                                                              body);
}

/// Combines what body(step, k, add) adds; every worker gets the result.
template <class Scope, class Op, int V, int Steps, bool IsFree = false,
          class Index, class Body>
FUSEC_DEVICE typename Op::Value reduceKept(Index count, Body body) {
  typename Op::Value total = Op::identity();
  auto add = [&](typename Op::Value value) {
    total = Op::combine(total, value);
  };
  auto addStep = [&](int step, auto... at) { body(step, at..., add); };
  if constexpr (IsFree)
    forEachKept<Scope, V, Steps, true>(count, addStep);
  else // Of a span, too.
    forEachKept<Scope, V, Steps>(count, addStep);
  return Scope::template reduce<Op>(total);
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_KEPT_H
