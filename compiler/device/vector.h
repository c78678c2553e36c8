// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of storage elements, moved by the widest accesses that their size
// allows (16 bytes at most; larger vectors take several). The caller
// guarantees alignment to min(size, 16) bytes.

#ifndef FUSEC_DEVICE_VECTOR_H
#define FUSEC_DEVICE_VECTOR_H

#include "prelude.h"

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

/// Calls body(i) for each of `count` items, spread over the whole grid:
/// neighbours go to neighbouring threads. The index type is the type of count.
template <class Index, class Body>
FUSEC_DEVICE void forEach(Index count, Body body) {
  Index step = Index(launch::blocks()) * Index(launch::threads());
  for (Index i = Index(launch::block()) * Index(launch::threads()) +
                 Index(launch::thread());
       i < count; i += step)
    body(i);
}

namespace detail {
template <class T> constexpr bool isNothing = false;
template <> constexpr bool isNothing<void> = true;

FUSEC_DEVICE void goOn() {}
/// Calls all, then all that they returned, until they return nothing; where the
/// first ones do, the others go on together.
template <class First, class... Others>
FUSEC_DEVICE void goOn(First first, Others... others) {
  if constexpr (isNothing<decltype(first())>)
    first(), goOn(others...);
  else
    goOn(first(), others()...);
}
/// Begins `Count` bodies and then goes on with all of them.
template <int Count, class Index, class Body, class... Begun>
FUSEC_DEVICE void beginTogether(Index i, Index step, Body body,
                                Begun... begun) {
  if constexpr (Count > 0)
    beginTogether<Count - 1>(i + step, step, body, begun..., body(i));
  else
    goOn(begun...);
}
} // namespace detail

/// Blocks of a grid that run a loop, and which of them this one is.
struct Share {
  i64 block, blocks;
  bool isMine;
  static FUSEC_DEVICE Share ofAll() {
    return {i64(launch::block()), i64(launch::blocks()), true};
  }
};

template <int N> struct Width { static constexpr int value = N; };

namespace detail {
/// What is left behind the last whole vector of V items begins with the last of
/// the threads: where each has a vector at most, these have none.
template <int V, class Index, class Body>
FUSEC_DEVICE void forRest(Index count, Index thread, Index threads, Body body) {
  const Index whole = count / V * V;
  if constexpr (V > 1) {
    FUSEC_UNROLL_BY(1)
    for (Index i = threads - 1 - thread; i < count - whole; i += threads)
      body(whole + i, Width<1>());
  }
}
} // namespace detail

/// Calls body(base, tag) for vectors of V items and, where `count` is not a
/// multiple of V, body(i, tag) for each item of the rest; decltype(tag)::value
/// is the width, V or 1. Where `AtOnce` is more than 1, a body loads and
/// returns what is left to do, which may do so again, and so many of a thread
/// load before the first goes on.
template <int V, int AtOnce = 1, class Index, class Body>
FUSEC_DEVICE void forEachVector(Share share, Index count, Body body) {
  if (!share.isMine)
    return;
  const Index block = Index(share.block), blocks = Index(share.blocks);
  const Index threads = Index(launch::threads()), step = blocks * threads;
  const Index whole = count / V, thread = Index(launch::thread());
  auto one = [&](Index i, auto width) {
    if constexpr (AtOnce > 1)
      detail::goOn(body(i, width));
    else
      body(i, width);
  };
  Index first = 0; // of those that are taken one by one
  if constexpr (AtOnce > 1) {
    const Index tile = threads * AtOnce, tiles = whole / tile;
    for (Index i = block; i < tiles; i += blocks)
      detail::beginTogether<AtOnce>(i * tile + thread, threads, [&](Index at) {
        return body(at * V, Width<V>());
      });
    first = tiles * tile;
  }
  for (Index i = first + block * threads + thread; i < whole; i += step)
    one(i * V, Width<V>());
  detail::forRest<V>(count, block * threads + thread, step, one);
}
template <int V, int AtOnce = 1, class Index, class Body>
FUSEC_DEVICE void forEachVector(Index count, Body body) {
  forEachVector<V, AtOnce>(Share::ofAll(), count, body);
}

