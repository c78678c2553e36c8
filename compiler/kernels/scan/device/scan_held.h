// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums of short rows that lie one behind the other: a block moves
// its rows as one run of memory, by whole vectors wherever they begin, and in
// shared memory a thread sums a row.

#ifndef FUSEC_KERNELS_SCAN_HELD_H
#define FUSEC_KERNELS_SCAN_HELD_H

#include "scan.h"

namespace fusec {

namespace detail {
/// Calls begin(s, i, width) for `Steps` of a thread's vectors of [0, count),
/// then finish(s, i, width) for the same ones, and so on; items behind the last
/// whole vector are taken one by one.
template <int V, int Steps, class Index, class Begin, class Finish>
FUSEC_DEVICE void forEachOfRun(Index count, Begin begin, Finish finish) {
  const Index whole = count / V, threads = Index(launch::threads());
  for (Index first = Index(launch::thread()); first < whole;
       first += Steps * threads) {
    FUSEC_UNROLL
    for (int s = 0; s < Steps; ++s)
      if (const Index i = first + s * threads; i < whole)
        begin(s, i * V, Width<V>());
    FUSEC_UNROLL
    for (int s = 0; s < Steps; ++s)
      if (const Index i = first + s * threads; i < whole)
        finish(s, i * V, Width<V>());
  }
  if constexpr (V > 1)
    for (Index i = whole * V + Index(launch::thread()); i < count;
         i += threads) {
      begin(0, i, Width<1>());
      finish(0, i, Width<1>());
    }
}
} // namespace detail

/// Calls load(i, width, put), which calls put(lane, value), and store(i, width,
/// sums) for vectors of V, and single items, of all rows of `Length` items, of
/// which a block has `Rows` at a time; i counts from the first row's first
/// item.
template <class Form, int Rows, int Length, int V, class Index, class Load,
          class Store>
FUSEC_DEVICE void scanHeldRows(Index rows, Load load, Store store) {
  static_assert(Form::vector == 1 && Rows % V == 0, "runs begin with vectors");
  typedef typename Form::Op::Value T;
  // Of a thread's vectors, as many together as 64 words of registers hold.
  constexpr int all = (Length + V - 1) / V, words = V * int(sizeof(T) + 3) / 4,
                turns = (all * words + 63) / 64,
                steps = (all + turns - 1) / turns;
  struct Held {
    alignas(16) T at[Rows * Length];
  };
  FUSEC_SHARED Held held;
  for (Index first = Index(launch::block()) * Rows; first < rows;
       first += Index(launch::blocks()) * Rows) {
    const Index left = rows - first;
    const int count = left < Rows ? int(left) : Rows, items = count * Length;
    const Index begin = first * Length;
    Vec<T, V> moved[steps];
    detail::forEachOfRun<V, steps>(
        items,
        [&](int s, int i, auto width) {
          load(begin + i, width,
               [&](int lane, auto value) { moved[s][lane] = cast<T>(value); });
        },
        [&](int s, int i, auto width) {
          FUSEC_UNROLL
          for (int lane = 0; lane < width.value; ++lane)
            held.at[i + lane] = moved[s][lane];
        });
    launch::barrier();
    for (int row = launch::thread(); row < count; row += launch::threads()) {
      T *at = held.at + row * Length, before = T(0);
      FUSEC_UNROLL_BY(16)
      for (int k = 0; k < Length; ++k) {
        const int item = Form::isReverse ? Length - 1 - k : k;
        const T with = Form::Op::combine(before, at[item]);
        at[item] = Form::choose(before, with);
        before = with;
      }
    }
    launch::barrier();
    detail::forEachOfRun<V, 1>(
        items, [](int, int, auto) {},
        [&](int, int i, auto width) {
          Vec<T, decltype(width)::value> sums;
          FUSEC_UNROLL
          for (int lane = 0; lane < width.value; ++lane)
            sums[lane] = held.at[i + lane];
          store(begin + i, width, sums);
        });
    launch::barrier();
  }
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_HELD_H
