// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul by plain multiply-add: every type, any strides, exact fp32. Tiles are
// stored K by K in shared memory, double buffered; each thread holds a
// threadM x threadN block of every accumulator in registers.

#ifndef FUSEC_KERNELS_GEMM_SIMT_H
#define FUSEC_KERNELS_GEMM_SIMT_H

#include "gemm.h"
#include "gemm_simt_config.h"

namespace fusec {

#ifdef FUSEC_HOST
template <class Config, class Epilogue, class... Segments>
void gemmSimt(const Shape &shape, const Epilogue &epilogue,
              const Segments &...segments) {
  hostGemm<Config>(shape, epilogue, segments...);
}
#else

namespace detail {

/// One thread's share of a tile of an operand, on its way from global to
/// shared memory. Threads walk the contiguous axis first; a thread's vectors
/// are `slowStep` apart along the other one.
template <class MatrixType, class Acc, int Tile, int TileK, int Threads>
struct SimtCopy {
  typedef typename MatrixType::Element T;
  static constexpr bool alongK = MatrixType::major == Major::K;
  static constexpr int share = Tile * TileK / Threads;
  static constexpr int width =
      MatrixType::major == Major::Strided || share < 1
          ? 1
          : vectorOf<T>(MatrixType::alignment, share < 4 ? share : 4);
  static constexpr int fast = (alongK ? TileK : Tile) / width;
  static constexpr int chunks = Tile * TileK / width;
  static constexpr int count = (chunks + Threads - 1) / Threads;
  static constexpr int slowStep = Threads / fast;
  static constexpr int pitch = Tile + simtPadding;
  static_assert(Threads % fast == 0, "one place along the fast axis a thread");

  Vec<T, width> held[count];
  const T *pointer; // Of the first vector in the next tile of K.
  i64 slowPointer;  // From one vector to the next, in elements.
  i64 advance;      // From one tile of K to the next, in elements.
  int outer, k;     // Of the first vector.
  int outers, ks;

  static FUSEC_DEVICE int fastIndex() {
    return launch::thread() % fast * width;
  }
  static FUSEC_DEVICE int slowIndex() { return launch::thread() / fast; }

  FUSEC_DEVICE void start(const MatrixType &matrix, i64 batch, int firstOuter,
                          int outerCount, KRange range) {
    const T *base = matrix.at(batch);
    outer = firstOuter + (alongK ? slowIndex() : fastIndex());
    k = range.first + (alongK ? fastIndex() : slowIndex());
    outers = base == nullptr ? 0 : outerCount;
    ks = range.last;
    pointer = base + matrix.offset(outer, k);
    slowPointer = slowStep * matrix.offset(alongK ? 1 : 0, alongK ? 0 : 1);
    advance = matrix.offset(0, TileK);
  }

  /// Reads the next tile of K; what lies outside the matrix is zero.
  FUSEC_DEVICE void read() {
    int inside = alongK ? ks - k : outers - outer;
    int slowLeft = alongK ? outers - outer : ks - k;
    FUSEC_UNROLL
    for (int i = 0; i < count; ++i) {
      const T *p = pointer + i * slowPointer;
      bool slowInside = i * slowStep < slowLeft;
      if (slowInside && inside >= width) {
        held[i] = load<width>(p);
        continue;
      }
      FUSEC_UNROLL
      for (int w = 0; w < width; ++w)
        held[i][w] = slowInside && w < inside ? p[w] : T{};
    }
    pointer += advance;
    k += TileK;
  }

