// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul by wgmma on sm_90a: persistent blocks, a producer thread that fills a
// ring of swizzled stages through tensor maps, two consumer warpgroups. The
// producer runs ahead into the next tile while the consumers evaluate the
// epilogue of this one.

#ifndef FUSEC_DEVICE_GEMM_WGMMA_H
#define FUSEC_DEVICE_GEMM_WGMMA_H

#include "gemm.h"
#include "gemm_wgmma_config.h"
#include "prelude_hopper.h"

namespace fusec {

/// A matrix with its tensor map: sizes and strides of (inner, outer) or (inner,
/// outer, batch), the box of wgmmaBox, a swizzle of 128 bytes. The pointer is
/// what the host reads; it is never null.
template <class MatrixType> struct Mapped : MatrixType {
  const TensorMap *map;
};

#ifdef FUSEC_HOST

/// The tiles of this block.
template <class Config, class Epilogue, class... Segments>
void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
               const Segments &...segments) {
  int tiles = tilesOf(shape.m, Config::tileM) *
              tilesOf(shape.n, Config::tileN) * shape.batch;
  int &block = launch::coordinates.block[0];
  int own = block;
  for (; block < tiles; block += launch::blocks())
    hostGemm<Config>(shape, 1, epilogue, segments...);
  block = own;
}

