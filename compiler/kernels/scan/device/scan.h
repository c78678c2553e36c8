// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums in one pass and a fixed order: whoever works on a row takes a
// tile of it at a time, sums its own items, adds what lies before them in the
// tile, and carries the tile's sum to the next one.

#ifndef FUSEC_KERNELS_SCAN_H
#define FUSEC_KERNELS_SCAN_H

#include "reduce_columns.h"
#include "scan_config.h"

namespace fusec {

/// What is summed: values of T, kept as items, by vectors of V, from the end
/// where `Reverse`, without each item itself where `Exclusive`.
template <class T, int V, bool Reverse, bool Exclusive, class Kept = T>
struct ScanForm {
  typedef Sum<T> Op;
  typedef Kept Item;
  typedef Vec<T, V> Vector;
  typedef Vec<Item, V> Items;
  static constexpr int vector = V;
  static constexpr bool isReverse = Reverse;
  /// The sum of the items of a vector.
  static FUSEC_DEVICE T sum(const Items &items) {
    T total = T(0);
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i)
      total = Op::combine(total, cast<T>(items[Reverse ? V - 1 - i : i]));
    return total;
  }
  static FUSEC_DEVICE T choose(T before, T with) {
    return Exclusive ? before : with;
  }
  /// The sums at the items of a vector behind others that give `before`.
  static FUSEC_DEVICE Vector scan(const Items &items, T before) {
    Vector sums;
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i) {
      const int at = Reverse ? V - 1 - i : i;
      const T with = Op::combine(before, cast<T>(items[at]));
      sums[at] = choose(before, with);
      before = with;
    }
    return sums;
  }
};

namespace detail {
/// What a worker takes of a tile: forEachOwn(body(s, isThere, k)) says of each
/// of its vectors whether there is one, and where.
template <class Items, int Steps, class Own, class Load>
FUSEC_DEVICE void loadOwn(Items (&items)[Steps], Own forEachOwn, Load load) {
  forEachOwn([&](int s, bool isThere, auto k) {
    items[s] = {};
    if (isThere)
      load(k, [&](int lane, auto value) { items[s][lane] = value; });
  });
}

/// The sum of `value` over the lanes before this one.
template <class T> FUSEC_DEVICE T sumLanesBefore(T value) {
  if (launch::lanes() == 1)
    return T(0);
  T sum = value;
  FUSEC_UNROLL
  for (int distance = 1; distance < 32; distance *= 2) {
    const T other = primitive::shuffle(sum, launch::lane() - distance);
    if (launch::lane() >= distance)
      sum = Sum<T>::combine(other, sum);
  }
  const T before = primitive::shuffle(sum, launch::lane() - 1);
  return launch::lane() ? before : T(0);
}

/// Where a warp's steps follow one another: what is before a lane in each step,
/// and that `with` its own, makes what is before it in the warp, whose sum it
/// returns.
template <class Op, class T, int Steps>
FUSEC_DEVICE T sumStepsBefore(T (&sums)[Steps], const T (&with)[Steps]) {
  T ofWarp = T(0);
  FUSEC_UNROLL
  for (int s = 0; s < Steps; ++s) {
    sums[s] = Op::combine(ofWarp, sums[s]);
    ofWarp =
        Op::combine(ofWarp, primitive::shuffle(with[s], launch::lanes() - 1));
  }
  return ofWarp;
}

/// What is before the one at `place`, of sums that follow `carry`, which is
/// then behind all of them.
template <class Op, class T, int Count>
FUSEC_DEVICE T sumPlacesBefore(const T (&sums)[Count], int place, T &carry) {
  T before = carry;
  FUSEC_UNROLL
  for (int i = 0; i < Count; ++i) {
    if (i == place)
      before = carry;
    carry = Op::combine(carry, sums[i]);
  }
  return before;
}

/// Turns the sums of each step of the scope's workers into those of all that is
/// before; `carry` is what is before the tile, and then behind it. The steps of
/// a scope follow one another.
template <class Scope, class T, int Steps>
FUSEC_DEVICE void sumBefore(T (&sums)[Steps], T &carry) {
  constexpr int most = (Scope::maxSize + 31) / 32,
                warps = most / launch::workersOf(most);
  FUSEC_SHARED T ofWarps[Steps][most];
  T before[Steps];
  if constexpr (most > 1)
    Scope::barrier(); // Those of the previous tile have been read.
  FUSEC_UNROLL
  for (int step = 0; step < Steps; ++step) {
    before[step] = sumLanesBefore(sums[step]);
    sums[step] = Sum<T>::combine(before[step], sums[step]);
    if (most > 1 && launch::lane() == launch::lanes() - 1)
      ofWarps[step][launch::warp()] = sums[step];
  }
  if constexpr (most > 1)
    Scope::barrier();
  FUSEC_UNROLL
  for (int step = 0; step < Steps; ++step) {
    T own = carry;
    FUSEC_UNROLL
    for (int warp = 0; warp < warps; ++warp) {
      if (most > 1 && warp == launch::warp())
        own = carry;
      carry =
          Sum<T>::combine(carry, most > 1 ? ofWarps[step][warp]
                                          : primitive::shuffle(sums[step], 31));
    }
    sums[step] = Sum<T>::combine(own, before[step]);
  }
}

/// Calls load(i, put) and store(i, sums) for `vectors` vectors of a row;
/// `carry` is what is before them, and then behind. The next tile's are on
/// their way while one is summed.
template <class Scope, class Form, class Index, class T, class Load,
          class Store>
FUSEC_DEVICE void scanTiles(Index vectors, T &carry, Load load, Store store) {
  const Index tile = Index(Scope::size()) * scanSteps;
  typename Form::Items items[scanSteps], next[scanSteps];
  auto forEachOwn = [&](Index first, auto body) {
    FUSEC_UNROLL
    for (int s = 0; s < scanSteps; ++s)
      body(s, first + Index(s * Scope::size() + Scope::rank()));
  };
  auto getPlace = [&](Index i) {
    return Form::isReverse ? vectors - 1 - i : i;
  };
  // Behind the last one it is loaded again: loads under a condition would be
  // merged with what is there else, and waited for at once.
  auto loadTile = [&](Index first, auto &into) {
    forEachOwn(first, [&](int s, Index i) {
      load(getPlace(i < vectors ? i : vectors - 1),
           [&](int lane, auto value) { into[s][lane] = value; });
    });
  };
  if (vectors <= 0)
    return;
  loadTile(0, items);
  for (Index first = 0; first < vectors; first += tile) {
    T sums[scanSteps];
    loadTile(first + tile, next);
    forEachOwn(first, [&](int s, Index i) {
      sums[s] = i < vectors ? Form::sum(items[s]) : T(0);
    });
    sumBefore<Scope>(sums, carry);
    forEachOwn(first, [&](int s, Index i) {
      if (i < vectors)
        store(getPlace(i), Form::scan(items[s], sums[s]));
    });
    FUSEC_UNROLL
    for (int s = 0; s < scanSteps; ++s)
      items[s] = next[s];
  }
}
} // namespace detail