  FUSEC_DEVICE void write(Acc *tile) const {
    int first = alongK ? fastIndex() * pitch + slowIndex()
                       : slowIndex() * pitch + fastIndex();
    FUSEC_UNROLL
    for (int i = 0; i < count; ++i) {
      if (chunks % Threads != 0 && launch::thread() + i * Threads >= chunks)
        continue;
      FUSEC_UNROLL
      for (int w = 0; w < width; ++w)
        tile[first + i * slowStep * (alongK ? 1 : pitch) +
             w * (alongK ? pitch : 1)] = cast<Acc>(held[i][w]);
    }
  }
};

/// Rows of a thread come in groups of neighbours, so that shared memory is read
/// by vectors without bank conflicts.
template <int PerThread>
constexpr int simtGroup = PerThread < 4 ? PerThread : 4;

/// Where the accumulators of a thread lie in the tile.
template <class Config> struct SimtPlaces {
  static constexpr int groupM = simtGroup<Config::threadM>;
  static constexpr int groupN = simtGroup<Config::threadN>;
  static constexpr int threadsN = Config::tileN / Config::threadN;
  static FUSEC_DEVICE int idM() { return launch::thread() / threadsN; }
  static FUSEC_DEVICE int idN() { return launch::thread() % threadsN; }
  /// The m-th row of the threads of one idM.
  static FUSEC_DEVICE int row(int m, int idM) {
    return m / groupM * (Config::tileM / (Config::threadM / groupM)) +
           idM * groupM + m % groupM;
  }
  /// The first of the g-th group of neighbouring columns.
  static FUSEC_DEVICE int column(int g) {
    return g * (Config::tileN / (Config::threadN / groupN)) + idN() * groupN;
  }
};

template <class Acc, int PerThread, int Tile>
FUSEC_DEVICE void readSimtFragment(const Acc *row, int id,
                                   Acc (&out)[PerThread]) {
  constexpr int group = simtGroup<PerThread>;
  FUSEC_UNROLL
  for (int g = 0; g < PerThread / group; ++g) {
    Vec<Acc, group> v =
        load<group>(row + g * (Tile / (PerThread / group)) + id * group);
    FUSEC_UNROLL
    for (int i = 0; i < group; ++i)
      out[g * group + i] = v[i];
  }
}

template <class Config, class Acc, int J, class SegmentType>
FUSEC_DEVICE void simtSegment(const SegmentType &segment, const Shape &shape,
                              TilePlace tile, KRange range,
                              Acc (&acc)[J][Config::threadM][Config::threadN]) {
  static_assert(SegmentType::accumulators == J, "one B an accumulator");
  constexpr int tileK = Config::tileK;
  typedef SimtCopy<typename SegmentType::A, Acc, Config::tileM, tileK,
                   Config::threads>
      CopyA;
  typedef SimtCopy<typename SegmentType::B, Acc, Config::tileN, tileK,
                   Config::threads>
      CopyB;
  constexpr int bufferA = tileK * CopyA::pitch, bufferB = tileK * CopyB::pitch;
  constexpr int buffer = bufferA + J * bufferB;
  Acc *shared = reinterpret_cast<Acc *>(launch::sharedMemory());
  constexpr int threadsN = Config::tileN / Config::threadN;
  int idN = launch::thread() % threadsN, idM = launch::thread() / threadsN;

  CopyA copyA;
  CopyB copyB[J];
  copyA.start(segment.a, tile.batch, tile.m * Config::tileM, shape.m, range);
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j)
    copyB[j].start(segment.b[j], tile.batch, tile.n * Config::tileN, shape.n,
                   range);
  auto readTile = [&] {
    copyA.read();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      copyB[j].read();
  };
  auto writeTile = [&](Acc *to) {
    copyA.write(to);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      copyB[j].write(to + bufferA + j * bufferB);
  };

  if (range.first >= range.last)
    return;
  launch::barrier(); // A previous segment has been read by everybody.
  readTile();
  writeTile(shared);
  launch::barrier();
  Acc *current = shared, *next = shared + buffer;
  for (int k = range.first; k < range.last; k += tileK) {
    bool more = range.last - k > tileK;
    if (more)
      readTile();
    FUSEC_UNROLL
    for (int kk = 0; kk < tileK; ++kk) {
      Acc a[Config::threadM];
      readSimtFragment<Acc, Config::threadM, Config::tileM>(
          current + kk * CopyA::pitch, idM, a);
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j) {
        Acc b[Config::threadN];
        readSimtFragment<Acc, Config::threadN, Config::tileN>(
            current + bufferA + j * bufferB + kk * CopyB::pitch, idN, b);
        FUSEC_UNROLL
        for (int m = 0; m < Config::threadM; ++m)
          FUSEC_UNROLL
        for (int n = 0; n < Config::threadN; ++n)
          acc[j][m][n] = accumulate(a[m], b[n], acc[j][m][n]);
      }
    }
    if (more)
      writeTile(next);
    launch::barrier();
    Acc *swap = current;
    current = next;
    next = swap;
  }
}