#else
namespace detail {

/// The places of the ring and of its barriers, in bytes of shared memory.
template <class Config, int J> struct WgmmaRing {
  static constexpr u32 stageBytes =
      wgmmaStageBytes(Config::tileM, Config::tileN, J);
  u32 base, barriers;
  u32 stage = 0, parity = 0;

  FUSEC_DEVICE WgmmaRing() {
    base = primitive::sharedAddress(launch::sharedMemory());
    barriers = base + wgmmaBarrierOffset(Config::tileM, Config::tileN,
                                         Config::stages, J);
  }
  FUSEC_DEVICE u32 full(u32 stage) const { return barriers + stage * 16; }
  FUSEC_DEVICE u32 empty(u32 stage) const { return barriers + stage * 16 + 8; }
  FUSEC_DEVICE void advance() {
    if (++stage == Config::stages) {
      stage = 0;
      parity ^= 1;
    }
  }
  FUSEC_DEVICE void start() const {
    if (launch::thread() == 0) {
      for (u32 s = 0; s < Config::stages; ++s) {
        primitive::initBarrier(full(s), 1);
        primitive::initBarrier(empty(s), 4 * wgmmaConsumers * Config::cluster);
      }
      primitive::fenceBarriers();
    }
    meet();
  }
  /// Nobody copies into, or arrives at, the memory of a block that has not
  /// started or that has ended.
  static FUSEC_DEVICE void meet() {
    if constexpr (Config::cluster > 1)
      primitive::clusterBarrier();
    else
      launch::barrier();
  }
  /// A consumer warp has read the stage, which all blocks of the cluster fill.
  FUSEC_DEVICE void release(u32 stage) const {
    if constexpr (Config::cluster > 1) {
      if (launch::lane() < Config::cluster)
        primitive::arriveAt(empty(stage), launch::lane());
    } else if (launch::lane() == 0) {
      primitive::arrive(empty(stage));
    }
  }
};

/// How a tile of a matrix lies in a stage, and its descriptor for wgmma. The
/// tile is loaded in `Parts`, each by one block for all of its cluster.
template <class MatrixType, int Tile, int Parts> struct WgmmaOperand {
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major == Major::K;
  static_assert(MatrixType::major != Major::Strided &&
                    (alongK || sizeof(T) == 2),
                "a matrix that the tensor cores read from shared memory");
  static constexpr int part = Tile / Parts;
  static constexpr WgmmaBox box = wgmmaBox(alongK, part, sizeof(T));
  static constexpr u32 boxBytes = box.inner * box.outer * sizeof(T);

  /// Copies a part of the tile at (outer, k) into shared memory.
  static FUSEC_DEVICE void copy(const MatrixType &matrix, u32 to, u32 barrier,
                                int outer, int k, int batch, int which) {
    outer += which * part;
    to += which * part * wgmmaRowBytes;
    FUSEC_UNROLL
    for (int i = 0; i < box.count; ++i) {
      int x = alongK ? k : outer + i * box.inner, y = alongK ? outer : k;
      if constexpr (isSame<decltype(matrix.batch), Unbatched>)
        primitive::copyBox<Parts>(to + i * boxBytes, matrix.map, barrier, x, y);
      else
        primitive::copyBox<Parts>(to + i * boxBytes, matrix.map, barrier, x, y,
                                  batch);
    }
  }
  /// Start address, distance of boxes (outer-major: leading dimension),
  /// distance of groups of eight rows (1024 bytes), swizzle of 128 bytes; in
  /// units of 16.
  static FUSEC_DEVICE u64 descriptor(u32 address) {
    constexpr u64 fixed =
        u64(boxBytes / 16) << 16 | u64(1024 / 16) << 32 | u64(1) << 62;
    return fixed | (address & 0x3ffff) >> 4;
  }
  /// What a step of 32 bytes of K adds to the descriptor.
  static constexpr u64 step = (alongK ? 32 : 16 * wgmmaRowBytes) / 16;
};

template <class Config, int J>
using WgmmaAccumulators = float[J][Config::blocksM][Config::tileN / 2];

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void wgmmaProduce(const SegmentType &segment, TilePlace tile,
                               int rank, WgmmaRing<Config, J> &ring) {
  typedef WgmmaOperand<typename SegmentType::A, Config::tileM, 1> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN, Config::cluster>
      B;
  for (int k = 0; k < segment.k; k += Config::tileK) {
    primitive::waitBarrier(ring.empty(ring.stage), ring.parity ^ 1);
    u32 full = ring.full(ring.stage);
    u32 to = ring.base + ring.stage * ring.stageBytes;
    primitive::arriveExpecting(full, ring.stageBytes);
    A::copy(segment.a, to, full, tile.m * Config::tileM, k, tile.batch, 0);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      B::copy(segment.b[j],
              to + (Config::tileM + j * Config::tileN) * wgmmaRowBytes, full,
              tile.n * Config::tileN, k, tile.batch, rank);
    ring.advance();
  }
}

template <class Config, int J, class SegmentType>
FUSEC_DEVICE void wgmmaConsume(const SegmentType &segment, int consumer,
                               WgmmaRing<Config, J> &ring,
                               WgmmaAccumulators<Config, J> &acc) {
  typedef typename SegmentType::A::Element T;
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  static_assert(isSame<T, typename SegmentType::B::Element>,
                "operands of one type");
  static_assert(Config::tileK * int(sizeof(T)) == wgmmaRowBytes,
                "a tile's K is a row of the swizzle");
  typedef WgmmaOperand<typename SegmentType::A, Config::tileM, 1> A;
  typedef WgmmaOperand<typename SegmentType::B, Config::tileN, Config::cluster>
      B;
  constexpr int steps = wgmmaRowBytes / 32;
  int tilesK = tilesOf(segment.k > 0 ? segment.k : 0, Config::tileK);
  u32 last = 0;
  for (int t = 0; t < tilesK; ++t) {
    primitive::waitBarrier(ring.full(ring.stage), ring.parity);
    u32 at = ring.base + ring.stage * ring.stageBytes;
    u64 a = A::descriptor(at + consumer * Config::blocksM * 64 * wgmmaRowBytes);
    u64 b = B::descriptor(at + Config::tileM * wgmmaRowBytes);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < steps; ++step)
      FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int m = 0; m < Config::blocksM; ++m)
      primitive::Wgmma<T, Config::tileN>::template run<!A::alongK, !B::alongK>(
          acc[j][m], a + step * A::step + m * (64 * wgmmaRowBytes / 16),
          b + step * B::step + j * (Config::tileN * wgmmaRowBytes / 16));
    primitive::commitWgmma();
    // The previous stage has been read when only this one is under way.
    primitive::waitWgmma<1>();
    if (t > 0)
      ring.release(last);
    last = ring.stage;
    ring.advance();
  }
  primitive::waitWgmma<0>();
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    FUSEC_UNROLL
  for (int m = 0; m < Config::blocksM; ++m)
    FUSEC_UNROLL
  for (int i = 0; i < Config::tileN / 2; ++i)
    primitive::pin(acc[j][m][i]);
  if (tilesK > 0)
    ring.release(last);
}

