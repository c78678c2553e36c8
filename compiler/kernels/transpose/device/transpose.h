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

/// Loads what a tile has, of lines that stay in L2, or past L1.
template <int V, bool Stays, class T>
FUSEC_DEVICE Vec<T, V> loadOfTile(const T *from) {
  if constexpr (Stays)
    return load<V>(Staying<T>(from));
  else
    return loadStream<V>(from);
}

/// Loads V elements at a time from address(a, b), for all that is left in the
/// tile's dimensions; up to eight loads of a thread are on their way together,
/// sixteen of single elements.
template <int V, int Threads, bool Stays = false, class T, int Along,
          int Across, int Pitch, class Index, class Address>
FUSEC_DEVICE void fillTile(TransposeTile<T, Along, Across, Pitch> &tile,
                           Index alongLeft, Index acrossLeft, Address address) {
  // More at once would leave registers for fewer blocks.
  constexpr int vectors = Along / V, count = vectors * Across,
                all = (count + Threads - 1) / Threads, most = V == 1 ? 16 : 8,
                steps = all < most ? all : most;
  constexpr int threads = threadsOf<Threads>;
  for (int turn = 0; turn < turnsOf<count, Threads, steps>; ++turn) {
    const int first = firstOf<Threads, steps>(turn);
    Vec<T, V> loaded[steps];
    auto isInside = [&](int i) {
      return i < count && i % vectors * V < alongLeft &&
             i / vectors < acrossLeft;
    };
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      int i = first + s * threads;
      if (isInside(i))
        loaded[s] = loadOfTile<V, Stays>(address(i % vectors * V, i / vectors));
    }
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      int i = first + s * threads;
      T *to = tile.at + i / vectors * tile.pitch + i % vectors * V;
      if (!isInside(i))
        continue;
      storeWords(to, loaded[s]);
    }
  }
}

/// fillTile of whole rows that lie one behind the other, as they do in the
/// tile: `count` elements from an aligned address on.
template <int V, int Threads, class Tile>
FUSEC_DEVICE void fillTileOfWholeRows(Tile &tile, int count,
                                      const typename Tile::Element *from) {
  constexpr int most = Tile::pitch * Tile::across / V,
                steps = (most + Threads - 1) / Threads;
  constexpr int threads = threadsOf<Threads>;
  for (int turn = 0; turn < turnsOf<most, Threads, steps>; ++turn) {
    const int first = firstOf<Threads, steps>(turn);
    Vec<typename Tile::Element, V> loaded[steps];
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (int i = (first + s * threads) * V; i < count)
        loaded[s] = loadStream<V>(from + i);
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (int i = (first + s * threads) * V; i < count)
        store<V>(tile.at + i, loaded[s]);
  }
}

/// fillTile of rows that begin anywhere in memory, from offsetOf(b) on in
/// `buffer`, whose first element is aligned and which has `extent`: by the
/// whole vectors of memory, so that a row begins in the tile as far behind a
/// multiple of V as it does there. The tile has V elements along more for that.
/// Its first `Before` rows are those before the first one, as far as there are.
template <int V, int Threads, int Before, bool Stays = false, class T,
          int Along, int Across, class Index, class OffsetOf>
