// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions by a thread, a warp or a block, in a fixed order, so that a run
// repeats bit for bit. A scope owns the iteration over a row; on the host every
// scope is one thread, so that the same kernel text runs there.

#ifndef FUSEC_KERNELS_REDUCE_H
#define FUSEC_KERNELS_REDUCE_H

#include "reduce_steps.h"

namespace fusec {

// Combiners: Value, identity(), combine(a, b) with a from the smaller indices.

template <class T> struct Sum {
  typedef T Value;
  static FUSEC_DEVICE T identity() { return T(0); }
  static FUSEC_DEVICE T combine(T a, T b) {
    if constexpr (isInteger<T>)
      return intAdd(a, b);
    else
      return a + b;
  }
};

template <class T> struct Product {
  typedef T Value;
  static FUSEC_DEVICE T identity() { return T(1); }
  static FUSEC_DEVICE T combine(T a, T b) {
    if constexpr (isInteger<T>)
      return intMul(a, b);
    else
      return a * b;
  }
};

namespace detail {
/// -infinity or the lowest integer; false for bool.
template <class T> FUSEC_DEVICE T lowestOf() {
  if constexpr (isFloating<T>)
    return -T(primitive::floatOf(0x7f800000u));
  else if constexpr (isBool<T>)
    return T(false);
  else
    return Limits<T>::lowest;
}
template <class T> FUSEC_DEVICE T highestOf() {
  if constexpr (isFloating<T>)
    return T(primitive::floatOf(0x7f800000u));
  else if constexpr (isBool<T>)
    return T(true);
  else
    return Limits<T>::highest;
}
} // namespace detail

template <class T> struct Max {
  typedef T Value;
  static FUSEC_DEVICE T identity() { return detail::lowestOf<T>(); }
  static FUSEC_DEVICE T combine(T a, T b) { return maxNan(a, b); }
};
template <class T> struct Min {
  typedef T Value;
  static FUSEC_DEVICE T identity() { return detail::highestOf<T>(); }
  static FUSEC_DEVICE T combine(T a, T b) { return minNan(a, b); }
};

/// A value and where it was found; index -1 marks "none yet".
template <class T, class Index = i64> struct Indexed {
  T value;
  Index index;
};

/// Of two combiners at once.
template <class A, class B> struct BothValues {
  A first;
  B second;
};
template <class A, class B> struct Both {
  typedef BothValues<typename A::Value, typename B::Value> Value;
  static FUSEC_DEVICE Value identity() {
    return {A::identity(), B::identity()};
  }
  static FUSEC_DEVICE Value combine(Value a, Value b) {
    return {A::combine(a.first, b.first), B::combine(a.second, b.second)};
  }
};

/// A value, and the sum of exp(x - most) of what it exceeds (reduce_online.h).
struct MostAndSum {
  float most, sum;
};

/// The index of the largest (Sign 1) or smallest (Sign -1) value. A NaN wins
/// over every number; ties go to the first index, or the last if `Last`.
template <class T, int Sign, bool Last, class Index = i64> struct ArgExtreme {
  typedef Indexed<T, Index> Value;
  /// The same whose places are `Other`s.
  template <class Other> using Of = ArgExtreme<T, Sign, Last, Other>;
  static FUSEC_DEVICE Value identity() { return Value{least(), -1}; }
  static FUSEC_DEVICE Value combine(Value a, Value b) {
    // Of two NaNs neither exceeds the other.
    const bool takesB =
        exceeds(b.value, a.value) ||
        (!exceeds(a.value, b.value) && isNearer(b.index, a.index));
    return {takesB ? b.value : a.value, takesB ? b.index : a.index};
  }
  /// Whether of equals the one at b is taken. As a number without a sign "none
  /// yet" is behind all places.
  static FUSEC_DEVICE bool isNearer(Index b, Index a) {
    if constexpr (Last)
      return b > a;
    else if constexpr (sizeof(Index) == 4)
      return u32(b) < u32(a);
    else
      return u64(b) < u64(a);
  }
  static FUSEC_DEVICE T least() {
    return Sign > 0 ? detail::lowestOf<T>() : detail::highestOf<T>();
  }
  /// Of a and b; NaN where one of them is.
  static FUSEC_DEVICE T extreme(T a, T b) {
    if constexpr (Sign > 0)
      return maxNan(a, b);
    else
      return minNan(a, b);
  }
  /// Whether b is more extreme than a.
  static FUSEC_DEVICE bool exceeds(T b, T a) {
    if constexpr (isFloating<T>)
      return !(Sign > 0 ? b <= a : b >= a) && a == a;
    else
      return Sign > 0 ? b > a : b < a;
  }
  /// Whether b, which comes behind a, takes its place.
  static FUSEC_DEVICE bool takesPlace(T b, T a) {
    if constexpr (Last)
      return !exceeds(a, b);
    else
      return exceeds(b, a);
  }
};
template <class T, bool Last = false> using ArgMax = ArgExtreme<T, 1, Last>;
template <class T, bool Last = false> using ArgMin = ArgExtreme<T, -1, Last>;
template <class Op> constexpr bool findsPlaces = false;
template <class T, int Sign, bool Last, class Index>
constexpr bool findsPlaces<ArgExtreme<T, Sign, Last, Index>> = true;

namespace detail {
template <class T> FUSEC_DEVICE T exchange(T v, int mask) {
  return primitive::shuffleXor(v, mask);
}
template <class T, class Index>
FUSEC_DEVICE Indexed<T, Index> exchange(Indexed<T, Index> v, int mask) {
  return {exchange(v.value, mask), exchange(v.index, mask)};
}
template <class A, class B>
FUSEC_DEVICE BothValues<A, B> exchange(BothValues<A, B> v, int mask) {
  return {exchange(v.first, mask), exchange(v.second, mask)};
}
FUSEC_DEVICE MostAndSum exchange(MostAndSum v, int mask) {
  return {exchange(v.most, mask), exchange(v.sum, mask)};
}

/// The extreme first, and then its nearest place among the lanes that have it:
/// an instruction a step each, where both at once take nine.
template <class Op, int Lanes, int Stride>
FUSEC_DEVICE typename Op::Value reducePlaces(typename Op::Value v) {
  auto most = v.value;
  FUSEC_UNROLL
  for (int mask = Stride; mask < Lanes; mask *= 2)
    most = Op::extreme(most, exchange(most, mask));
  auto index = v.index;
  index = Op::exceeds(most, v.value) ? decltype(index)(-1) : index;
  FUSEC_UNROLL
  for (int mask = Stride; mask < Lanes; mask *= 2) {
    const auto other = exchange(index, mask);
    index = Op::isNearer(other, index) ? other : index;
  }
  return {most, index};
}
} // namespace detail

/// Combines over groups of `Lanes` neighbouring lanes, of which every
/// `Stride`-th meet; all get the result.
template <class Op, int Lanes = 32, int Stride = 1>
FUSEC_DEVICE typename Op::Value reduceLanes(typename Op::Value v) {
  if (launch::lanes() == 1)
    return v;
  if constexpr (findsPlaces<Op>) {
    return detail::reducePlaces<Op, Lanes, Stride>(v);
  } else {
    FUSEC_UNROLL
    for (int mask = Stride; mask < Lanes; mask *= 2) {
      typename Op::Value other = detail::exchange(v, mask);
      // Both partners combine in the same order and get the same bits.
      v = launch::lane() & mask ? Op::combine(other, v) : Op::combine(v, other);
    }
    return v;
  }
}

// Scopes: who works on one row. rank() of size() workers; maxSize is size() on
// the GPU; group() of groups() counts the rows in flight over the grid.

/// Whether they are those of several blocks: block() of blocks, `threads` each.
template <class Scope> constexpr bool isOfBlocks = false;

struct ThreadScope {
  static constexpr int maxSize = 1;
  static FUSEC_DEVICE int rank() { return 0; }
  static FUSEC_DEVICE int size() { return 1; }
  static FUSEC_DEVICE void barrier() {}
  static FUSEC_DEVICE i64 group() {
    return i64(launch::block()) * launch::threads() + launch::thread();
  }
  static FUSEC_DEVICE i64 groups() {
    return i64(launch::blocks()) * launch::threads();
  }
  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    return v;
  }
};

