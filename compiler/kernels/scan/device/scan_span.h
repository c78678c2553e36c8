// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums of rows that begin anywhere in memory: a row is a span of it,
// summed by memory's vectors, and item by item before and behind these.

#ifndef FUSEC_KERNELS_SCAN_SPAN_H
#define FUSEC_KERNELS_SCAN_SPAN_H

#include "reduce_span.h"
#include "scan.h"

namespace fusec {

namespace detail {
/// `count` items from `first` on, fewer than a vector has: lanes of each warp
/// have one each, which is on its way from here on.
template <class Form, class Index> class FewItems {
  typedef typename Form::Op Op;
  typedef typename Op::Value T;
  static constexpr int turns = launch::workersOf(Form::vector);

public:
  template <class Load>
  FUSEC_DEVICE FewItems(Index first, Index count, Load load)
      : first(first), count(count) {
    FUSEC_UNROLL
    for (int turn = 0; turn < turns; ++turn) {
      own[turn] = {};
      if (getOwn(turn) < count)
        load(getPlace(turn), Width<1>(),
             [&](int, auto value) { own[turn][0] = value; });
    }
  }
  /// The first warp stores the sums; all have what is behind them.
  template <class Store> FUSEC_DEVICE void scan(T &carry, Store store) const {
    FUSEC_UNROLL
    for (int turn = 0; turn < turns; ++turn) {
      const T item = cast<T>(own[turn][0]),
              before = Op::combine(carry, sumLanesBefore(item)),
              with = Op::combine(before, item);
      if (launch::warp() == 0 && getOwn(turn) < count) {
        Vec<T, 1> sum;
        sum[0] = Form::choose(before, with);
        store(getPlace(turn), Width<1>(), sum);
      }
      carry = primitive::shuffle(with, launch::lanes() - 1);
    }
  }

private:
  FUSEC_DEVICE Index getOwn(int turn) const {
    return Index(turn * launch::lanes() + launch::lane());
  }
  FUSEC_DEVICE Index getPlace(int turn) const {
    const Index own = getOwn(turn);
    return first + (Form::isReverse ? count - 1 - own : own);
  }

  Index first, count;
  Vec<typename Form::Item, 1> own[turns];
};

/// Head and tail of a span, by storeFirst and storeLast of what is before the
/// rest and behind it, and scanWhole(vectors, carry, load, store) between them.
template <class Form, class Index, class Load, class Store, class First,
          class Last, class Whole>
FUSEC_DEVICE void scanSpanParts(Span<Index> span, Load load, Store store,
                                First storeFirst, Last storeLast,
                                Whole scanWhole) {
  constexpr int V = Form::vector;
  typedef FewItems<Form, Index> Few;
  const SpanParts<V, Index> parts(span);
  const Few head(span.begin, parts.head, load),
      tail(span.end - parts.tail, parts.tail, load);
  typename Form::Op::Value carry(0);
  (Form::isReverse ? tail : head).scan(carry, storeFirst);
  scanWhole(
      parts.whole, carry,
      [&](Index i, auto put) { load(parts.getVector(i), Width<V>(), put); },
      [&](Index i, const auto &sums) {
        store(parts.getVector(i), Width<V>(), sums);
      });
  (Form::isReverse ? head : tail).scan(carry, storeLast);
}
} // namespace detail

/// Calls load(k, width, put), which calls put(lane, value), and store(k, width,
/// sums) for the span's whole vectors and for its other items.
template <class Scope, class Form, class Index, class Load, class Store>
FUSEC_DEVICE void scanSpan(Span<Index> span, Load load, Store store) {
  detail::scanSpanParts<Form>(
      span, load, store, store, store,
      [](Index vectors, auto &carry, auto loadVector, auto storeVector) {
        detail::scanTiles<Scope, Form>(vectors, carry, loadVector, storeVector);
      });
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_SPAN_H
