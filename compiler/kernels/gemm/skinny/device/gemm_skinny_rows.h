// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of gemm_skinny.h for an epilogue that reduces over its rows: each
// block of the cluster adds and evaluates whole rows, a share of the tokens,
// where others take a slice of the columns.

#ifndef FUSEC_KERNELS_GEMM_SKINNY_ROWS_H
#define FUSEC_KERNELS_GEMM_SKINNY_ROWS_H

#include "epilogue_rows.h"
#include "gemm_skinny_config.h"
#include "prelude_cluster.h"
#include "prelude_hopper.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// A place in the shared memory of the block of the cluster that finishes it,
/// and the barrier there that counts what arrives; a block that is alone counts
/// its threads.
template <class Config> struct SkinnyReceiver {
  u32 to, barrier;
  FUSEC_DEVICE SkinnyReceiver(u32 to, u32 barrier, int owner)
      : to(to), barrier(barrier) {
    if constexpr (Config::cluster > 1) {
      this->to = primitive::addressInCluster(to, owner);
      this->barrier = primitive::addressInCluster(barrier, owner);
    }
  }
  FUSEC_DEVICE void write(u32 offset, float value) const {
    if constexpr (Config::cluster > 1)
      primitive::sendInCluster(to + offset, barrier, value);
    else
      primitive::storeShared(to + offset, value);
  }
};

/// What a block receives: of each block of the cluster and each accumulator the
/// partial sums of its rows.
template <class Config, int J> struct SkinnyRows {
  static constexpr int count = Config::tokens / Config::cluster;
  /// As many floats as a token of a slice takes in all blocks together.
  static constexpr int pitch = Config::tileN + 4 * Config::cluster;
  static constexpr int base = skinnyReceivedOffset(
      Config::tokens, Config::blocks, Config::stages, J, Config::stage);
  static_assert(Config::tokens % Config::cluster == 0, "whole rows a block");
  static_assert(Config::cluster * J * count * pitch * 4 <=
                    skinnyReceivedBytes(Config::tokens, Config::blocks,
                                        Config::cluster, J),
                "rows take what slices take");
  /// Byte offset of a row's first column.
  static FUSEC_DEVICE u32 at(int from, int j, int row) {
    return base + ((from * J + j) * count + row) * (pitch * 4);
  }
};

template <class Config, int J>
FUSEC_DEVICE void
skinnySendRows(int rank, u32 memory, u32 received,
               const float (&acc)[J][Config::blocks][Config::tokens / 2]) {
  typedef SkinnyRows<Config, J> Rows;
  int lane = launch::lane();
  int column = (launch::warp() & 3) * 16 + (lane >> 2);
  FUSEC_UNROLL
  for (int i = 0; i < Config::tokens / 2; i += 4)
    FUSEC_UNROLL
  for (int e = 0; e < 2; ++e) {
    int token = i * 2 + (lane & 3) * 2 + e;
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      SkinnyReceiver<Config> to(
          memory + Rows::at(rank, j, token % Rows::count) + column * 4,
          received, token / Rows::count);
      FUSEC_UNROLL
      for (int b = 0; b < Config::blocks; ++b)
        FUSEC_UNROLL
      for (int half = 0; half < 2; ++half)
        to.write((b * 64 + half * 8) * 4, acc[j][b][i + half * 2 + e]);
    }
  }
}

template <class Config, class Epilogue>
FUSEC_DEVICE void skinnyFinishRows(const Epilogue &epilogue, const Shape &shape,
                                   TilePlace tile, int rank) {
  constexpr int J = Epilogue::accumulators;
  typedef SkinnyRows<Config, J> Rows;
  typedef RowShare<Epilogue, Config::tileN, Rows::count, 4> Share;
  constexpr int V = Share::V;
  int first = tile.m * Config::tokens + rank * Rows::count;
  Share::evaluate(
      epilogue, tile.batch, shape.m, shape.n, launch::warp(),
      [&](int i) { return first + i; },
      [&](int i, int column, float(&sums)[J][V]) {
        FUSEC_UNROLL
        for (int from = 0; from < Config::cluster; ++from)
          FUSEC_UNROLL
        for (int j = 0; j < J; ++j) {
          Vec<float, V> part = load<V>(reinterpret_cast<const float *>(
              launch::sharedMemory() + Rows::at(from, j, i) + column * 4));
          FUSEC_UNROLL
          for (int v = 0; v < V; ++v)
            sums[j][v] = from == 0 ? part[v] : sums[j][v] + part[v];
        }
      });
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_SKINNY_ROWS_H
