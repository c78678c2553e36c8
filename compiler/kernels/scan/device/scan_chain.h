// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How blocks tell one another sums of 32 bits: by words that also hold the
// launch's number, so that no flag is waited for or cleared. Sums of groups
// save asking all parts.

#ifndef FUSEC_KERNELS_SCAN_CHAIN_H
#define FUSEC_KERNELS_SCAN_CHAIN_H

#include "scan_parts.h"

namespace fusec {

namespace detail {
FUSEC_DEVICE u32 toBits(float value) { return primitive::bitsOf(value); }
template <class T> FUSEC_DEVICE u32 toBits(T value) { return u32(value); }
FUSEC_DEVICE void fromBits(u32 bits, float &value) {
  value = primitive::floatOf(bits);
}
template <class T> FUSEC_DEVICE void fromBits(u32 bits, T &value) {
  value = T(bits);
}
} // namespace detail

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
      : ScanPlace(flags, strips), parts(parts) {
    if (!asksOnce || launch::thread() == 0)
      before = primitive::peekFlag(flags + ScanWords::launches);
    u64 *words = reinterpret_cast<u64 *>(flags + ScanWords::flags);
    ofParts = words + strip() * parts * Columns;
    const int groups = (parts + group - 1) / group;
    ofGroups = words + (strips * parts + strip() * groups) * Columns;
  }
  FUSEC_DEVICE int vector() const { return ownVector; }
  /// Tells the block which launch it is: two calls, around a barrier.
  FUSEC_DEVICE void shareLaunch(u32 &shared) const {
    if (asksOnce && launch::thread() == 0)
      shared = before + 1;
  }
  FUSEC_DEVICE void takeLaunch(const u32 &shared) {
    launch = asksOnce ? shared : before + 1;
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
  FUSEC_DEVICE void tell(u64 *word, T sum) const {
    primitive::tellWord(word, u64(launch) << 32 | detail::toBits(sum));
  }
  /// What the word holds, of which `seen` was there before.
  FUSEC_DEVICE T await(const u64 *word, u64 seen) const {
    while (u32(seen >> 32) != launch)
      seen = primitive::peekWord(word);
    T sum;
    detail::fromBits(u32(seen), sum);
    return sum;
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
      left = primitive::takeTurn(flags + 1, u32(launch::blocks()) - 1);
  }
  FUSEC_DEVICE void end() const {
    if (launch::thread() != 0 || !isLast || left + 1 != u32(launch::blocks()))
      return;
    // Numbers begin again: what is there must not be taken for new.
    const bool begins = launch == ~u32(0);
    flags[ScanWords::launches] = begins ? 0 : launch;
    const u32 end = begins ? flags[ScanWords::size] : 0;
    for (u32 word = ScanWords::flags; word < end; ++word)
      flags[word] = 0;
  }

private:
  u32 before, launch, left = 0;
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