/// Evaluates runs of each thread's accumulators where they are.
template <class Config, class Epilogue, class Acc, int J>
FUSEC_DEVICE void
simtEpilogue(const Epilogue &epilogue, const Shape &shape, TilePlace tile,
             Acc (&acc)[J][Config::threadM][Config::threadN]) {
  typedef SimtPlaces<Config> Places;
  constexpr int group = Places::groupN;
  FUSEC_UNROLL
  for (int m = 0; m < Config::threadM; ++m) {
    i64 row = i64(tile.m) * Config::tileM + Places::row(m, Places::idM());
    FUSEC_UNROLL
    for (int g = 0; g < Config::threadN / group; ++g) {
      Acc run[J][group];
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        FUSEC_UNROLL
      for (int i = 0; i < group; ++i)
        run[j][i] = acc[j][m][g * group + i];
      i64 column = i64(tile.n) * Config::tileN + Places::column(g);
      if (row < shape.m)
        evaluateRun(epilogue, tile.batch, row, column, shape.n, run);
    }
  }
}

/// Stages one row of every thread at a time; the block's warps evaluate a share
/// of whole rows each.
template <class Config, class Epilogue, class Acc, int J>
FUSEC_DEVICE void
simtRowEpilogue(const Epilogue &epilogue, const Shape &shape, TilePlace tile,
                Acc (&acc)[J][Config::threadM][Config::threadN]) {
  typedef SimtPlaces<Config> Places;
  constexpr int group = Places::groupN, rows = Config::tileM / Config::threadM;
  typedef RowShare<Epilogue, Config::tileN, rows, Config::threads / 32> Share;
  constexpr int V = Share::V;
  constexpr int pitch = Config::tileN + simtPadding;
  static_assert(rows <= 2 * Config::tileK, "staged rows in the tiles' memory");
  Acc *staged = reinterpret_cast<Acc *>(launch::sharedMemory());
  FUSEC_UNROLL
  for (int m = 0; m < Config::threadM; ++m) {
    launch::barrier(); // The tiles, or the rows before, have been read.
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int g = 0; g < Config::threadN / group; ++g) {
      Vec<Acc, group> run;
      FUSEC_UNROLL
      for (int i = 0; i < group; ++i)
        run[i] = acc[j][m][g * group + i];
      store<group>(
          staged + (j * rows + Places::idM()) * pitch + Places::column(g), run);
    }
    launch::barrier();
    Share::evaluate(
        epilogue, tile.batch, shape.m, shape.n, launch::warp(),
        [&](int i) { return i64(tile.m) * Config::tileM + Places::row(m, i); },
        [&](int i, int column, Acc(&to)[J][V]) {
          readStagedRun(staged, rows, pitch, i, column, to);
        });
  }
}

} // namespace detail

/// One block's tile of the root.
template <class Config, class Epilogue, class... Segments>
FUSEC_DEVICE void gemmSimt(const Shape &shape, const Epilogue &epilogue,
                           const Segments &...segments) {
  constexpr int J = Epilogue::accumulators;
  typedef typename Epilogue::Accumulator Acc;
  TilePlace tile = tileOf(launch::block(), tilesOf(shape.m, Config::tileM),
                          tilesOf(shape.n, Config::tileN));
  Acc acc[J][Config::threadM][Config::threadN] = {};
  (detail::simtSegment<Config>(segments, shape, tile,
                               segments.range(tile.batch), acc),
   ...);
  if constexpr (reducesRows<Epilogue>)
    detail::simtRowEpilogue<Config>(epilogue, shape, tile, acc);
  else
    detail::simtEpilogue<Config>(epilogue, shape, tile, acc);
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_SIMT_H
