// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums of rows that a cluster's blocks hold in registers: a block
// loads its share of a row at once, and gets the sums of the other blocks by
// shared memory, so that nobody waits for what goes through L2.

#ifndef FUSEC_KERNELS_SCAN_CLUSTER_H
#define FUSEC_KERNELS_SCAN_CLUSTER_H

#include "reduce_cluster.h"
#include "scan_span.h"

namespace fusec {

namespace detail {
/// scanTiles of `vectors` that the cluster holds, `Steps` a thread: those of a
/// warp follow one another, and those of a block. `IsFull` says that every
/// thread has all of them.
template <class Scope, class Form, int Steps, bool IsFull, class Index, class T,
          class Load, class Store>
FUSEC_DEVICE void scanOfCluster(Index vectors, T &carry, Load load,
                                Store store) {
  typedef typename Form::Op Op;
  constexpr int steps = Steps * launch::workersOf(Scope::maxSize),
                most = (Scope::threads + 31) / 32,
                warps = most / launch::workersOf(most);
  FUSEC_SHARED T ofWarps[warps];
  typename Form::Items items[steps];
  T sums[steps], with[steps], total = T(0);
  const Index first = Index((Scope::block() * warps + launch::warp()) * steps) *
                          launch::lanes() +
                      launch::lane();
  auto forEachOwn = [&](auto body) {
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const Index i = first + s * launch::lanes();
      body(s, IsFull || i < vectors, i);
    }
  };
  auto getPlace = [&](Index i) {
    return Form::isReverse ? vectors - 1 - i : i;
  };
  // Who has none loads the last one: loads under a condition would be merged
  // with what is there else, and waited for at once.
  forEachOwn([&](int s, bool isThere, Index i) {
    load(getPlace(isThere ? i : vectors - 1),
         [&](int lane, auto value) { items[s][lane] = value; });
  });
  // Else the last are loaded when the first have come: 2047 rows of 50257
  // halves took 126 us for 106.
  launch::warpBarrier();
  forEachOwn([&](int s, bool isThere, Index) {
    const T sum = isThere ? Form::sum(items[s]) : T(0);
    sums[s] = sumLanesBefore(sum);
    with[s] = Op::combine(sums[s], sum);
  });
  const T ofWarp = sumStepsBefore<Op>(sums, with);
  if (launch::lane() == 0)
    ofWarps[launch::warp()] = ofWarp;
  launch::barrier();
  const T ofBlock = sumPlacesBefore<Op>(ofWarps, launch::warp(), total);
  T all[Scope::blocks];
  Scope::exchange(total, all);
  const T before = sumPlacesBefore<Op>(all, Scope::block(), carry),
          own = Op::combine(before, ofBlock);
  forEachOwn([&](int s, bool isThere, Index i) {
    if (isThere)
      store(getPlace(i), Form::scan(items[s], Op::combine(own, sums[s])));
  });
}
} // namespace detail

/// Calls body(row), each row by one cluster of the grid: a loop over rows would
/// take registers.
template <class Scope, class Body>
FUSEC_DEVICE void takeRowOfCluster(Body body) {
  if (launch::lanes() == 1 && Scope::rank() != 0)
    return;
  Scope::begin();
  body(Scope::group());
  Scope::end();
}

/// scanRow of a row that the cluster holds.
template <class Scope, class Form, int Steps, bool IsFull, class Index,
          class Load, class Store>
FUSEC_DEVICE void scanRowOfCluster(Index count, Load load, Store store) {
  constexpr int V = Form::vector;
  typename Form::Op::Value carry(0);
  detail::scanOfCluster<Scope, Form, Steps, IsFull>(
      count / V, carry, [&](Index i, auto put) { load(i * V, put); },
      [&](Index i, const auto &sums) { store(i * V, sums); });
}

/// scanSpan of a span that the cluster holds. Head and tail are loaded by all
/// blocks, and stored by the first and the last one.
template <class Scope, class Form, int Steps, class Index, class Load,
          class Store>
FUSEC_DEVICE void scanSpanOfCluster(Span<Index> span, Load load, Store store) {
  auto storeBy = [&](int block) {
    return [&store, block](Index k, auto width, const auto &sums) {
      if (Scope::block() == block)
        store(k, width, sums);
    };
  };
  detail::scanSpanParts<Form>(
      span, load, store, storeBy(0), storeBy(Scope::blocks - 1),
      [](Index vectors, auto &carry, auto loadVector, auto storeVector) {
        detail::scanOfCluster<Scope, Form, Steps, false>(
            vectors, carry, loadVector, storeVector);
      });
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_CLUSTER_H
