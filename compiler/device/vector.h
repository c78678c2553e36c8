// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of storage elements, moved by the widest accesses that their size
// allows (16 bytes at most; larger vectors take several). The caller
// guarantees alignment to min(size, 16) bytes.

#ifndef FUSEC_DEVICE_VECTOR_H
#define FUSEC_DEVICE_VECTOR_H

#include "loops.h"

namespace fusec {

namespace detail {
constexpr FUSEC_DEVICE int accessBytes(int bytes) {
  return bytes % 16 == 0  ? 16
         : bytes % 8 == 0 ? 8
         : bytes % 4 == 0 ? 4
         : bytes % 2 == 0 ? 2
                          : 1;
}
template <int Bytes> struct WordOf;
template <> struct WordOf<1> { typedef u8 Type; };
template <> struct WordOf<2> { typedef u16 Type; };
template <> struct WordOf<4> { typedef u32 Type; };
template <> struct WordOf<8> { typedef primitive::Word8 Type; };
template <> struct WordOf<16> { typedef primitive::Word16 Type; };
} // namespace detail

/// V elements of T in registers.
template <class T, int V>
struct alignas(detail::accessBytes(int(sizeof(T)) * V)) Vec {
  T at[V];
  FUSEC_DEVICE T &operator[](int i) { return at[i]; }
  FUSEC_DEVICE const T &operator[](int i) const { return at[i]; }
};

namespace detail {
template <class T, int V> union VecWords {
  typedef typename WordOf<accessBytes(int(sizeof(T)) * V)>::Type Word;
  static constexpr int count = int(sizeof(T)) * V / int(sizeof(Word));
  Vec<T, V> vector;
  Word words[count];
  FUSEC_DEVICE VecWords() {}
};
} // namespace detail

/// V elements from `p`.
template <int V, class T> FUSEC_DEVICE Vec<T, V> load(const T *p) {
  detail::VecWords<T, V> u;
  auto *words = reinterpret_cast<const typename decltype(u)::Word *>(p);
  FUSEC_UNROLL
  for (int i = 0; i < u.count; ++i)
    u.words[i] = words[i];
  return u.vector;
}

namespace detail {
/// The same, each word by `read`, but for those of less than 4 bytes.
template <int V, class T, class Read>
FUSEC_DEVICE Vec<T, V> loadWords(const T *p, Read read) {
  VecWords<T, V> u;
  typedef typename decltype(u)::Word Word;
  auto *words = reinterpret_cast<const Word *>(p);
  FUSEC_UNROLL
  for (int i = 0; i < u.count; ++i)
    u.words[i] = read(words + i);
  return u.vector;
}
} // namespace detail

/// The same, past L1: for data that is read once.
template <int V, class T> FUSEC_DEVICE Vec<T, V> loadStream(const T *p) {
  return detail::loadWords<V>(p, [](const auto *word) {
    if constexpr (sizeof(*word) >= 4)
      return primitive::loadOnce(word);
    else
      return *word;
  });
}

/// A pointer to data that is loaded by a rule: Rule::load(word).
template <class T, class Rule> struct ReadBy {
  const T *at;
  FUSEC_DEVICE explicit ReadBy(const T *at) : at(at) {}
  template <class Index> FUSEC_DEVICE ReadBy operator+(Index i) const {
    return ReadBy(at + i);
  }
  template <class Index> FUSEC_DEVICE ReadBy operator-(Index i) const {
    return ReadBy(at - i);
  }
  template <class Index> FUSEC_DEVICE T operator[](Index i) const {
    return load<1>(*this + i)[0];
  }
};
template <int V, class T, class Rule>
FUSEC_DEVICE Vec<T, V> load(ReadBy<T, Rule> p) {
  return detail::loadWords<V>(
      p.at, [](const auto *word) { return Rule::load(word); });
}

/// Of data that is read once: its lines leave L2 before others. No load of
/// bytes has a policy, and one that is made for nothing keeps a loop from being
/// unrolled.
struct LeavesFirst {
  template <class Word> static FUSEC_DEVICE Word load(const Word *word) {
    if constexpr (sizeof(Word) == 1)
      return *word;
    else
      return primitive::loadPassing(word);
  }
};
/// The same, but they stay longer, so that what the kernel stores is written
/// back soon.
struct StaysLonger {
  template <class Word> static FUSEC_DEVICE Word load(const Word *word) {
    if constexpr (sizeof(Word) == 1)
      return *word;
    else
      return primitive::loadStaying(word);
  }
};
/// Of data of which elements are picked here and there until little of it is
/// left: L2 fetches whole lines for them.
struct FetchesLine {
  template <class Word> static FUSEC_DEVICE Word load(const Word *word) {
    return primitive::loadOfLine(word);
  }
};
template <class T> using Passing = ReadBy<T, LeavesFirst>;
template <class T> using Staying = ReadBy<T, StaysLonger>;
template <class T> using PickedFrom = ReadBy<T, FetchesLine>;

template <int V, class T> FUSEC_DEVICE void store(T *p, Vec<T, V> value) {
  detail::VecWords<T, V> u;
  u.vector = value;
  auto *words = reinterpret_cast<typename decltype(u)::Word *>(p);
  FUSEC_UNROLL
  for (int i = 0; i < u.count; ++i)
    words[i] = u.words[i];
}

/// The same, marked for early eviction: for data that nobody reads soon.
template <int V, class T> FUSEC_DEVICE void storeStream(T *p, Vec<T, V> value) {
  detail::VecWords<T, V> u;
  u.vector = value;
  typedef typename decltype(u)::Word Word;
  auto *words = reinterpret_cast<Word *>(p);
  FUSEC_UNROLL
  for (int i = 0; i < u.count; ++i) {
    if constexpr (sizeof(Word) >= 4)
      primitive::storeOnce(words + i, u.words[i]);
    else
      words[i] = u.words[i];
  }
}

/// The vector where it is there, else zeros.
template <class T, int V>
FUSEC_DEVICE Vec<T, V> orZeros(bool isThere, const Vec<T, V> &from) {
  detail::VecWords<T, V> u;
  u.vector = from;
  FUSEC_UNROLL
  for (int i = 0; i < u.count; ++i)
    u.words[i] = isThere ? u.words[i] : typename decltype(u)::Word{};
  return u.vector;
}

/// Every `Stride`-th element, from the one at `First` on.
template <int Stride, int First, class T, int N>
FUSEC_DEVICE Vec<T, N / Stride> takeEvery(const Vec<T, N> &from) {
  Vec<T, N / Stride> taken;
  FUSEC_UNROLL
  for (int i = 0; i < N / Stride; ++i)
    taken[i] = from[i * Stride + First];
  return taken;
}
/// The last one first.
template <class T, int N>
FUSEC_DEVICE Vec<T, N> reverse(const Vec<T, N> &from) {
  Vec<T, N> turned;
  FUSEC_UNROLL
  for (int i = 0; i < N; ++i)
    turned[i] = from[N - 1 - i];
  return turned;
}

/// The largest of `Most`, Most/2, ..., 1 elements of T whose bytes divide
/// `alignment`: the access width that a guaranteed alignment allows.
template <class T>
constexpr FUSEC_DEVICE int vectorOf(int alignment, int most) {
  int v = most;
  while (v > 1 &&
         alignment % (v * int(sizeof(T)) < 16 ? v * int(sizeof(T)) : 16))
    v /= 2;
  return v;
}

} // namespace fusec

#endif // FUSEC_DEVICE_VECTOR_H