struct WarpScope {
  static constexpr int maxSize = 32;
  static FUSEC_DEVICE int rank() { return launch::lane(); }
  static FUSEC_DEVICE int size() { return launch::lanes(); }
  static FUSEC_DEVICE void barrier() { launch::warpBarrier(); }
  static FUSEC_DEVICE i64 group() {
    return i64(launch::block()) * launch::warps() + launch::warp();
  }
  static FUSEC_DEVICE i64 groups() {
    return i64(launch::blocks()) * launch::warps();
  }
  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    return reduceLanes<Op>(v);
  }
};

/// `Lanes` neighbours of a warp, a power of two of them; the warp's groups have
/// as many rows to do, by forEachRowOfWarp.
template <int Lanes> struct LanesScope {
  static constexpr int maxSize = Lanes;
  static FUSEC_DEVICE int rank() { return launch::thread() % size(); }
  static FUSEC_DEVICE int size() { return launch::lanes() == 1 ? 1 : Lanes; }
  static FUSEC_DEVICE void barrier() { launch::warpBarrier(); }
  static FUSEC_DEVICE int groupsOfBlock() { return launch::threads() / size(); }
  static FUSEC_DEVICE i64 group() {
    return i64(launch::block()) * groupsOfBlock() + launch::thread() / size();
  }
  static FUSEC_DEVICE i64 groups() {
    return i64(launch::blocks()) * groupsOfBlock();
  }
  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    return reduceLanes<Op, Lanes>(v);
  }
};

