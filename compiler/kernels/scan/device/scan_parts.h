// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums of a long axis, of which each block takes a part: it loads
// the part once, tells the others its sum, and adds those of all parts before
// its own. They are added in their order, whenever they come, so that a run
// repeats bit for bit.

#ifndef FUSEC_KERNELS_SCAN_PARTS_H
#define FUSEC_KERNELS_SCAN_PARTS_H

#include "prelude_grid.h"
#include "scan.h"

namespace fusec {

/// Which part of which strip, rows or columns beside each other, the block
/// takes: parts in turn, all strips of one before those of the next.
class ScanPlace {
public:
  FUSEC_DEVICE ScanPlace(u32 *flags, int strips)
      : flags(flags), strips(strips) {
    const u32 place = primitive::placeOfBlock(flags);
    number = int(place / u32(strips));
    ownStrip = int(place % u32(strips));
  }
  /// Of parts, from that which is summed first.
  FUSEC_DEVICE int part() const { return number; }
  FUSEC_DEVICE int strip() const { return ownStrip; }

  /// Calls body(own, isMine) for the worker's vector of the strip, of `all`;
  /// without one of its own, which is never so if `IsFull`, it gets the last.
  /// On the host, for all of them.
  template <class Scope, bool IsFull = false, class Body>
  FUSEC_DEVICE void forEachVector(int all, Body body) {
    constexpr int vectors = Scope::threads / Scope::maxSize,
                  turns = launch::workersOf(vectors);
    for (int turn = 0; turn < turns; ++turn) {
      ownVector = turn + Scope::vector();
      const int own = ownStrip * vectors + ownVector;
      isLast = turn + 1 == turns;
      body(IsFull || own < all ? own : all - 1, IsFull || own < all);
    }
  }

protected:
  u32 *flags;
  int strips, number, ownStrip, ownVector = 0;
  bool isLast = true;
};

/// Sums are stored, and told by flags, which are zero before a launch and after
/// it.
class ScanTurn : public ScanPlace {
public:
  FUSEC_DEVICE ScanTurn(u32 *flags, int strips, int parts)
      : ScanPlace(flags, strips), fields(strips, parts) {}

  /// Tells that what the block has stored of its part is there.
  FUSEC_DEVICE void tell() const {
    launch::barrier();
    if (launch::thread() != 0 || !isLast)
      return;
    u32 *flag = flags + 2 + number % ScanFields::words;
    const int slot = number / ScanFields::words,
              shift = slot % fields.perWord * fields.bits;
    if (const int turn = slot / fields.perWord)
      primitive::awaitFlag(flag, [&](u32 value) {
        return (value >> shift & fields.mask()) >= u32(turn * strips);
      });
    primitive::addToFlag(flag, 1u << shift);
  }
  /// Waits for all parts before its own.
  FUSEC_DEVICE void awaitOthers() const {
    for (int word = launch::thread(); word < ScanFields::words && word < number;
         word += launch::threads()) {
      const int slots = (number - 1 - word) / ScanFields::words + 1;
      primitive::awaitFlag(flags + 2 + word, [&](u32 value) {
        bool areAll = true;
        for (int field = 0; field < fields.perWord && field < slots; ++field) {
          const int turns = (slots - 1 - field) / fields.perWord + 1;
          areAll &= (value >> field * fields.bits & fields.mask()) >=
                    u32(turns * strips);
        }
        return areAll;
      });
    }
    launch::barrier();
  }
  /// The last block to end leaves the flags as they were.
  FUSEC_DEVICE void end() const {
    if (launch::thread() != 0 || !isLast ||
        primitive::countUp(flags + 1) + 1 != u32(launch::blocks()))
      return;
    for (int word = 0; word <= ScanFields::words; ++word)
      flags[1 + word] = 0;
  }

private:
  ScanFields fields;
};

namespace detail {
/// Adds a vector to `total`.
template <class Op, class T, class From, int V>
FUSEC_DEVICE void addVector(Vec<T, V> &total, const Vec<From, V> &vector) {
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane)
    total[lane] = Op::combine(total[lane], cast<T>(vector[lane]));
}
} // namespace detail

