// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How blocks tell one another sums of 32 bits by words. Sums of groups save
// asking all parts.

#ifndef FUSEC_KERNELS_SCAN_CHAIN_H
#define FUSEC_KERNELS_SCAN_CHAIN_H

#include "launch_words.h"
#include "scan_parts.h"

namespace fusec {

/// The block's part, and the words behind `flags`, with `Columns` of a strip
/// and sums of all parts up to every `Group`-th.
template <class T, int Columns, int Group> class ScanChain : public ScanPlace {
  static_assert(sizeof(T) == 4, "a word holds 32 bits beside the launch");

public:
  static constexpr int group = Group;
  /// Whether one thread of the block asks which launch it is. If all warps do,
  /// L2 answers them one behind another: 1000003 x 3 floats took 17 us for 13.
  /// Of strips of columns, whose blocks begin one after another, it takes 1%
  /// longer.
  static constexpr bool asksOnce = Group != ScanWords::ofColumns;

  FUSEC_DEVICE ScanChain(u32 *flags, int strips, int parts)
      : ScanPlace(flags, strips), told(flags), parts(parts) {
    if (!asksOnce || launch::thread() == 0)
      told.ask();
    u64 *words = told.words();
    ofParts = words + strip() * parts * Columns;
    const int groups = (parts + group - 1) / group;
    ofGroups = words + (strips * parts + strip() * groups) * Columns;
  }
  FUSEC_DEVICE int vector() const { return ownVector; }
  /// Tells the block which launch it is: two calls, around a barrier.
  FUSEC_DEVICE void shareLaunch(u32 &shared) const {
    if (asksOnce && launch::thread() == 0)
      shared = told.getAsked();
  }
  FUSEC_DEVICE void takeLaunch(const u32 &shared) {
    told.setNumber(asksOnce ? shared : told.getAsked());
  }
  /// Whether groups come behind its own.
  FUSEC_DEVICE bool endsGroup() const {
    return part() % group == group - 1 && part() + 1 < parts;
  }
  FUSEC_DEVICE u64 *ofPart(int part, int column) const {
    return ofParts + part * Columns + column;
  }
  FUSEC_DEVICE u64 *ofGroup(int group, int column) const {
    return ofGroups + group * Columns + column;
  }
  /// Has L2 fetch what the block is to tell, while its items are on their way:
  /// who asks for a word of a sector that is not there waits for the memory.
  FUSEC_DEVICE void expect() const {
    const int column = launch::thread() * 4; // words of a sector
    if (column < Columns)
      primitive::fetch(ofPart(part(), column));
    if (column < Columns && endsGroup())
      primitive::fetch(ofGroup(part() / group, column));
  }
  FUSEC_DEVICE void tell(u64 *word, T sum) const { told.tell(word, sum); }
  /// What the word holds, of which `seen` was there before.
  FUSEC_DEVICE T await(const u64 *word, u64 seen) const {
    return told.template await<T>(word, seen);
  }

  /// Calls fetch(strip, part) of the block that is so many behind this one, if
  /// there is one: while blocks wait for one another, the memory has that to
  /// do.
  template <class Fetch> FUSEC_DEVICE void lookAhead(int blocks, Fetch fetch) {
    const int place = part() * strips + strip() + blocks;
    if (place < strips * parts)
      fetch(place % strips, place / strips);
  }

  /// Says that the block knows the launch, behind a barrier after that; end()
  /// is called at its end.
  FUSEC_DEVICE void leave() {
    if (launch::thread() == 0 && isLast)
      told.leave();
  }
  FUSEC_DEVICE void end() const {
    if (launch::thread() == 0 && isLast)
      told.end();
  }

private:
  LaunchWords told;
  int parts;
  u64 *ofParts, *ofGroups;
};

namespace detail {
template <class T> FUSEC_DEVICE void fetchLine(const T *p) {
  primitive::fetch(p);
}
template <class T> FUSEC_DEVICE void fetchLine(Staying<T> p) {
  primitive::fetchStaying(p.at);
}
} // namespace detail

/// Has L2 fetch `count` items, to stay where their loads say so.
template <class Items, class Index>
FUSEC_DEVICE void fetchRun(Items items, Index count) {
  constexpr int ofLine = 128 / int(sizeof(items[0]));
  for (Index i = Index(launch::thread()) * ofLine; i < count;
       i += Index(launch::threads()) * ofLine)
    detail::fetchLine(items + i);
}
/// The same of what lies at place(k) each.
template <class Index, class Place>
FUSEC_DEVICE void fetchEach(Index count, Place place) {
  for (Index k = Index(launch::thread()); k < count;
       k += Index(launch::threads()))
    detail::fetchLine(place(k));
}

} // namespace fusec

#endif // FUSEC_KERNELS_SCAN_CHAIN_H
