// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs by mma.sync, which every tensor core has: four warps of 32
// rows each, weights through a ring of slices by cp.async.

#ifndef FUSEC_DEVICE_PAIRS_MMA_H
#define FUSEC_DEVICE_PAIRS_MMA_H

#include "gemm_layout.h"
#include "pairs_operand.h"

namespace fusec {

namespace detail {

/// Copies slices of the tile's columns into a ring.
template <class T> struct PairSlices {
  static constexpr int bytes = pairMmaTileN * pairSlice * 2;
  const unsigned char *from;
  long long next; // bytes from one slice to the next
  int valid;      // bytes of a slice that there are
  u32 base = primitive::sharedAddress(launch::sharedMemory());

  template <class X>
  FUSEC_DEVICE PairSlices(const PairProblem<X, T> &problem, int column,
                          int square) {
    int columns = pairColumns(problem.columns);
    next = columns * pairSlice * 2ll;
    from = reinterpret_cast<const unsigned char *>(problem.weights) +
           square * next * pairSlices + column * pairSlice * 2;
    valid = (columns - column) * pairSlice * 2;
  }
  FUSEC_DEVICE u32 stage(int slice) const {
    return base + u32(slice % pairMmaStages) * bytes;
  }
  /// A group of its own, of nothing unless `exists`.
  FUSEC_DEVICE void copy(int slice, bool exists) {
    if (exists) {
      FUSEC_UNROLL
      for (int i = launch::thread() * 16; i < bytes; i += pairMmaThreads * 16)
        primitive::copyAsync<16>(stage(slice) + i, from + (i < valid ? i : 0),
                                 i < valid ? 16 : 0);
      from += next;
    }
    primitive::commitCopies();
  }
};

/// A slice's products of the 32 rows of a warp.
template <class T>
FUSEC_DEVICE void multiplyPairs(float (&sums)[2][pairMmaTileN / 8][4],
                                const u32 (&a)[2][4][4], u32 weights) {
  typedef SharedTile<T, true, pairMmaTileN, pairSlice> Layout;
  FragmentPlace place = fragmentOfB(launch::lane());
  u32 lane = Layout::offset(place.outer, place.half);
  FUSEC_UNROLL
  for (int step = 0; step < 4; ++step)
    FUSEC_UNROLL
  for (int pair = 0; pair < pairMmaTileN / 16; ++pair) {
    u32 b[4];
    primitive::loadMatrix4(b, weights + (lane ^ u32(step * 32)) +
                                  pair * 16 * pairSlice * 2);
    FUSEC_UNROLL
    for (int m = 0; m < 2; ++m) {
      primitive::Mma<T>::run(sums[m][pair * 2], a[m][step], b[0], b[1]);
      primitive::Mma<T>::run(sums[m][pair * 2 + 1], a[m][step], b[2], b[3]);
    }
  }
}

} // namespace detail

/// One tile a block.
template <class Config, class X, class T>
FUSEC_DEVICE void pairProductMma(const PairProblem<X, T> &problem) {
  using namespace detail;
  PairTile tile(problem, pairMmaTileN);
  PairSlices<T> slices(problem, tile.column, tile.first);
  int count = (tile.last - tile.first) * pairSlices;
  FUSEC_UNROLL
  for (int slice = 0; slice < pairMmaStages - 1; ++slice)
    slices.copy(slice, slice < count);
  int firstRow = tile.row + launch::warp() * 32;
  PairOperand<X, Config::whole> operands[2];
  float sums[2][pairMmaTileN / 8][4];
  u32 a[2][4][4];
  FUSEC_UNROLL
  for (int m = 0; m < 2; ++m) {
    FUSEC_UNROLL
    for (int i = 0; i < pairMmaTileN / 2; ++i)
      sums[m][i / 4][i % 4] = 0;
    operands[m].start(problem.x, problem.stride, firstRow + m * 16, problem.m,
                      problem.features, tile.first, a[m]);
  }
  int at = 0;
  FUSEC_UNROLL_BY(1)
  for (int square = tile.first; square < tile.last; ++square) {
    FUSEC_UNROLL
    for (int slice = 0; slice < pairSlices; ++slice, ++at) {
      primitive::waitCopies<pairMmaStages - 2>();
      launch::barrier();
      slices.copy(at + pairMmaStages - 1, at + pairMmaStages - 1 < count);
      multiplyPairs<T>(sums, a, slices.stage(at));
      FUSEC_UNROLL
      for (int m = 0; m < 2; ++m)
        operands[m].make(a[m], slice, square + 1 == tile.last);
    }
  }
  FUSEC_UNROLL
  for (int m = 0; m < 2; ++m)
    storePairs<pairMmaTileN / 8>(problem, operands[m].rows, tile.part,
                                 firstRow + m * 16, tile.column, sums[m]);
}

} // namespace fusec

#endif // FUSEC_DEVICE_PAIRS_MMA_H