/// The whole block of exactly `Threads` threads (a multiple of 32). `HidesStep`
/// where it takes few turns, and nobody knows how many.
template <int Threads, bool HidesStep = false> struct BlockScope {
  static_assert(Threads % 32 == 0 && Threads <= 1024, "whole warps");
  static constexpr int maxSize = Threads;
  static FUSEC_DEVICE int rank() { return launch::thread(); }
  static constexpr FUSEC_DEVICE int size() {
    return Threads / launch::workersOf(Threads);
  }
  static FUSEC_DEVICE void barrier() { launch::barrier(); }
  static FUSEC_DEVICE i64 group() { return launch::block(); }
  static FUSEC_DEVICE i64 groups() { return launch::blocks(); }
  template <class Op>
  static FUSEC_DEVICE typename Op::Value reduce(typename Op::Value v) {
    if constexpr (size() == 1)
      return v;
    constexpr int warps = Threads / 32;
    v = reduceLanes<Op>(v);
    if constexpr (warps == 1)
      return v;
    FUSEC_SHARED typename Op::Value partial[warps];
    launch::barrier(); // The previous result has been read by everybody.
    if (launch::lane() == 0)
      partial[launch::warp()] = v;
    launch::barrier();
    // Warps meet as lanes do: one behind another they take longer.
    if constexpr (findsPlaces<Op> && (warps & (warps - 1)) == 0) {
      return reduceLanes<Op, warps>(partial[launch::lane() % warps]);
    } else {
      v = partial[0];
      FUSEC_UNROLL
      for (int w = 1; w < warps; ++w)
        v = Op::combine(v, partial[w]);
      return v;
    }
  }
};
template <int Threads>
constexpr bool hidesStep<BlockScope<Threads, true>> = true;

/// Calls body(i) for every `step`-th i of [first, count). `IsOnce`: there is
/// one at most, though not on the host, and registers hold nothing for a next
/// turn.
template <bool IsOnce, class Body>
FUSEC_DEVICE void forEachTurn(i64 first, i64 count, i64 step, Body body) {
  if constexpr (IsOnce && launch::workersOf(2) == 1) {
    if (first < count)
      body(first);
  } else {
    for (i64 i = first; i < count; i += step)
      body(i);
  }
}

/// Calls body(row) for each row, each row by one group. Every worker of the
/// group runs the body, so that it may reduce and synchronise. `IsOnce`: there
/// are as many groups as rows.
template <class Scope, bool IsOnce = false, class Body>
FUSEC_DEVICE void forEachRow(i64 rows, Body body) {
  forEachTurn<IsOnce>(Scope::group(), rows, Scope::groups(), body);
}

/// The same for groups of a warp: body(row, isMine) runs as often in all of
/// them, since a warp's shuffles need all lanes. Without a row of its own a
/// group gets the last one, and is neither to load nor to store.
template <class Scope, class Body>
FUSEC_DEVICE void forEachRowOfWarp(i64 rows, Body body) {
  const int inWarp = launch::lanes() / Scope::size();
  for (i64 row = Scope::group(); row / inWarp * inWarp < rows;
       row += Scope::groups())
    body(row < rows ? row : rows - 1, row < rows);
}

/// Combines value(i) over [0, count); every worker gets the result. An empty
/// row gives the identity.
template <class Scope, class Op, class Index, class Value>
FUSEC_DEVICE typename Op::Value reduceRow(Index count, Value value) {
  typename Op::Value total = Op::identity();
  forEachStep<stepsAtOnce, Scope>(
      count, [&](Index i) { total = Op::combine(total, value(i)); });
  return Scope::template reduce<Op>(total);
}

/// The same by vectors: body(base, width, add) calls add(value) for each of
/// the items that forEachVectorIn gives it.
template <class Scope, class Op, int V, class Index, class Body>
FUSEC_DEVICE typename Op::Value reduceRowVectors(Index count, Body body) {
  typename Op::Value total = Op::identity();
  auto add = [&](typename Op::Value value) {
    total = Op::combine(total, value);
  };
  forEachVectorAtOnce<Scope, V, vectorsAtOnce<V>>(
      count, [&](auto base, auto width) { body(base, width, add); });
  return Scope::template reduce<Op>(total);
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_H
