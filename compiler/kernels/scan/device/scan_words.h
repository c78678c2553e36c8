// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums of a long axis in parts, of which blocks tell one another the
// sums in words. Their order is fixed.

#ifndef FUSEC_KERNELS_SCAN_WORDS_H
#define FUSEC_KERNELS_SCAN_WORDS_H

#include "scan_chain.h"

namespace fusec {

namespace detail {
/// Of a column, the sum of all groups before its own, of the first of `Slices`
/// who ask, and of every so many parts of its own before it; a row is one.
template <class Op, int Slices, class Chain>
FUSEC_DEVICE typename Op::Value sumOthers(const Chain &chain, int column,
                                          int slice) {
  typedef typename Op::Value T;
  constexpr int asked = (Chain::group - 1 + Slices - 1) / Slices;
  const int group = chain.part() / Chain::group, first = group * Chain::group,
            within = chain.part() % Chain::group;
  u64 seen[asked];
  FUSEC_UNROLL
  for (int n = 0; n < asked; ++n)
    seen[n] = slice + n * Slices < within
                  ? primitive::peekWord(
                        chain.ofPart(first + slice + n * Slices, column))
                  : 0;
  const bool hasGroup = slice == 0 && group > 0;
  const u64 *last = chain.ofGroup(group - 1, column);
  const u64 lastSeen = hasGroup ? primitive::peekWord(last) : 0;
  T sum = T(0);
  FUSEC_UNROLL
  for (int n = 0; n < asked; ++n)
    if (slice + n * Slices < within)
      sum = Op::combine(
          sum, chain.await(chain.ofPart(first + slice + n * Slices, column),
                           seen[n]));
  if (hasGroup)
    sum = Op::combine(sum, chain.await(last, lastSeen));
  return sum;
}
} // namespace detail

/// A part of `count` items of a row, as scanPartOfRow. `IsFull` says that every
/// thread has all of its items, so that it asks for none. `fetch` is called
/// before the block waits for others.
template <class Scope, class Form, int Steps, bool IsFull, class Chain,
          class Index, class Load, class Store, class Fetch>
FUSEC_DEVICE void scanChainOfRow(Chain &chain, Index count, Load load,
                                 Store store, Fetch fetch) {
  constexpr int V = Form::vector,
                steps = Steps * launch::workersOf(Scope::maxSize),
                most = (Scope::maxSize + 31) / 32,
                warps = most / launch::workersOf(most);
  typedef typename Form::Op Op;
  typedef typename Op::Value T;
  struct Sums {
    T ofWarps[warps];
    u32 launch;
  };
  FUSEC_SHARED Sums all;
  typename Form::Items items[steps];
  T sums[steps], with[steps], total = T(0);
  // Those of a warp follow one another.
  auto forEachOwn = [&](auto body) {
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const Index k = Index((launch::warp() * steps + s) * launch::lanes() +
                            launch::lane()) *
                      V;
      body(s, IsFull || k < count, Form::isReverse ? count - V - k : k);
    }
  };
  detail::loadOwn(items, forEachOwn, load);
  chain.expect();
  FUSEC_UNROLL
  for (int s = 0; s < steps; ++s) {
    const T sum = Form::sum(items[s]);
    sums[s] = detail::sumLanesBefore(sum);
    with[s] = Op::combine(sums[s], sum);
  }
  const T ofWarp = detail::sumStepsBefore<Op>(sums, with);
  if (launch::lane() == 0)
    all.ofWarps[launch::warp()] = ofWarp;
  chain.shareLaunch(all.launch);
  launch::barrier();
  chain.takeLaunch(all.launch);
  const T ofBlock =
      detail::sumPlacesBefore<Op>(all.ofWarps, launch::warp(), total);
  if (launch::thread() == 0)
    chain.tell(chain.ofPart(chain.part(), 0), total);
  fetch();
  const T before = Scope::template reduce<Op>(
      detail::sumOthers<Op, Scope::maxSize / launch::workersOf(Scope::maxSize)>(
          chain, 0, Scope::rank()));
  if (launch::thread() == 0 && chain.endsGroup())
    chain.tell(chain.ofGroup(chain.part() / Chain::group, 0),
               Op::combine(before, total));
  chain.leave();
  const T own = Op::combine(before, ofBlock);
  forEachOwn([&](int s, bool isThere, Index k) {
    if (isThere)
      store(k, Form::scan(items[s], Op::combine(own, sums[s])));
  });
  chain.end();
}