/// A part of `count` items of a row, a whole number of vectors: load(k, put)
/// and store(k, sums) as of scanRow, with k from the part's first item on;
/// place(n) is where the sum of the n-th part is, from that which is summed
/// first.
template <class Scope, class Form, int Steps, class Index, class Load,
          class Store, class Place>
FUSEC_DEVICE void scanPartOfRow(const ScanTurn &turn, Index count, Load load,
                                Store store, Place place) {
  constexpr int V = Form::vector,
                steps = Steps * launch::workersOf(Scope::maxSize);
  typedef typename Form::Op Op;
  typedef typename Op::Value T;
  typename Form::Items items[steps];
  T sums[steps], total = T(0), before = T(0);
  auto forEachOwn = [&](auto body) {
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const Index k = Index(s * Scope::size() + Scope::rank()) * V;
      body(s, k < count, Form::isReverse ? count - V - k : k);
    }
  };
  detail::loadOwn(items, forEachOwn, load);
  FUSEC_UNROLL
  for (int s = 0; s < steps; ++s)
    sums[s] = Form::sum(items[s]);
  detail::sumBefore<Scope>(sums, total);
  if (Scope::rank() == 0)
    *place(turn.part()) = total;
  turn.tell();
  turn.awaitOthers();
  forEachStep<stepsAtOnce, Scope>(turn.part(), [&](int part) {
    before = Op::combine(before, *place(part));
  });
  before = Scope::template reduce<Op>(before);
  forEachOwn([&](int s, bool isThere, Index k) {
    if (isThere)
      store(k, Form::scan(items[s], Op::combine(before, sums[s])));
  });
  turn.end();
}

/// The same of columns, one vector of them.
template <class Scope, class Form, int Steps, class Index, class Load,
          class Store, class Place>
FUSEC_DEVICE void scanPartOfColumns(const ScanTurn &turn, Index count,
                                    bool isMine, Load load, Store store,
                                    Place place) {
  constexpr int V = Form::vector,
                steps = Steps * launch::workersOf(Scope::maxSize);
  typedef typename Form::Op Op;
  typedef typename Op::Value T;
  typedef typename Form::Vector Vector;
  FUSEC_SHARED Vector ofGroups[Scope::threads];
  typename Form::Items items[steps];
  Vector sum = {}, before = {}, total = {}, others = {};
  auto forEachOwn = [&](auto body) {
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const Index k = Index(Scope::rank()) * steps + s;
      body(s, isMine && k < count, Form::isReverse ? count - 1 - k : k);
    }
  };
  detail::loadOwn(items, forEachOwn, load);
  FUSEC_UNROLL
  for (int s = 0; s < steps; ++s)
    detail::addVector<Op>(sum, items[s]);
  ofGroups[launch::thread()] = sum;
  launch::barrier();
  for (int group = 0; group < Scope::size(); ++group) {
    if (group == Scope::rank())
      before = total;
    detail::addVector<Op>(total,
                          ofGroups[group * Scope::vectors() + Scope::vector()]);
  }
  if (isMine && Scope::rank() == 0)
    fusec::store<V>(place(turn.part()), total);
  turn.tell();
  turn.awaitOthers();
  forEachStep<stepsAtOnce, Scope>(turn.part(), [&](int part) {
    detail::addVector<Op>(others, fusec::load<V>(place(part)));
  });
  others = Scope::template reduce<Op, V>(others);
  detail::addVector<Op>(others, before);
  forEachOwn([&](int s, bool isThere, Index k) {
    Vector sums;
    FUSEC_UNROLL
    for (int lane = 0; lane < V; ++lane) {
      const T with = Op::combine(others[lane], cast<T>(items[s][lane]));
      sums[lane] = Form::choose(others[lane], with);
      others[lane] = with;
    }
    if (isThere)
      store(k, sums);
  });
  turn.end();
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_PARTS_H
