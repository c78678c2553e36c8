// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each of the workers on one row does of it: single items, vectors, and
// several of both whose loads are on their way together.

#ifndef FUSEC_DEVICE_REDUCE_STEPS_H
#define FUSEC_DEVICE_REDUCE_STEPS_H

#include "vector.h"

namespace fusec {

template <int Lanes> struct LanesScope;
template <class Scope> constexpr bool isPartOfWarp = false;
template <int Lanes> constexpr bool isPartOfWarp<LanesScope<Lanes>> = true;
/// Whether turns do not know how far apart a worker's items are. Who knows
/// keeps an address for each of them, instead of one, and unrolls turns: twice
/// the registers and up to five times the code.
template <class Scope> constexpr bool hidesStep = false;

/// The worker's rank, of which the compiler knows that it is one.
template <class Scope> FUSEC_DEVICE int knownRank() {
  const int rank = Scope::rank();
  primitive::assume(rank >= 0 && rank < Scope::maxSize);
  return rank;
}

/// Calls body(i) for this worker's share of [0, count).
template <class Scope, class Index, class Body>
FUSEC_DEVICE void forEachIn(Index count, Body body) {
  for (Index i = Index(knownRank<Scope>()); i < count;
       i += Index(Scope::size()))
    body(i);
}

/// The same by vectors: calls body(base, width) for V neighbours and, where
/// `count` is not a multiple of V, for single items of the tail;
/// decltype(width)::value is V or 1.
template <class Scope, int V, class Index, class Body>
FUSEC_DEVICE void forEachVectorIn(Index count, Body body) {
  Index whole = count / V;
  forEachIn<Scope>(whole, [&](Index i) { body(i * V, Width<V>()); });
  if constexpr (V > 1)
    forEachIn<Scope>(count - whole * V,
                     [&](Index i) { body(whole * V + i, Width<1>()); });
}

namespace detail {
/// `Steps` of the worker's items from `begin` on, `step` apart.
template <int Steps, class Scope, class Index, class Body>
FUSEC_DEVICE void takeTogether(Index begin, Index step, Body body) {
  const Index k = begin + Index(knownRank<Scope>());
  FUSEC_UNROLL
  for (int s = 0; s < Steps; ++s)
    body(k + s * step);
}

/// What is left of [begin, count) by halves of what was taken together: as many
/// for all workers, or by what each has left, `Own`, so that one with an item
/// more than others asks for it beside the one before.
template <int Steps, class Scope, bool Own, class Index, class Body>
FUSEC_DEVICE void takeRest(Index begin, Index count, Index step, Body body) {
  if constexpr (Steps > 0) {
    Index least = Steps * step;
    if constexpr (Own)
      least += Index(knownRank<Scope>()) + 1 - step;
    if (least <= count - begin) {
      takeTogether<Steps, Scope>(begin, step, body);
      begin += Steps * step;
    }
    takeRest<Steps / 2, Scope, Own>(begin, count, step, body);
  } else if (Index(knownRank<Scope>()) < count - begin) {
    takeTogether<1, Scope>(begin, step, body);
  }
}
} // namespace detail

/// Calls body(k) for the worker's share of [0, count), `Steps` at a time: with
/// nothing to decide in between, their loads are on their way together. How
/// often is the same for all workers, so that the compiler knows it where it
/// knows how many items there are. `Own` is for workers whose warps have one
/// rank each and unequal shares: means of GELUs of 197 took 1 to 2% less.
template <int Steps, class Scope, bool Own = false, class Index, class Body>
FUSEC_DEVICE void forEachStep(Index count, Body body) {
  int size = Scope::size();
  if constexpr (hidesStep<Scope>)
    size = primitive::opaque(size);
  const Index step = Index(size);
  Index begin = 0;
  auto together = [&] {
    detail::takeTogether<Steps, Scope>(begin, step, body);
    begin += Steps * step;
  };
  if constexpr (isPartOfWarp<Scope>) {
    // Of rows this short, turns beside each other take more registers than
    // they save time.
    FUSEC_UNROLL_BY(1)
    while (Steps * step <= count - begin)
      together();
  } else {
    while (Steps * step <= count - begin)
      together();
  }
  detail::takeRest<Steps / 2, Scope, Own>(begin, count, step, body);
}

/// Steps whose loads are on their way together.
constexpr int stepsAtOnce = 8;
/// The same of steps of V items: blocks of 1024 threads have registers for 16.
template <int V>
constexpr int vectorsAtOnce = V < 2    ? stepsAtOnce
                              : V < 16 ? 16 / V
                                       : 1;

/// forEachVectorIn with the loads of `Steps` vectors on their way together.
template <class Scope, int V, int Steps, class Index, class Body>
FUSEC_DEVICE void forEachVectorAtOnce(Index count, Body body) {
  const Index whole = count / V;
  forEachStep<Steps, Scope>(whole, [&](Index i) { body(i * V, Width<V>()); });
  if constexpr (V > 1)
    forEachIn<Scope>(count - whole * V,
                     [&](Index i) { body(whole * V + i, Width<1>()); });
}

} // namespace fusec

#endif // FUSEC_DEVICE_REDUCE_STEPS_H
