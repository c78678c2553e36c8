// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of shared memory between loads and stores that lie along different
// dimensions: neighbouring threads load neighbours of one, and store those of
// the other.

#ifndef FUSEC_DEVICE_TRANSPOSE_H
#define FUSEC_DEVICE_TRANSPOSE_H

#include "vector.h"

namespace fusec {

/// `Across` rows of `Along` elements.
template <class T, int Along, int Across,
          // A word more than a power of two: neighbours of a column lie in
          // different banks.
          int Pitch = Along + (sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1)>
struct TransposeTile {
  typedef T Element;
  static constexpr int along = Along, across = Across, pitch = Pitch;
  alignas(16) T at[Across * Pitch]; // written by words
};

/// Calls body(tile) for each of `count` tiles, one a block at a time. Every
/// thread of the block runs it.
template <class Index, class Body>
FUSEC_DEVICE void forEachTile(Index count, Body body) {
  const Index blocks = Index(launch::blocks());
  for (Index tile = Index(launch::block()); tile < count; tile += blocks) {
    body(tile);
    // The sum may have no place in an Index.
    if (count - tile <= blocks)
      break;
  }
}

/// Threads of a block that the GPU gives `Threads`, a power of two, how often
/// they take `Steps` of `Count` things each, and the first that a thread takes
/// in a turn. It is never negative, so that a shift divides it: NVRTC is told
/// by a mask.
template <int Threads>
constexpr int threadsOf = Threads / launch::workersOf(Threads);
template <int Count, int Threads, int Steps = 1>
constexpr int turnsOf = (Count + Steps * threadsOf<Threads> - 1) /
                        (Steps * threadsOf<Threads>);
template <int Threads, int Steps = 1> FUSEC_DEVICE int firstOf(int turn) {
  constexpr int threads = threadsOf<Threads>;
  static_assert((threads & (threads - 1)) == 0, "a mask");
  return turn * Steps * threads + (launch::thread() & (threads - 1));
}

/// A place in a tile. Where it knows more of where a vector is stored, NVRTC
/// stores its elements one by one.
template <int V> FUSEC_DEVICE int placeOf(int place) {
  return V > 1 ? primitive::opaque(place) : place;
}

/// Stores a vector by words: rows of tiles begin at whole ones, no more.
template <class T, int V>
FUSEC_DEVICE void storeWords(T *to, const Vec<T, V> &vector) {
  constexpr int W = vectorOf<T>(4, V);
  FUSEC_UNROLL
  for (int lane = 0; lane < V; lane += W) {
    Vec<T, W> word;
    FUSEC_UNROLL
    for (int w = 0; w < W; ++w)
      word[w] = vector[lane + w];
    store<W>(to + lane, word);
  }
}

/// Loads what a tile has, past L1 or as its pointer says.
template <int V, class T> FUSEC_DEVICE Vec<T, V> loadOfTile(const T *from) {
  return loadStream<V>(from);
}
template <int V, class T, class Rule>
FUSEC_DEVICE Vec<T, V> loadOfTile(ReadBy<T, Rule> from) {
  return load<V>(from);
}

/// Where a thread's n-th of the things is that lie InRow to a row. A thread
/// keeps to its column, if it can: so its addresses are as far from one another
/// as constants say, and are found once.
struct PlaceInRows {
  int row, column;
};
template <int InRow, int Threads> FUSEC_DEVICE PlaceInRows placeInRows(int n) {
  constexpr int threads = threadsOf<Threads>;
  const int thread = firstOf<Threads>(0);
  if constexpr (threads % InRow == 0)
    return {thread / InRow + n * (threads / InRow), thread % InRow};
  const int i = thread + n * threads;
  return {i / InRow, i % InRow};
}

/// Loads V elements at a time from address(a, b), for all that is left in the
/// tile's dimensions; up to eight loads of a thread are on their way together,
/// sixteen of single elements.
template <int V, int Threads, class T, int Along, int Across, int Pitch,
          class Index, class Address>
FUSEC_DEVICE void fillTile(TransposeTile<T, Along, Across, Pitch> &tile,
                           Index alongLeft, Index acrossLeft, Address address) {
  // More at once would leave registers for fewer blocks.
  constexpr int vectors = Along / V, count = vectors * Across,
                all = turnsOf<count, Threads>, most = V == 1 ? 16 : 8,
                steps = all < most ? all : most;
  for (int first = 0; first < all; first += steps) {
    Vec<T, V> loaded[steps];
    auto placeOf = [&](int s) {
      return placeInRows<vectors, Threads>(first + s);
    };
    auto isInside = [&](PlaceInRows at) {
      return (count % threadsOf<Threads> == 0 || at.row < Across) &&
             at.column * V < alongLeft && at.row < acrossLeft;
    };
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (const PlaceInRows at = placeOf(s); isInside(at))
        loaded[s] = loadOfTile<V>(address(at.column * V, at.row));
    launch::warpBarrier(); // None is stored before all are on their way.
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (const PlaceInRows at = placeOf(s); isInside(at))
        storeWords(tile.at + at.row * tile.pitch + at.column * V, loaded[s]);
  }
}

/// fillTile of whole rows that lie one behind the other, as they do in the
/// tile: `count` elements from an aligned address on.
template <int V, int Threads, class Tile, class Pointer>
FUSEC_DEVICE void fillTileOfWholeRows(Tile &tile, int count, Pointer from) {
  constexpr int most = Tile::pitch * Tile::across / V,
                steps = (most + Threads - 1) / Threads;
  constexpr int threads = threadsOf<Threads>;
  for (int turn = 0; turn < turnsOf<most, Threads, steps>; ++turn) {
    const int first = firstOf<Threads, steps>(turn);
    Vec<typename Tile::Element, V> loaded[steps];
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (int i = (first + s * threads) * V; i < count)
        loaded[s] = loadOfTile<V>(from + i);
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (int i = (first + s * threads) * V; i < count)
        store<V>(tile.at + i, loaded[s]);
  }
}

/// Calls body(a, b) for V neighbours across, for all that is left in the tile's
/// dimensions.
template <int V, int Along, int Across, int Threads, class Index, class Body>
FUSEC_DEVICE void forEachInTile(Index alongLeft, Index acrossLeft, Body body) {
  constexpr int vectors = Across / V, count = vectors * Along;
  FUSEC_UNROLL_BY(2)
  for (int turn = 0; turn < turnsOf<count, Threads>; ++turn)
    if (const int i = firstOf<Threads>(turn);
        i < count && i / vectors < alongLeft && i % vectors * V < acrossLeft)
      body(placeOf<V>(i / vectors), placeOf<V>(i % vectors * V));
}

/// What a point of a tile reads, of which there is none beyond an edge.
template <class Pointer> struct OfPoint {
  Pointer at;
  bool isThere;
  FUSEC_DEVICE OfPoint(Pointer at, bool isThere) : at(at), isThere(isThere) {}
  template <class Index> FUSEC_DEVICE OfPoint operator+(Index i) const {
    return OfPoint(at + i, isThere);
  }
  template <class Index> FUSEC_DEVICE auto operator[](Index i) const {
    return load<1>(*this + i)[0];
  }
};
template <int V, class Pointer>
FUSEC_DEVICE auto load(const OfPoint<Pointer> &point) {
  decltype(load<V>(point.at)) loaded = {};
  if (point.isThere)
    loaded = load<V>(point.at);
  return loaded;
}

/// The same where points need more than the tile, which `fill` fills: a
/// body(a, b, isThere) loads that, and returns what is left to do for the point
/// (a, b), if it is there. `AtOnce` vectors of a thread load together, the
/// first ones before the tile is filled.
template <int V, int Along, int Across, int Threads, int AtOnce, class Index,
          class Fill, class Body>
FUSEC_DEVICE void forEachBesideTile(Index alongLeft, Index acrossLeft,
                                    Fill fill, Body body) {
  constexpr int vectors = Across / V, threads = threadsOf<Threads>,
                count = vectors * Along / threads;
  static_assert(vectors * Along % (AtOnce * threads) == 0, "of all the same");
  auto begin = [&](int n) {
    const PlaceInRows place = placeInRows<vectors, Threads>(n);
    const int a = place.row, b = place.column * V;
    const bool isThere = a < alongLeft && b < acrossLeft;
    const auto begun = body(a, b, isThere);
    return [=] {
      if (isThere)
        begun(a, b);
    };
  };
  detail::beginTogether<AtOnce>(0, 1, begin, fill);
  for (int n = AtOnce; n < count; n += AtOnce)
    detail::beginTogether<AtOnce>(n, 1, begin);
}

/// V neighbours across.
template <int V, class Tile>
FUSEC_DEVICE Vec<typename Tile::Element, V> readTile(const Tile &tile, int a,
                                                     int b) {
  Vec<typename Tile::Element, V> read;
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane)
    read[lane] = tile.at[(b + lane) * tile.pitch + a];
  return read;
}
} // namespace fusec

#endif // FUSEC_DEVICE_TRANSPOSE_H
