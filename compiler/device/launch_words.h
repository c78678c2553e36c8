// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How blocks tell one another values of 32 bits: by words that also hold the
// launch's number, so that no flag is waited for or cleared.

#ifndef FUSEC_DEVICE_LAUNCH_WORDS_H
#define FUSEC_DEVICE_LAUNCH_WORDS_H

#include "flag_words.h"
#include "prelude_grid.h"

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

/// What a thread knows of the launch.
class LaunchWords {
public:
  explicit FUSEC_DEVICE LaunchWords(u32 *flags) : flags(flags) {}
  FUSEC_DEVICE u64 *words() const {
    return reinterpret_cast<u64 *>(flags + FlagWords::flags);
  }

  /// Asks which launch it is. The answer takes a while: whoever needs it waits.
  FUSEC_DEVICE void ask() {
    before = primitive::peekFlag(flags + FlagWords::launches);
  }
  FUSEC_DEVICE u32 getAsked() const { return before + 1; }
  /// As this thread, or another one, has asked; before anything is told.
  FUSEC_DEVICE void setNumber(u32 launch) { number = launch; }

  template <class T> FUSEC_DEVICE void tell(u64 *word, T value) const {
    primitive::tellWord(word, u64(number) << 32 | detail::toBits(value));
  }
  /// What the word holds, of which `seen` was there before.
  template <class T> FUSEC_DEVICE T await(const u64 *word, u64 seen) const {
    while (!isOfLaunch(seen))
      seen = primitive::peekWord(word);
    return valueOf<T>(seen);
  }
  /// What some words beside one another hold. All are asked for at once, each
  /// time.
  template <class T, int Count>
  FUSEC_DEVICE void awaitAll(const u64 *words, T (&values)[Count]) const {
    u64 seen[Count];
    bool areThere;
    do {
      FUSEC_UNROLL
      for (int word = 0; word < Count; ++word)
        seen[word] = primitive::peekWord(words + word);
      areThere = true;
      FUSEC_UNROLL
      for (int word = 0; word < Count; ++word)
        areThere &= isOfLaunch(seen[word]);
    } while (!areThere);
    FUSEC_UNROLL
    for (int word = 0; word < Count; ++word)
      values[word] = valueOf<T>(seen[word]);
  }

  /// By one thread: says that its block knows the launch and waits for nobody
  /// any more; end() at the block's end.
  FUSEC_DEVICE void leave() {
    left = primitive::takeTurn(flags + 1, u32(launch::blocks()) - 1);
  }
  FUSEC_DEVICE void end() const {
    if (left + 1 != u32(launch::blocks()))
      return;
    // Numbers begin again: what is there must not be taken for new.
    const bool begins = number == ~u32(0);
    flags[FlagWords::launches] = begins ? 0 : number;
    const u32 end = begins ? flags[FlagWords::size] : 0;
    for (u32 word = FlagWords::flags; word < end; ++word)
      flags[word] = 0;
  }

private:
  FUSEC_DEVICE bool isOfLaunch(u64 word) const {
    return u32(word >> 32) == number;
  }
  template <class T> static FUSEC_DEVICE T valueOf(u64 word) {
    T value;
    detail::fromBits(u32(word), value);
    return value;
  }

  u32 *flags;
  u32 before, number, left; // once asked, told and left
};

} // namespace fusec

#endif // FUSEC_DEVICE_LAUNCH_WORDS_H
