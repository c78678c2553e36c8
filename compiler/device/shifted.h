// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors that begin anywhere in memory: the granules of at most 16 bytes that
// hold their elements are loaded, and shifted into place in registers. Loaded
// one by one, the lanes of a warp would ask for every line once an element.

#ifndef FUSEC_DEVICE_SHIFTED_H
#define FUSEC_DEVICE_SHIFTED_H

#include "vector.h"

namespace fusec {
namespace detail {
/// As one of 0..V, of any type of index.
template <int V, class Index> FUSEC_DEVICE int clampLane(Index lane) {
  return lane < 0 ? 0 : lane > V ? V : int(lane);
}
} // namespace detail

/// The granules around V elements of T, as they lie: loaded at once, so that
/// more loads may follow before shift() waits for these.
template <class T, int V> class Around {
  static constexpr int bytes = int(sizeof(T)) * V;
  static constexpr int granule = detail::accessBytes(bytes);
  static constexpr int wordsOfGranule = granule / 4;
  static constexpr int count = bytes / granule + 1;
  static constexpr int words = count * wordsOfGranule;
  static_assert(granule >= 8, "vectors of 8 bytes or more");

public:
  /// Of elements from..to of the V; of these alone granules are read, each by
  /// `read`, and none that reaches beyond `end`, where there is one.
  template <class Read>
  FUSEC_DEVICE Around(const T *at, int from, int to, const T *end, Read read)
      : at(at), from(from), to(to) {
    shift = int(reinterpret_cast<u64>(at) % granule);
    const int begin = from * int(sizeof(T)) + shift,
              stop = to * int(sizeof(T)) + shift;
    const u8 *first = reinterpret_cast<const u8 *>(at) - shift,
             *last = first + (stop + granule - 1) / granule * granule;
    const bool isAny = from < to;
    endsInside = isAny && end && last > reinterpret_cast<const u8 *>(end);
    FUSEC_UNROLL
    for (int i = 0; i < count; ++i) {
      detail::VecWords<u32, wordsOfGranule> u;
      u.vector = {};
      if (isAny && !endsInside && begin < (i + 1) * granule &&
          stop > i * granule)
        u.words[0] = read(reinterpret_cast<const typename decltype(u)::Word *>(
            first + i * granule));
      FUSEC_UNROLL
      for (int j = 0; j < wordsOfGranule; ++j)
        held[i * wordsOfGranule + j] = u.vector[j];
    }
  }

  /// The elements; those that were not asked for are anything.
  FUSEC_DEVICE Vec<T, V> take() const {
    u32 moved[words];
    FUSEC_UNROLL
    for (int i = 0; i < words; ++i)
      moved[i] = held[i];
    if constexpr (granule == 16)
      dropWords<2>(moved, shift & 8);
    if constexpr (sizeof(T) <= 4)
      dropWords<1>(moved, shift & 4);
    union {
      Vec<T, V> vector;
      u32 at[bytes / 4];
    } u;
    FUSEC_UNROLL
    for (int i = 0; i < bytes / 4; ++i)
      u.at[i] = sizeof(T) >= 4
                    ? moved[i]
                    : primitive::permuteBytes(moved[i], moved[i + 1],
                                              0x3210u + 0x1111u * (shift & 3));
    if (endsInside) {
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        if (i >= from && i < to)
          u.vector[i] = at[i];
    }
    return u.vector;
  }

private:
  template <int Count>
  FUSEC_DEVICE static void dropWords(u32 (&moved)[words], bool isDropped) {
    FUSEC_UNROLL
    for (int i = 0; i + Count < words; ++i)
      moved[i] = isDropped ? moved[i + Count] : moved[i];
  }

  const T *at;
  int from, to, shift; // elements, bytes
  bool endsInside;     // the last granule reaches beyond the end
  u32 held[words];
};

/// A single element of a tail.
template <class T> class Around<T, 1> {
public:
  template <class Read>
  FUSEC_DEVICE Around(const T *at, int from, int to, const T *, Read) : held() {
    if (from < 1 && to > 0)
      held[0] = *at;
  }
  FUSEC_DEVICE Vec<T, 1> take() const { return held; }

private:
  Vec<T, 1> held;
};

/// What is around elements from..to of the V that begin at `at`, of memory that
/// begins with a whole granule, and ends with one or at `end`.
template <int V, class T, class From, class To>
FUSEC_DEVICE Around<T, V> loadAround(const T *at, From from, To to,
                                     const T *end = nullptr) {
  return {at, detail::clampLane<V>(from), detail::clampLane<V>(to), end,
          [](const auto *word) { return *word; }};
}
template <int V, class T, class Rule, class From, class To>
FUSEC_DEVICE Around<T, V>
loadAround(ReadBy<T, Rule> p, From from, To to,
           ReadBy<T, Rule> end = ReadBy<T, Rule>(nullptr)) {
  return {p.at, detail::clampLane<V>(from), detail::clampLane<V>(to), end.at,
          [](const auto *word) { return Rule::load(word); }};
}
/// The same of all of them.
template <int V, class Pointer> FUSEC_DEVICE auto loadAround(Pointer at) {
  return loadAround<V>(at, 0, V);
}
template <int V, class Pointer>
FUSEC_DEVICE auto loadAround(Pointer at, Pointer end) {
  return loadAround<V>(at, 0, V, end);
}

template <class T, int V>
FUSEC_DEVICE Vec<T, V> shift(const Around<T, V> &around) {
  return around.take();
}

} // namespace fusec

#endif // FUSEC_DEVICE_SHIFTED_H