/// Calls load(k, put), which calls put(lane, value), and store(k, sums) for the
/// vectors of a row of `count` items, a whole number of them.
template <class Scope, class Form, class Index, class Load, class Store>
FUSEC_DEVICE void scanRow(Index count, Load load, Store store) {
  constexpr int V = Form::vector;
  typename Form::Op::Value carry(0);
  detail::scanTiles<Scope, Form>(
      count / V, carry, [&](Index i, auto put) { load(i * V, put); },
      [&](Index i, const auto &sums) { store(i * V, sums); });
}

/// The same of columns, one vector of them: groups of threads take rows of a
/// tile that follow one another.
template <class Scope, class Form, class Index, class Load, class Store>
FUSEC_DEVICE void scanColumns(Index count, bool isMine, Load load,
                              Store store) {
  constexpr int V = Form::vector;
  typedef typename Form::Op Op;
  typedef typename Op::Value T;
  FUSEC_SHARED T ofGroups[V][Scope::threads];
  const Index tile = Index(Scope::size()) * scanSteps;
  typename Form::Vector carry = {};
  for (Index first = 0; first < count; first += tile) {
    typename Form::Items items[scanSteps];
    typename Form::Vector before = carry;
    auto forEachOwn = [&](auto body) {
      FUSEC_UNROLL
      for (int s = 0; s < scanSteps; ++s) {
        const Index k = first + Index(Scope::rank()) * scanSteps + s;
        body(s, isMine && k < count, Form::isReverse ? count - 1 - k : k);
      }
    };
    detail::loadOwn(items, forEachOwn, load);
    if constexpr (Scope::maxSize > 1)
      Scope::barrier(); // The previous tile's have been read.
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane) {
      T sum = T(0);
      FUSEC_UNROLL
      for (int s = 0; s < scanSteps; ++s)
        sum = Op::combine(sum, cast<T>(items[s][lane]));
      ofGroups[lane][launch::thread()] = sum;
    }
    if constexpr (Scope::maxSize > 1)
      Scope::barrier();
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane)
      for (int group = 0; group < Scope::size(); ++group) {
        if (group == Scope::rank())
          before[lane] = carry[lane];
        carry[lane] = Op::combine(
            carry[lane],
            ofGroups[lane][group * Scope::vectors() + Scope::vector()]);
      }
    forEachOwn([&](int s, bool isThere, Index k) {
      typename Form::Vector sums;
      FUSEC_UNROLL
      for (int lane = 0; lane < V; ++lane) {
        const T with = Op::combine(before[lane], cast<T>(items[s][lane]));
        sums[lane] = Form::choose(before[lane], with);
        before[lane] = with;
      }
      if (isThere)
        store(k, sums);
    });
  }
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_H
