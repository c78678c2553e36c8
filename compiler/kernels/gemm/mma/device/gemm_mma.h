// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul by mma.sync on sm_80 and later: a ring of swizzled stages filled by
// cp.async, fragments double buffered in registers, fp32 accumulators staged
// through shared memory so that the epilogue sees whole runs of a row.

#ifndef FUSEC_KERNELS_GEMM_MMA_H
#define FUSEC_KERNELS_GEMM_MMA_H

#include "gemm_layout.h"
#include "gemm_made.h"
#include "gemm_mma_config.h"

#ifndef FUSEC_HOST
#include "gemm_mma_operand.h"
#include "gemm_tf32x3.h"
#endif

namespace fusec {

#ifdef FUSEC_HOST
template <class Config, class Epilogue, class... Segments>
void gemmMma(const Shape &shape, const Epilogue &epilogue,
             const Segments &...segments) {
  hostGemm<Config>(shape, epilogue, segments...);
}
#else

namespace detail {

constexpr FUSEC_DEVICE bool isPowerOfTwo(int x) { return (x & (x - 1)) == 0; }

template <class Config, int J>
using MmaAccumulators = float[J][Config::warpM / 16][Config::warpN / 8][4];

/// How a segment's stages lie in the ring, and how they are read.
template <class Config, int J, class SegmentType> struct MmaStages {
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  typedef typename SegmentType::A A;
  typedef typename SegmentType::B B;
  typedef typename A::Element T;
  static_assert(isSame<T, typename B::Element>, "operands of one type");
  static_assert(!Config::splitsFactors || isSame<T, float>, "fp32 is split");
  typedef MmaCopy<A, Config::tileM, Config::tileK, Config::threads> CopyA;
  typedef MmaCopy<B, Config::tileN, Config::tileK, Config::threads> CopyB;
  typedef typename CopyA::Layout LayoutA;
  typedef typename CopyB::Layout LayoutB;
  static_assert(isPowerOfTwo(Config::warpM) && isPowerOfTwo(Config::warpN) &&
                    isPowerOfTwo(LayoutA::chunksPerRow) &&
                    isPowerOfTwo(LayoutB::chunksPerRow),
                "steps change disjoint bits of an offset");
  static constexpr int fragmentsM = Config::warpM / 16,
                       fragmentsN = Config::warpN / 16;
  static constexpr int steps = Config::tileK * int(sizeof(T)) / 32;
  static_assert(steps % 2 == 0, "two buffers of fragments");
  static constexpr u32 stageBytes = LayoutA::bytes + J * LayoutB::bytes;
  static constexpr u32 ringBytes = Config::stages * stageBytes;
  static constexpr bool rounds = isSame<T, float> && !Config::splitsFactors;
  typedef u32 FragmentsA[fragmentsM][4];
  typedef u32 FragmentsB[J][fragmentsN][4];

  MmaFragments<LayoutA, T, CopyA::alongK, true, rounds> readA;
  MmaFragments<LayoutB, T, CopyB::alongK, false, rounds> readB;

  FUSEC_DEVICE void start() {
    readA.start(launch::warp() / Config::warpsN * Config::warpM);
    readB.start(launch::warp() % Config::warpsN * Config::warpN);
  }
  FUSEC_DEVICE void read(u32 stage, int step, FragmentsA &toA,
                         FragmentsB &toB) const {
    FUSEC_UNROLL
    for (int i = 0; i < fragmentsM; ++i)
      readA.read(stage, i, step, toA[i]);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int i = 0; i < fragmentsN; ++i)
      readB.read(stage + LayoutA::bytes + j * LayoutB::bytes, i, step,
                 toB[j][i]);
  }
  static FUSEC_DEVICE void multiply(const FragmentsA &a, const FragmentsB &b,
                                    MmaAccumulators<Config, J> &acc) {
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int m = 0; m < fragmentsM; ++m)
      FUSEC_UNROLL
    for (int n = 0; n < fragmentsN * 2; ++n)
      primitive::Mma<T>::run(acc[j][m][n], a[m], b[j][n / 2][n % 2 * 2],
                             b[j][n / 2][n % 2 * 2 + 1]);
  }
};

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void mmaSegment(const SegmentType &segment, const Shape &shape,
                             TilePlace tile, KRange range,
                             MmaAccumulators<Config, J> &acc) {
  typedef MmaStages<Config, J, SegmentType> Stages;
  constexpr int steps = Stages::steps;
  constexpr u32 stageBytes = Stages::stageBytes;
  int tilesK = tilesOf(range.last - range.first, Config::tileK);
  if (tilesK <= 0)
    return;
  typename Stages::CopyA copyA;
  typename Stages::CopyB copyB[J];
  copyA.start(segment.a, tile.batch, tile.m * Config::tileM, shape.m, range);
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    copyB[j].start(segment.b[j], tile.batch, tile.n * Config::tileN, shape.n,
                   range);
  auto fill = [&](u32 stage) {
    copyA.copy(stage);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      copyB[j].copy(stage + Stages::LayoutA::bytes +
                    j * Stages::LayoutB::bytes);
  };
  Stages stages;
  stages.start();

  u32 ring = primitive::sharedAddress(launch::sharedMemory());
  launch::barrier(); // A previous segment has been read by everybody.
  int filled = 0;
  FUSEC_UNROLL
  for (int s = 0; s < Config::stages - 1; ++s, ++filled) {
    if (filled < tilesK)
      fill(ring + s * stageBytes);
    primitive::commitCopies();
  }
  u32 readAt = 0, fillAt = (Config::stages - 1) * stageBytes;
  auto after = [](u32 stage) {
    return stage + stageBytes == Stages::ringBytes ? 0 : stage + stageBytes;
  };
  auto fillNext = [&] {
    if (filled < tilesK)
      fill(ring + fillAt);
    ++filled;
    primitive::commitCopies();
    fillAt = after(fillAt);
  };
  // The next tile of K has arrived, and nobody reads the last one any more.
  auto waitForTile = [] {
    primitive::waitCopies<Config::stages - 2>();
    launch::barrier();
  };

  if constexpr (Config::splitsFactors) {
    // Products are three times as many, and the loads before them other warps'
    // to hide. Unrolled, or with fragments in two buffers, ptxas starts more
    // sums at once than there are registers for.
    typename Stages::FragmentsA a;
    typename Stages::FragmentsB b;
    for (int t = 0; t < tilesK; ++t) {
      waitForTile();
      fillNext();
      FUSEC_UNROLL_BY(1)
      for (int step = 0; step < steps; ++step) {
        stages.read(ring + readAt, step, a, b);
        multiplyTf32x3(a, b, acc);
      }
      readAt = after(readAt);
    }
  } else {
    typename Stages::FragmentsA a[2];
    typename Stages::FragmentsB b[2];
    waitForTile();
    stages.read(ring, 0, a[0], b[0]);
    for (int t = 0; t < tilesK; ++t) {
      FUSEC_UNROLL
      for (int step = 0; step < steps; ++step) {
        if (step == steps - 1) {
          waitForTile();
          readAt = after(readAt);
        }
        stages.read(ring + readAt, (step + 1) % steps, a[(step + 1) & 1],
                    b[(step + 1) & 1]);
        if (step == 0)
          fillNext();
        Stages::multiply(a[step & 1], b[step & 1], acc);
      }
    }
  }
  primitive::waitCopies<0>();
}