/// The same of blocks that have a thread for each vector: a loop that no thread
/// of a GPU takes twice is not unrolled, which would be to divide first.
template <int V, class Index, class Body>
FUSEC_DEVICE void forOwnVector(Share share, Index count, Body body) {
  if (!share.isMine)
    return;
  const Index threads = Index(share.blocks) * Index(launch::threads()),
              thread = Index(share.block) * Index(launch::threads()) +
                       Index(launch::thread());
  FUSEC_UNROLL_BY(1)
  for (Index i = thread; i < count / V; i += threads)
    body(i * V, Width<V>());
  detail::forRest<V>(count, thread, threads, body);
}
template <int V, class Index, class Body>
FUSEC_DEVICE void forOwnVector(Index count, Body body) {
  forOwnVector<V>(Share::ofAll(), count, body);
}

/// Calls body(column, tag) for the V columns from `first` on, as far as a row
/// of `count` has them: together, or one by one where it begins or ends within.
template <int V, class Index, class Body>
FUSEC_DEVICE void forColumns(Index first, Index count, Body body) {
  if (first >= 0 && first + V <= count) {
    body(first, Width<V>());
    return;
  }
  FUSEC_UNROLL_BY(1)
  for (Index i = first < 0 ? 0 : first; i < first + V && i < count; ++i)
    body(i, Width<1>());
}

/// Calls body(column, tag) for the part of a row of `count` that begins `begin`
/// elements behind a multiple of V: one of its count / V vectors, from the
/// first such multiple on, or one of 2 * (V - 1) single elements before and
/// behind these. Each is a thread's, or its warp would wait for one after
/// another.
template <int V, class Index, class Body>
FUSEC_DEVICE void forPart(Index part, Index begin, Index count, Body body) {
  const Index vectors = count / V, before = begin ? V - begin : 0,
              head = before < count ? before : count;
  if (part < vectors) {
    if (const Index column = head + part * V; column + V <= count)
      body(column, Width<V>());
    return;
  }
  Index column = part - vectors;
  if (column >= V - 1)
    column += head + (count - head) / V * V - (V - 1);
  else if (column >= head)
    return;
  if (column < count)
    body(column, Width<1>());
}

/// Calls body(row, part) for `parts` of each row.
template <class Index, class Body>
FUSEC_DEVICE void forEachPart(Share share, Index rows, Index parts, Body body) {
  if (!share.isMine)
    return;
  const Index threads = Index(launch::threads());
  for (Index i = Index(share.block) * threads + Index(launch::thread());
       i < rows * parts; i += Index(share.blocks) * threads)
    body(i / parts, i % parts);
}
template <class Index, class Body>
FUSEC_DEVICE void forEachPart(Index rows, Index parts, Body body) {
  forEachPart(Share::ofAll(), rows, parts, body);
}

/// The same of blocks that have a thread for each part.
template <class Index, class Body>
FUSEC_DEVICE void forOwnPart(Share share, Index rows, Index parts, Body body) {
  if (!share.isMine)
    return;
  const Index threads = Index(launch::threads());
  FUSEC_UNROLL_BY(1)
  for (Index i = Index(share.block) * threads + Index(launch::thread());
       i < rows * parts; i += Index(share.blocks) * threads)
    body(i / parts, i % parts);
}
template <class Index, class Body>
FUSEC_DEVICE void forOwnPart(Index rows, Index parts, Body body) {
  forOwnPart(Share::ofAll(), rows, parts, body);
}

/// A grid whose blocks do several things, one after another.
class SharedGrid {
public:
  /// The next `blocks` of it.
  FUSEC_DEVICE Share take(i64 blocks) {
    const Share share = {block, blocks, block >= 0 && block < blocks};
    block -= blocks;
    return share;
  }

private:
  i64 block = launch::block();
};

/// The same of loops that store to parts of the same rows: blocks of each are
/// spread evenly over the grid, so that a row's parts are stored at about one
/// time.
class MixedGrid {
public:
  /// Of so many blocks in all.
  FUSEC_DEVICE explicit MixedGrid(u32 blocks) : left(blocks) {}
  /// As many of those that are left. How many these are is known when
  /// compiling, whichever loop took the block: a thread divides nothing.
  FUSEC_DEVICE Share take(u32 blocks) {
    const bool takesAll = blocks >= left;
    const u32 part =
        takesAll ? 0 : u32(((u64(blocks) << 32) + left - 1) / left);
    left -= blocks;
    if (isTaken)
      return {0, blocks, false};
    const u32 own = takesAll ? block : u32(u64(block) * part >> 32);
    isTaken = takesAll || u32(u64(block + 1) * part >> 32) != own;
    block -= own;
    return {own, blocks, isTaken};
  }

private:
  u32 left, block = u32(launch::block());
  bool isTaken = false;
};

} // namespace fusec

#endif // FUSEC_DEVICE_VECTOR_H