/// Runs whose operands a thread reads before it evaluates the first, so that it
/// waits for memory once: as many as its registers hold.
template <class Epilogue> constexpr FUSEC_DEVICE int runsTogether(int passes) {
  int limit = Epilogue::Operands::size <= 3   ? 4
              : Epilogue::Operands::size <= 5 ? 2
                                              : 1;
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

/// Stages a warp's 16 rows, a few columns at a time, and evaluates them in runs
/// of a row. Only the warp itself waits.
template <class Config, class Epilogue, int J>
FUSEC_DEVICE void wgmmaEpilogue(const Epilogue &epilogue, const Shape &shape,
                                TilePlace tile, int consumer,
                                WgmmaAccumulators<Config, J> &acc) {
  constexpr int V = epilogueVector<Epilogue>;
  constexpr int columns = wgmmaStagedColumns(J);
  constexpr int accumulatorBytes = 16 * columns * 4;
  constexpr int runsPerRow = columns / V, passes = 16 * runsPerRow / 32;
  constexpr int together = runsTogether<Epilogue>(passes);
  int warp = launch::warp() - 4, lane = launch::lane();
  unsigned char *staged =
      launch::sharedMemory() +
      wgmmaStagingOffset(Config::tileM, Config::tileN, Config::stages, J) +
      warp * wgmmaStagingBytes;
  i64 firstRow = i64(tile.m) * Config::tileM + consumer * Config::blocksM * 64 +
                 (warp & 3) * 16;
  i64 firstColumn = i64(tile.n) * Config::tileN;
  FUSEC_UNROLL
  for (int m = 0; m < Config::blocksM; ++m)
    FUSEC_UNROLL
  for (int chunk = 0; chunk < Config::tileN / columns; ++chunk) {
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int n = 0; n < columns / 8; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float *from =
          acc[j][m] + (chunk * (columns / 8) + n) * 4 + half * 2;
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
    launch::warpBarrier();
    FUSEC_UNROLL_BY(1)
    for (int first = 0; first < passes; first += together) {
      Place places[together];
      Values<V, typename Epilogue::Operands> operands[together];
      FUSEC_UNROLL
      for (int p = 0; p < together; ++p) {
        int run = (first + p) * 32 + lane;
        i64 row = firstRow + m * 64 + run / runsPerRow;
        i64 column = firstColumn + chunk * columns + run % runsPerRow * V;
        i64 left = row < shape.m ? shape.n - column : 0;
        places[p] = {tile.batch, row, column, left < V ? int(left) : V};
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
    launch::warpBarrier();
  }
}

} // namespace detail

/// The tiles of this block; any grid of whole clusters.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmWgmma(const Shape &shape, const Epilogue &epilogue,
                            const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  static_assert(isSame<typename Epilogue::Accumulator, float>,
                "tensor cores accumulate in float");
  static_assert(J <= wgmmaMaxAccumulators &&
                    J * Config::tileN * Config::blocksM <= 256,
                "accumulators that fit the registers");
  detail::WgmmaRing<Config, J> ring;
  ring.start();
  constexpr int cluster = Config::cluster;
  int rank = cluster > 1 ? int(primitive::blockInCluster()) : 0;
  int tilesM = wgmmaTilesM(shape.m, Config::tileM, cluster);
  int tilesN = tilesOf(shape.n, Config::tileN);
  auto forEachTile = [&](auto body) {
    for (int t = launch::block() / cluster; t < tilesM * tilesN * shape.batch;
         t += launch::blocks() / cluster) {
      TilePlace tile = tileOf(t, tilesM, tilesN);
      tile.m = tile.m * cluster + rank;
      body(tile);
    }
  };
  int group = launch::thread() / 128;
  if (group == 0) {
    primitive::giveRegisters<24>();
    if (launch::thread() == 0)
      forEachTile([&](TilePlace tile) {
        (detail::wgmmaProduce<Config, J>(segments, tile, rank, ring), ...);
      });
  } else {
    primitive::takeRegisters<240>();
    forEachTile([&](TilePlace tile) {
      detail::WgmmaAccumulators<Config, J> acc = {};
      (detail::wgmmaConsume<Config, J>(segments, group - 1, ring, acc), ...);
      detail::wgmmaEpilogue<Config, Epilogue, J>(epilogue, shape, tile,
                                                 group - 1, acc);
    });
  }
  if constexpr (cluster > 1)
    ring.meet();
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_WGMMA_H
