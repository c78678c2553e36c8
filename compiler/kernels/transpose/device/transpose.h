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
template <class T, int Along, int Across> struct TransposeTile {
  // A word more than a power of two: neighbours of a column lie in different
  // banks.
  static constexpr int pitch = Along + (sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1);
  alignas(16) T at[Across * pitch]; // written by words
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
template <int V, int Threads, class T, int Along, int Across, class Index,
          class Address>
FUSEC_DEVICE void fillTile(TransposeTile<T, Along, Across> &tile,
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

/// Calls body(a, chunk) for all chunks of V that rows across may meet, wherever
/// they begin.
template <int V, int Along, int Across, class Index, class Body>
FUSEC_DEVICE void forEachChunkInTile(Index alongLeft, Body body) {
  constexpr int chunks = Across / V + 1;
  FUSEC_UNROLL_BY(2)
  for (int i = launch::thread(); i < chunks * Along; i += launch::threads())
    if (i / chunks < alongLeft)
      body(i / chunks, i % chunks);
}

/// V neighbours across.
template <int V, class T, int Along, int Across>
FUSEC_DEVICE Vec<T, V> readTile(const TransposeTile<T, Along, Across> &tile,
                                int a, int b) {
  Vec<T, V> read;
  FUSEC_UNROLL
  for (int lane = 0; lane < V; ++lane)
    read[lane] = tile.at[(b + lane) * tile.pitch + a];
  return read;
}

} // namespace fusec

#endif // FUSEC_DEVICE_TRANSPOSE_H