/// Stages the m-th 16 rows of a warp's accumulators, those of one behind those
/// of the other.
template <class Config, int J>
FUSEC_DEVICE void mmaStage(const MmaAccumulators<Config, J> &acc, int m,
                           float *to, int pitch) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int n = 0; n < Config::warpN / 8; ++n)
    FUSEC_UNROLL
  for (int half = 0; half < 2; ++half) {
    AccumulatorPlace at = accumulatorPlace(launch::lane(), half);
    Vec<float, 2> pair;
    pair[0] = acc[j][m][n][2 * half];
    pair[1] = acc[j][m][n][2 * half + 1];
    store<2>(to + (j * 16 + at.row) * pitch + n * 8 + at.column, pair);
  }
}

/// Stages 16 rows of a warp's accumulators at a time and evaluates them in
/// runs of a row.
template <class Config, class Epilogue, int J>
FUSEC_DEVICE void mmaEpilogue(const Epilogue &epilogue, const Shape &shape,
                              TilePlace tile, MmaAccumulators<Config, J> &acc) {
  constexpr int V = epilogueVector<Epilogue>;
  constexpr int pitch = Config::warpN + stagingPadding;
  constexpr int runsPerRow = Config::warpN / V;
  constexpr int passes = 16 * runsPerRow / 32;
  float *staged = reinterpret_cast<float *>(launch::sharedMemory()) +
                  launch::warp() * (J * 16 * pitch);
  i64 firstRow = i64(tile.m) * Config::tileM +
                 launch::warp() / Config::warpsN * Config::warpM;
  i64 firstColumn = i64(tile.n) * Config::tileN +
                    launch::warp() % Config::warpsN * Config::warpN;
  launch::barrier(); // The ring has been read by everybody.
  FUSEC_UNROLL
  for (int m = 0; m < Config::warpM / 16; ++m) {
    mmaStage<Config>(acc, m, staged, pitch);
    launch::warpBarrier();
    FUSEC_UNROLL_BY(2)
    for (int pass = 0; pass < passes; ++pass) {
      int run = pass * 32 + launch::lane();
      int row = run / runsPerRow, column = run % runsPerRow * V;
      float values[J][V];
      readStagedRun(staged, 16, pitch, row, column, values);
      i64 outputRow = firstRow + m * 16 + row;
      if (outputRow < shape.m)
        evaluateRun(epilogue, tile.batch, outputRow, firstColumn + column,
                    shape.n, values);
    }
    launch::warpBarrier();
  }
}