FUSEC_DEVICE void fillTileByRows(TransposeTile<T, Along, Across> &tile,
                                 Index alongLeft, Index acrossFirst,
                                 Index acrossLeft, const T *buffer,
                                 Index extent, OffsetOf offsetOf) {
  constexpr int vectors = Along / V, count = vectors * Across,
                all = (count + Threads - 1) / Threads,
                most = V == 1              ? 8
                       : sizeof(Index) > 4 ? 1
                                           : 3,
                steps = all < most ? all : most, threads = threadsOf<Threads>;
  for (int turn = 0; turn < turnsOf<count, Threads, steps>; ++turn) {
    const int first = firstOf<Threads, steps>(turn);
    Index at[steps];
    bool isThere[steps], isInside = true;
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const int i = first + s * threads, b = i / vectors - Before;
      const Index begin = offsetOf(b);
      at[s] = begin - begin % V + i % vectors * V;
      isThere[s] = i < count && b < acrossLeft && acrossFirst + b >= 0 &&
                   at[s] < begin + alongLeft;
      isInside &= !isThere[s] || at[s] + V <= extent;
    }
    auto toOf = [&](int s) {
      const int i = first + s * threads;
      return tile.at + i / vectors * tile.pitch + i % vectors * V;
    };
    if (!isInside) {
      FUSEC_UNROLL
      for (int s = 0; s < steps; ++s) {
        FUSEC_UNROLL_BY(1)
        for (int lane = 0; isThere[s] && lane < V && at[s] + lane < extent;
             ++lane)
          toOf(s)[lane] = buffer[at[s] + lane];
      }
      continue;
    }
    Vec<T, V> loaded[steps];
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (isThere[s])
        loaded[s] = loadOfTile<V, Stays>(buffer + at[s]);
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (isThere[s])
        storeWords(toOf(s), loaded[s]);
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

/// The same where points need more than the tile, which `fill` fills: a body
/// loads that and returns what is left to do. Of a whole tile `AtOnce` vectors
/// of a thread load together, the first ones before the tile is filled.
template <int V, int Along, int Across, int Threads, int AtOnce, class Index,
          class Fill, class Body>
FUSEC_DEVICE void forEachBesideTile(Index alongLeft, Index acrossLeft,
                                    Fill fill, Body body) {
  constexpr int vectors = Across / V, count = vectors * Along,
                threads = threadsOf<Threads>, step = AtOnce * threads;
  auto begin = [&](int i) { return body(i / vectors, i % vectors * V); };
  if (alongLeft >= Along && acrossLeft >= Across && count % step == 0) {
    // Divided by a shift, these threads would wait for the tile first: 3% of
    // 8192 x 8192.
    detail::beginTogether<AtOnce>(launch::thread(), threads, begin, fill);
    for (int first = step; first < count; first += step)
      detail::beginTogether<AtOnce>(first + launch::thread(), threads, begin);
    return;
  }
  fill();
  for (int i = firstOf<Threads>(0); i < count; i += threads)
    if (i / vectors < alongLeft && i % vectors * V < acrossLeft)
      detail::goOn(begin(i));
}

/// Calls body(a, b) for all that is left in the tile's dimensions: a thread
/// keeps to one place across, so that what depends on it is found once.
template <int Along, int Across, int Threads, class Index, class Body>
FUSEC_DEVICE void forEachOfColumns(Index alongLeft, Index acrossLeft,
                                   Body body) {
  static_assert(Threads % Across == 0, "a thread has no part of a column");
  constexpr int step = Threads / Across;
  for (int turn = 0; turn < turnsOf<Threads, Threads>; ++turn) {
    const int t = firstOf<Threads>(turn);
    const int b = t % Across, first = t / Across;
    if (b >= acrossLeft)
      continue;
    if (alongLeft >= Along) {
      FUSEC_UNROLL_BY(8)
      for (int a = 0; a < Along; a += step)
        if (Along % step == 0 || first + a < Along)
          body(first + a, b);
    } else {
      FUSEC_UNROLL_BY(1)
      for (int a = first; a < alongLeft; a += step)
        body(a, b);
    }
  }
}

/// Calls body(a, chunk) for each chunk of V that a row across has of a tile.
template <int V, int Along, int Across, int Threads, class Index, class Body>
FUSEC_DEVICE void forEachChunkInTile(Index alongLeft, Body body) {
  constexpr int chunks = Across / V, count = chunks * Along;
  FUSEC_UNROLL_BY(1)
  for (int turn = 0; turn < turnsOf<count, Threads>; ++turn)
    if (const int i = firstOf<Threads>(turn);
        i < count && i / chunks < alongLeft)
      body(placeOf<V>(i / chunks), placeOf<V>(i % chunks));
}

/// The same where points need more than the tile, which `fill` fills: calls
/// body(a, column, tag) for the columns of each chunk, from firstColumn(a,
/// chunk) on: together, or one by one where a row of `columns` begins or ends
/// within. A body loads, and returns what is left to do. A thread's first one
/// begins before the tile is filled, without a whole chunk for others' columns.
template <int V, int Along, int Across, int Threads, class Index, class Fill,
          class FirstColumn, class Body>
FUSEC_DEVICE void forEachChunkBesideTile(Index alongLeft, Index columns,
                                         Fill fill, FirstColumn firstColumn,
                                         Body body) {
  constexpr int chunks = Across / V, count = chunks * Along;
  auto isThere = [&](int i) { return i < count && i / chunks < alongLeft; };
  auto isWhole = [&](Index first) {
    return first >= 0 && first + V <= columns;
  };
  auto takeOnes = [&](int a, Index first) {
    for (int lane = 0; lane < V; ++lane)
      if (const Index column = first + lane; column >= 0 && column < columns)
        detail::goOn(body(a, column, Width<1>()));
  };
  const int i = firstOf<Threads>(0);
  const int a = placeOf<V>(isThere(i) ? i / chunks : 0);
  const Index first = firstColumn(a, placeOf<V>(i % chunks));
  const auto begun =
      body(a, isWhole(first) ? first : (first % V + V) % V, Width<V>());
  fill();
  if (isThere(i) && isWhole(first))
    detail::goOn(begun);
  else if (isThere(i))
    takeOnes(a, first);
  FUSEC_UNROLL_BY(1)
  for (int turn = 1; turn < turnsOf<count, Threads>; ++turn)
    if (const int at = firstOf<Threads>(turn); isThere(at)) {
      const int row = placeOf<V>(at / chunks);
      const Index column = firstColumn(row, placeOf<V>(at % chunks));
      if (isWhole(column))
        detail::goOn(body(row, column, Width<V>()));
      else
        takeOnes(row, column);
    }
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
/// The same of a tile whose rows begin beginOf(lane) elements behind its own.
template <int V, class Tile, class BeginOf>
FUSEC_DEVICE Vec<typename Tile::Element, V> readTile(const Tile &tile, int a,
                                                     int b, BeginOf beginOf) {
  Vec<typename Tile::Element, V> read;
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane)
    read[lane] = tile.at[(b + lane) * tile.pitch + a + beginOf(lane)];
  return read;
}

} // namespace fusec

#endif // FUSEC_DEVICE_TRANSPOSE_H