namespace detail {
/// What is before each column of the worker's vector in its warp, of which
/// `Vectors` neighbours have vectors beside each other; `ofWarp` gets its sums
/// of the columns from `own` on.
template <class Op, int Vectors, class T, int V>
FUSEC_DEVICE Vec<T, V> sumWarpBefore(Vec<T, V> sums, T *ofWarp, int own) {
  const int lane = launch::lane();
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    T sum = sums[i];
    if (launch::lanes() > 1) {
      FUSEC_UNROLL
      for (int distance = Vectors; distance < 32; distance *= 2) {
        const T other = primitive::shuffle(sum, lane - distance);
        if (lane >= distance)
          sum = Op::combine(other, sum);
      }
    }
    if (lane >= launch::lanes() - Vectors)
      ofWarp[own + i] = sum;
    const T up = primitive::shuffle(sum, lane - Vectors);
    sums[i] = lane >= Vectors ? up : T(0);
  }
  return sums;
}

/// What the scan has of the next items of columns; `before` gets them, too.
template <class Form, class Vector, class Items>
FUSEC_DEVICE Vector nextSums(Vector &before, const Items &items) {
  typedef typename Form::Op Op;
  Vector sums;
  FUSEC_UNROLL
  for (int i = 0; i < Form::vector; ++i) {
    const auto with =
        Op::combine(before[i], cast<typename Op::Value>(items[i]));
    sums[i] = Form::choose(before[i], with);
    before[i] = with;
  }
  return sums;
}

template <class Items> struct ElementOf;
template <class T, int V> struct ElementOf<Vec<T, V>> { typedef T Type; };

/// A worker's items in each of `Steps`: kept in registers, which steps that are
/// known when compiling index, or loaded whenever they are asked for.
template <class Items, int Steps, bool IsKept> struct OwnItems {
  Items kept[IsKept ? Steps : 1];

  template <class Body> static FUSEC_DEVICE void forEachStep(Body body) {
    if constexpr (IsKept) {
      FUSEC_UNROLL
      for (int s = 0; s < Steps; ++s)
        body(s);
    } else {
      FUSEC_UNROLL_BY(8)
      for (int s = 0; s < Steps; ++s)
        body(s);
    }
  }
  template <class Own, class Load>
  FUSEC_DEVICE void begin(Own forEachOwn, Load load) {
    if constexpr (IsKept)
      loadOwn(kept, forEachOwn, load);
  }
  template <class Index, class Load>
  FUSEC_DEVICE Items get(int s, bool isThere, Index k, Load load) const {
    if constexpr (IsKept) {
      return kept[s];
    } else {
      Items own = {};
      // A run's items are in shared memory as what they are summed in.
      if (isThere)
        load(k, [&](int lane, auto value) {
          own[lane] = cast<typename ElementOf<Items>::Type>(value);
        });
      return own;
    }
  }
};

/// What a block's threads find of the columns of its strip: warps of its own
/// part, and slices, who share what others are asked.
template <class Op, int Columns, int Warps, int Slices> struct StripSums {
  typedef typename Op::Value T;
  T ofWarps[Warps][Columns];
  T ofSlices[Slices][Columns];
  u32 launch;

  FUSEC_DEVICE T getTotal(int column) const { return getSum(ofWarps, column); }
  FUSEC_DEVICE T getOthers(int column) const {
    return getSum(ofSlices, column);
  }
  /// Adds what the warps before the thread's own have from a column on.
  template <int V> FUSEC_DEVICE void addWarpsBefore(Vec<T, V> &sums, int own) {
    Vec<T, V> ofOthers = {};
    for (int warp = 0; warp < launch::warp(); ++warp) {
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        ofOthers[i] = Op::combine(ofOthers[i], ofWarps[warp][own + i]);
    }
    addVector<Op>(sums, ofOthers);
  }
  /// Of `Asking` slices one asks; of few columns a warp has several of them,
  /// and adds them up.
  template <int Asking, class Chain>
  FUSEC_DEVICE void ask(const Chain &chain, int column, int slice) {
    constexpr int together = Asking / Slices;
    T sum = sumOthers<Op, Asking>(chain, column, slice);
    FUSEC_UNROLL
    for (int lanes = Columns; lanes < Columns * together; lanes *= 2)
      sum = Op::combine(sum, primitive::shuffleXor(sum, lanes));
    if (slice % together == 0)
      ofSlices[slice / together][column] = sum;
  }

private:
  template <int Count>
  static FUSEC_DEVICE T getSum(const T (&of)[Count][Columns], int column) {
    T sum = T(0);
    FUSEC_UNROLL
    for (int i = 0; i < Count; ++i)
      sum = Op::combine(sum, of[i][column]);
    return sum;
  }
};
} // namespace detail

