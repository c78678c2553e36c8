// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a wgmma tile whose results have no tensor maps: accumulators
// are staged in shared memory and evaluated in runs of a row, so that operands
// and results are read and written by wide accesses of any pitch.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_STAGED_H
#define FUSEC_KERNELS_GEMM_WGMMA_STAGED_H

#include "gemm_wgmma_epilogue.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Runs whose operands a thread reads before it evaluates the first, so that it
/// waits for memory once: as many as its registers hold, which are fewer where
/// factors are split.
template <class Config, class Epilogue>
constexpr FUSEC_DEVICE int runsTogether(int passes) {
  int limit = Epilogue::Operands::size <= 3   ? 4
              : Epilogue::Operands::size <= 5 ? 2
                                              : 1;
  if (Config::splitsFactors && limit > 2)
    limit = 2;
  return passes < limit ? passes : limit;
}

template <int Columns, int V>
FUSEC_DEVICE void readStaged(const unsigned char *staged, int row, int column,
                             float (&out)[V]) {
  FUSEC_UNROLL
  for (int i = 0; i < V; i += 4) {
    Vec<float, 4> v = load<4>(reinterpret_cast<const float *>(
        staged + wgmmaStagedUnit(Columns, row, (column + i) / 4)));
    FUSEC_UNROLL
    for (int x = 0; x < 4; ++x)
      out[i + x] = v[x];
  }
}

template <class Epilogue, int J, int V>
FUSEC_DEVICE void
evaluateRead(const Epilogue &epilogue, const Place &at,
             const float (&acc)[J][V],
             const Values<V, typename Epilogue::Operands> &operands) {
  Values<V, typename Epilogue::Results> results;
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    float values[J];
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      values[j] = acc[j][i];
    applyAt<Epilogue>(i, values, operands, results);
  }
  writePack(epilogue.results, at, results);
}

/// The epilogue of a consumer thread over all of its tiles: stages a warp's 16
/// rows, a few columns at a time. Only the warp itself waits.
template <class Config, class Epilogue> struct WgmmaStagedStore {
  static constexpr int J = Epilogue::accumulators;
  static constexpr int V = epilogueVector<Epilogue>;
  static constexpr int columns = wgmmaStagedColumns(J, Config::tileN);
  static constexpr int accumulatorBytes = 16 * columns * 4;
  static constexpr int runsPerRow = columns / V;
  static constexpr int passes = 16 * runsPerRow / 32;
  static constexpr int together = runsTogether<Config, Epilogue>(passes);

  const Epilogue &epilogue;
  const Shape &shape;
  unsigned char *staged;
  int batch, firstRow, firstColumn;

  FUSEC_DEVICE WgmmaStagedStore(const Epilogue &epilogue, const Shape &shape,
                                int warp)
      : epilogue(epilogue), shape(shape),
        staged(launch::sharedMemory() +
               wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages,
                                  wgmmaStored(J, Config::splitsFactors),
                                  Config::rowBytesA) +
               warp * wgmmaStagingBytes) {}

  FUSEC_DEVICE void place(WgmmaTile tile, int row) {
    batch = tile.batch;
    firstRow = row;
    firstColumn = tile.column;
  }
  FUSEC_DEVICE void begin() {}
  FUSEC_DEVICE void run(const WgmmaAccumulators<Config, J> &acc) {
    FUSEC_UNROLL
    for (int m = 0; m < Config::blocksM; ++m)
      FUSEC_UNROLL
    for (int chunk = 0; chunk < Config::tileN / columns; ++chunk) {
      stage(acc, m, chunk);
      launch::warpBarrier();
      FUSEC_UNROLL_BY(1)
      for (int first = 0; first < passes; first += together)
        evaluate(first, firstRow + m * 64, i64(firstColumn) + chunk * columns);
      launch::warpBarrier();
    }
  }
  FUSEC_DEVICE void finish() {}

  FUSEC_DEVICE void stage(const WgmmaAccumulators<Config, J> &acc, int m,
                          int chunk) {
    int lane = wgmmaEpilogueLane<Config>();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int n = 0; n < columns / 8; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float *from = acc[m] + wgmmaAccumulatorAt<Config>(
                                       j, chunk * (columns / 8) + n, half);
      Vec<float, 2> pair;
      pair[0] = from[0];
      pair[1] = from[1];
      int unit = n * 2 + (lane >> 1 & 1);
      store<2>(reinterpret_cast<float *>(
                   staged + j * accumulatorBytes +
                   wgmmaStagedUnit(columns, (lane >> 2) + half * 8, unit) +
                   (lane & 1) * 8),
               pair);
    }
  }
  FUSEC_DEVICE void evaluate(int first, i64 blockRow, i64 blockColumn) {
    int lane = wgmmaEpilogueLane<Config>();
    Place places[together];
    Values<V, typename Epilogue::Operands> operands[together];
    FUSEC_UNROLL
    for (int p = 0; p < together; ++p) {
      int run = (first + p) * 32 + lane;
      i64 row = blockRow + run / runsPerRow;
      i64 column = blockColumn + run % runsPerRow * V;
      i64 left = row < shape.m ? shape.n - column : 0;
      places[p] = {batch, row, column, left < V ? int(left) : V};
      if (places[p].count > 0)
        readPack(epilogue.operands, places[p], operands[p]);
    }
    FUSEC_UNROLL
    for (int p = 0; p < together; ++p) {
      int run = (first + p) * 32 + lane;
      float values[J][V];
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        readStaged<columns>(staged + j * accumulatorBytes, run / runsPerRow,
                            run % runsPerRow * V, values[j]);
      if (places[p].count > 0)
        evaluateRead(epilogue, places[p], values, operands[p]);
    }
  }
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_STAGED_H
