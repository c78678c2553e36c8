// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a wgmma tile that reduces over its rows: a warp stages some
// of its 16 rows, as many as its part of shared memory holds, and evaluates
// them. No warp waits for another.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_ROWS_H
#define FUSEC_KERNELS_GEMM_WGMMA_ROWS_H

#include "epilogue_rows.h"
#include "gemm_wgmma_staged.h"

namespace fusec {

/// Where four columns of a row are staged, counted in fours from its start:
/// neither the fragments' stores of 8 bytes, of four rows at once, nor the
/// runs' loads of 16 meet in a bank.
constexpr FUSEC_DEVICE int wgmmaRowUnit(int row, int unit) {
  return unit ^ (row & 3) * 2 ^ (unit >> 3 & 1);
}

#ifndef FUSEC_HOST
namespace detail {

template <class Config, class Epilogue> struct WgmmaRowStore {
  static constexpr int J = Epilogue::accumulators;
  /// Floats from one staged row to the next: whole sweeps of the banks.
  static constexpr int pitch = tilesOf(Config::tileN, 32) * 32;
  static constexpr FUSEC_DEVICE int rowsTogether() {
    int rows = 8;
    while (rows > 1 && J * rows * pitch * 4 > wgmmaStagingBytes)
      rows /= 2;
    return rows;
  }
  static constexpr int rows = rowsTogether();
  static_assert(J * rows * pitch * 4 <= wgmmaStagingBytes, "a row fits");
  static_assert(Config::blocksM == 1,
                "ptxas serialises the matmuls of more rows before this");

  const Epilogue &epilogue;
  const Shape &shape;
  float *staged;
  int batch, firstRow;

  FUSEC_DEVICE WgmmaRowStore(const Epilogue &epilogue, const Shape &shape,
                             int warp)
      : epilogue(epilogue), shape(shape),
        staged(reinterpret_cast<float *>(
            launch::sharedMemory() +
            wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages,
                               wgmmaStored(J, Config::splitsFactors),
                               Config::rowBytesA) +
            warp * wgmmaStagingBytes)) {}

  FUSEC_DEVICE void place(WgmmaTile tile, int row) {
    batch = tile.batch;
    firstRow = row;
  }
  FUSEC_DEVICE void begin() {}
  FUSEC_DEVICE void finish() {}

  static FUSEC_DEVICE int unitAt(int j, int row, int unit) {
    return (j * rows + row) * pitch + wgmmaRowUnit(row, unit) * 4;
  }
  FUSEC_DEVICE void run(const WgmmaAccumulators<Config, J> &acc) {
    FUSEC_UNROLL_BY(1)
    for (int first = 0; first < 16; first += rows) {
      int row = (launch::lane() >> 2) - (first & 7);
      if (row >= 0 && row < rows)
        stage(acc, first >= 8, row);
      launch::warpBarrier();
      evaluate(firstRow + first);
      launch::warpBarrier();
    }
  }
  /// The upper or the lower half of 16 rows: a choice of values, so that there
  /// is one copy of what follows.
  FUSEC_DEVICE void stage(const WgmmaAccumulators<Config, J> &acc, bool lower,
                          int row) {
    int lane = launch::lane();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int n = 0; n < Config::tileN / 8; ++n) {
      const float *from = acc[0] + wgmmaAccumulatorAt<Config>(j, n, 0);
      Vec<float, 2> pair;
      pair[0] = lower ? from[2] : from[0];
      pair[1] = lower ? from[3] : from[1];
      store<2>(staged + unitAt(j, row, n * 2 + (lane >> 1 & 1)) +
                   (lane & 1) * 2,
               pair);
    }
  }
  FUSEC_DEVICE void evaluate(i64 row) {
    typedef RowShare<Epilogue, Config::tileN, rows, 1> Share;
    constexpr int V = Share::V;
    Share::evaluate(
        epilogue, batch, shape.m, shape.n, 0, [&](int i) { return row + i; },
        [&](int i, int column, float(&to)[J][V]) {
          FUSEC_UNROLL
          for (int j = 0; j < J; ++j)
            FUSEC_UNROLL
          for (int v = 0; v < V; v += 4) {
            Vec<float, 4> four =
                load<4>(staged + unitAt(j, i, (column + v) / 4));
            FUSEC_UNROLL
            for (int x = 0; x < 4; ++x)
              to[j][v + x] = four[x];
          }
        });
  }
};

} // namespace detail
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_WGMMA_ROWS_H