/// The same of columns, one vector of them. The sum of a group is that of all
/// groups up to it. Items that are not kept are loaded for their sum, and again
/// when what is before them is known.
template <class Scope, class Form, int Steps, bool IsFull, bool IsKept = true,
          class Chain, class Index, class Load, class Store, class Fetch>
FUSEC_DEVICE void scanChainOfColumns(Chain &chain, Index count, bool isMine,
                                     Load load, Store store, Fetch fetch) {
  constexpr int V = Form::vector, vectors = Scope::threads / Scope::maxSize,
                columns = vectors * V,
                steps = Steps * launch::workersOf(Scope::maxSize),
                most = (Scope::threads + 31) / 32,
                warps = most / launch::workersOf(most),
                asking =
                    launch::workersOf(2) == 2 ? 1 : Scope::threads / columns,
                slices =
                    asking > 1 && columns < 32 ? asking * columns / 32 : asking;
  static_assert(vectors <= 32 && Scope::threads % columns == 0,
                "a column has threads that ask for its sums");
  typedef typename Form::Op Op;
  typedef typename Form::Vector Vector;
  FUSEC_SHARED detail::StripSums<Op, columns, warps, slices> sums;
  detail::OwnItems<typename Form::Items, steps, IsKept> items;
  Vector before = {};
  const int own = chain.vector() * V;
  auto forEachStep = [&](auto isThere, auto body) {
    items.forEachStep([&](int s) {
      const Index k = Index(Scope::rank()) * steps + s;
      body(s, isThere(k), Form::isReverse ? count - 1 - k : k);
    });
  };
  auto forEachOwn = [&](auto body) {
    // Of all parts but the last no item is asked whether it is there.
    if constexpr (!IsKept)
      if (count == Index(steps) * Scope::size())
        return forEachStep([&](Index) { return isMine; }, body);
    forEachStep([&](Index k) { return IsFull || (isMine && k < count); }, body);
  };
  // Of its vector on the host; else of the strip, a thread for each.
  auto forEachTold = [&](auto body) {
    if (launch::lanes() > 1)
      return body(launch::thread() % columns, launch::thread() / columns);
    for (int i = 0; i < V; ++i)
      body(own + i, 0);
  };
  chain.expect();
  items.begin(forEachOwn, load);
  forEachOwn([&](int s, bool isThere, Index k) {
    detail::addVector<Op>(before, items.get(s, isThere, k, load));
  });
  before = detail::sumWarpBefore<Op, vectors>(
      before, sums.ofWarps[launch::warp()], own);
  chain.shareLaunch(sums.launch);
  launch::barrier();
  chain.takeLaunch(sums.launch);
  forEachTold([&](int column, int slice) {
    if (slice == 0)
      chain.tell(chain.ofPart(chain.part(), column), sums.getTotal(column));
  });
  fetch();
  sums.addWarpsBefore(before, own);
  forEachTold([&](int column, int slice) {
    sums.template ask<asking>(chain, column, slice);
  });
  launch::barrier();
  if (chain.endsGroup())
    forEachTold([&](int column, int slice) {
      if (slice == 0)
        chain.tell(chain.ofGroup(chain.part() / Chain::group, column),
                   Op::combine(sums.getOthers(column), sums.getTotal(column)));
    });
  chain.leave();
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    before[i] = Op::combine(sums.getOthers(own + i), before[i]);
  forEachOwn([&](int s, bool isThere, Index k) {
    const Vector next =
        detail::nextSums<Form>(before, items.get(s, isThere, k, load));
    if (isThere)
      store(k, next);
  });
  chain.end();
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_WORDS_H
