// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of a grid's threads over items, over vectors of them, and over parts of
// rows; grids whose blocks run several.

#ifndef FUSEC_DEVICE_LOOPS_H
#define FUSEC_DEVICE_LOOPS_H

#include "prelude.h"

namespace fusec {

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

template <int N> struct Width { static constexpr int value = N; };

namespace detail {
/// Calls body(i) from `first` on: once at most, but on the host, whose threads
/// stand for many.
template <class Index, class Body>
FUSEC_DEVICE void forOwn(Index first, Index count, Index threads, Body body) {
  for (Index i = first; i < count; i += threads) {
    body(i);
    if constexpr (launch::workersOf(2) == 1)
      break;
  }
}

template <int V, int AtOnce, class Index, class Body>
FUSEC_DEVICE void forEachVector(Index count, Body body, Index block,
                                Index blocks) {
  const Index threads = Index(launch::threads()), step = blocks * threads;
  const Index whole = count / V, thread = Index(launch::thread());
  auto one = [&](Index i, auto width) {
    if constexpr (AtOnce > 1)
      goOn(body(i, width));
    else
      body(i, width);
  };
  Index first = 0; // of those that are taken one by one
  if constexpr (AtOnce > 1) {
    const Index tile = threads * AtOnce, tiles = whole / tile;
    for (Index i = block; i < tiles; i += blocks)
      beginTogether<AtOnce>(i * tile + thread, threads,
                            [&](Index at) { return body(at * V, Width<V>()); });
    first = tiles * tile;
  }
  for (Index i = first + block * threads + thread; i < whole; i += step)
    one(i * V, Width<V>());
  if constexpr (V > 1)
    for (Index i = whole * V + block * threads + thread; i < count; i += step)
      one(i, Width<1>());
}

template <class Index, class Body>
FUSEC_DEVICE void forEachPart(Index rows, Index parts, Body body, Index block,
                              Index blocks) {
  const Index threads = Index(launch::threads());
  for (Index i = block * threads + Index(launch::thread()); i < rows * parts;
       i += blocks * threads)
    body(i / parts, i % parts);
}
} // namespace detail

/// Blocks of a grid that run a loop, and which of them this one is.
struct Share {
  i64 block, blocks;
  bool isMine;
};

/// All of a grid's blocks, of which the first to begin take what lies last.
FUSEC_DEVICE Share lastFirst() {
  return {i64(launch::blocks()) - 1 - launch::block(), launch::blocks(), true};
}

/// Calls body(base, tag) for vectors of V items and, where `count` is not a
/// multiple of V, body(i, tag) for each item of the rest; decltype(tag)::value
/// is the width, V or 1. Where `AtOnce` is more than 1, a body loads and
/// returns what is left to do, which may do so again, and so many of a thread
/// load before the first goes on.
template <int V, int AtOnce = 1, class Index, class Body>
FUSEC_DEVICE void forEachVector(Index count, Body body) {
  detail::forEachVector<V, AtOnce>(count, body, Index(launch::block()),
                                   Index(launch::blocks()));
}
template <int V, int AtOnce = 1, class Index, class Body>
FUSEC_DEVICE void forEachVector(Share share, Index count, Body body) {
  if (share.isMine)
    detail::forEachVector<V, AtOnce>(count, body, Index(share.block),
                                     Index(share.blocks));
}

/// The same of a grid that has a thread for each vector, and no loop: it would
/// be unrolled, which is to divide first. What is left behind the last whole
/// vector begins with the last thread, which has no other where there is room.
template <int V, class Index, class Body>
FUSEC_DEVICE void forOwnVector(Share share, Index count, Body body) {
  if (!share.isMine)
    return;
  const Index threads = Index(share.blocks) * Index(launch::threads()),
              thread = Index(share.block) * Index(launch::threads()) +
                       Index(launch::thread()),
              whole = count / V, rest = count - whole * V;
  detail::forOwn(thread, whole, threads,
                 [&](Index i) { body(i * V, Width<V>()); });
  if (rest)
    detail::forOwn(threads - 1 - thread, rest, threads,
                   [&](Index i) { body(whole * V + i, Width<1>()); });
}
template <int V, class Index, class Body>
FUSEC_DEVICE void forOwnVector(Index count, Body body) {
  forOwnVector<V>(Share{launch::block(), launch::blocks(), true}, count, body);
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
FUSEC_DEVICE void forEachPart(Index rows, Index parts, Body body) {
  detail::forEachPart(rows, parts, body, Index(launch::block()),
                      Index(launch::blocks()));
}
template <class Index, class Body>
FUSEC_DEVICE void forEachPart(Share share, Index rows, Index parts, Body body) {
  if (share.isMine)
    detail::forEachPart(rows, parts, body, Index(share.block),
                        Index(share.blocks));
}

/// The same of a grid that has a thread for each part.
template <class Index, class Body>
FUSEC_DEVICE void forOwnPart(Index rows, Index parts, Body body) {
  forOwnVector<1>(rows * parts,
                  [&](Index i, auto) { body(i / parts, i % parts); });
}
template <class Index, class Body>
FUSEC_DEVICE void forOwnPart(Share share, Index rows, Index parts, Body body) {
  forOwnVector<1>(share, rows * parts,
                  [&](Index i, auto) { body(i / parts, i % parts); });
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

#endif // FUSEC_DEVICE_LOOPS_H