/// Stages 16 rows of every warp's accumulators at a time. The warps that have
/// columns of them evaluate a share of whole rows each.
template <class Config, class Epilogue, int J>
FUSEC_DEVICE void mmaRowEpilogue(const Epilogue &epilogue, const Shape &shape,
                                 TilePlace tile,
                                 MmaAccumulators<Config, J> &acc) {
  typedef RowShare<Epilogue, Config::tileN, 16, Config::warpsN> Share;
  constexpr int V = Share::V;
  constexpr int pitch = Config::tileN + stagingPadding;
  int warpM = launch::warp() / Config::warpsN,
      warpN = launch::warp() % Config::warpsN;
  float *staged = reinterpret_cast<float *>(launch::sharedMemory()) +
                  warpM * (J * 16 * pitch);
  i64 firstRow = i64(tile.m) * Config::tileM + warpM * Config::warpM;
  FUSEC_UNROLL
  for (int m = 0; m < Config::warpM / 16; ++m) {
    launch::barrier(); // The ring, or the rows before, have been read.
    mmaStage<Config>(acc, m, staged + warpN * Config::warpN, pitch);
    launch::barrier();
    Share::evaluate(
        epilogue, tile.batch, shape.m, shape.n, warpN,
        [&](int i) { return firstRow + m * 16 + i; },
        [&](int i, int column, float(&to)[J][V]) {
          readStagedRun(staged, 16, pitch, i, column, to);
        });
  }
}

} // namespace detail

/// One block's tile of the root.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmMma(const Shape &shape, const Epilogue &epilogue,
                          const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  TilePlace tile = tileOf(launch::block(), tilesOf(shape.m, Config::tileM),
                          tilesOf(shape.n, Config::tileN));
  detail::MmaAccumulators<Config, J> acc = {};
  (detail::mmaSegment<Config, J>(segments, shape, tile,
                                 segments.range(tile.batch), acc),
   ...);
  if constexpr (Config::splitsFactors)
    detail::replaceOutOfRange<Config>(shape, tile, acc, segments...);
  if constexpr (reducesRows<Epilogue>)
    detail::mmaRowEpilogue<Config, Epilogue, J>(epilogue, shape, tile, acc);
  else
    detail::mmaEpilogue<Config, Epilogue, J>(epilogue, shape, tile, acc);
}
#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_MMA_H
