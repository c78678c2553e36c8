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
template <class Body> FUSEC_DEVICE void forEachTile(i64 count, Body body) {
  for (i64 tile = launch::block(); tile < count; tile += launch::blocks())
    body(tile);
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
                all = count < Threads ? 1 : count / Threads,
                most = V == 1 ? 16 : 8, steps = all < most ? all : most;
  for (int first = launch::thread(); first < count;
       first += steps * launch::threads()) {
    Vec<T, V> loaded[steps];
    auto isInside = [&](int i) {
      return i < count && i % vectors * V < alongLeft &&
             i / vectors < acrossLeft;
    };
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      int i = first + s * launch::threads();
      if (isInside(i))
        loaded[s] = loadStream<V>(address(i % vectors * V, i / vectors));
    }
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      int i = first + s * launch::threads();
      T *to = tile.at + i / vectors * tile.pitch + i % vectors * V;
      if (!isInside(i))
        continue;
      // Rows begin at whole words, no more.
      constexpr int W = vectorOf<T>(4, V);
      FUSEC_UNROLL
      for (int lane = 0; lane < V; lane += W) {
        Vec<T, W> word;
        FUSEC_UNROLL
        for (int w = 0; w < W; ++w)
          word[w] = loaded[s][lane + w];
        store<W>(to + lane, word);
      }
    }
  }
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

/// fillTile of whole rows that lie one behind the other, as they do in the
/// tile: `count` elements from an aligned address on.
template <int V, int Threads, class Tile>
FUSEC_DEVICE void fillTileOfWholeRows(Tile &tile, int count,
                                      const typename Tile::Element *from) {
  constexpr int most = Tile::pitch * Tile::across / V,
                steps = (most + Threads - 1) / Threads;
  const int threads = launch::threads();
  for (int first = launch::thread(); first < most; first += steps * threads) {
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
template <int V, int Threads, int Before, class T, int Along, int Across,
          class Index, class OffsetOf>
FUSEC_DEVICE void fillTileByRows(TransposeTile<T, Along, Across> &tile,
                                 Index alongLeft, Index acrossFirst,
                                 Index acrossLeft, const T *buffer,
                                 Index extent, OffsetOf offsetOf) {
  constexpr int vectors = Along / V, count = vectors * Across,
                all = (count + Threads - 1) / Threads,
                most = V == 1              ? 8
                       : sizeof(Index) > 4 ? 1
                       : Before == 0       ? 2
                                           : 3,
                steps = all < most ? all : most;
  for (int first = launch::thread(); first < count;
       first += steps * launch::threads()) {
    Vec<T, V> loaded[steps];
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s) {
      const int i = first + s * launch::threads(), b = i / vectors - Before;
      if (i >= count || b >= acrossLeft || acrossFirst + b < 0)
        continue;
      const Index begin = offsetOf(b), at = begin - begin % V + i % vectors * V;
      if (at >= begin + alongLeft)
        continue;
      if (at + V <= extent) {
        loaded[s] = loadStream<V>(buffer + at);
      } else {
        FUSEC_UNROLL
        for (int lane = 0; lane < V; ++lane)
          if (at + lane < extent)
            loaded[s][lane] = buffer[at + lane];
      }
    }
    FUSEC_UNROLL
    for (int s = 0; s < steps; ++s)
      if (const int i = first + s * launch::threads(); i < count)
        storeWords(tile.at + i / vectors * tile.pitch + i % vectors * V,
                   loaded[s]);
  }
}

/// Calls body(a, b) for V neighbours across, for all that is left in the tile's
/// dimensions. Where `AtOnce` is more than 1, a body loads and returns what is
/// left to do, and in a whole tile so many of a thread load before the first
/// goes on.
template <int V, int Along, int Across, int AtOnce = 1, class Index, class Body>
FUSEC_DEVICE void forEachInTile(Index alongLeft, Index acrossLeft, Body body) {
  constexpr int vectors = Across / V, count = vectors * Along;
  const int threads = launch::threads();
  if constexpr (AtOnce > 1) {
    bool isWhole = alongLeft >= Along && acrossLeft >= Across &&
                   count % (AtOnce * threads) == 0;
    for (int i = launch::thread(); isWhole && i < count; i += AtOnce * threads)
      detail::beginTogether<AtOnce>(i, threads, [&](int at) {
        return body(at / vectors, at % vectors * V);
      });
    for (int i = launch::thread(); !isWhole && i < count; i += threads)
      if (i / vectors < alongLeft && i % vectors * V < acrossLeft)
        detail::goOn(body(i / vectors, i % vectors * V));
  } else {
    FUSEC_UNROLL_BY(2)
    for (int i = launch::thread(); i < count; i += threads)
      if (i / vectors < alongLeft && i % vectors * V < acrossLeft)
        body(i / vectors, i % vectors * V);
  }
}

/// Calls body(a, b) for all that is left in the tile's dimensions: a thread
/// keeps to one place across, so that what depends on it is found once.
template <int Along, int Across, int Threads, class Index, class Body>
FUSEC_DEVICE void forEachOfColumns(Index alongLeft, Index acrossLeft,
                                   Body body) {
  static_assert(Threads % Across == 0, "a thread has no part of a column");
  constexpr int step = Threads / Across;
  for (int t = launch::thread(); t < Threads; t += launch::threads()) {
    const int b = t % Across, first = t / Across;
    if (b >= acrossLeft)
      continue;
    if (alongLeft >= Along) {
      FUSEC_UNROLL_BY(8)
      for (int a = 0; a < Along; a += step)
        body(first + a, b);
    } else {
      FUSEC_UNROLL_BY(1)
      for (int a = first; a < alongLeft; a += step)
        body(a, b);
    }
  }
}

/// Calls body(a, chunk) for each chunk of V that a row across has of a tile.
template <int V, int Along, int Across, class Index, class Body>
FUSEC_DEVICE void forEachChunkInTile(Index alongLeft, Body body) {
  constexpr int chunks = Across / V;
  FUSEC_UNROLL_BY(1)
  for (int i = launch::thread(); i < chunks * Along; i += launch::threads())
    if (i / chunks < alongLeft)
      body(i / chunks, i % chunks);
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
