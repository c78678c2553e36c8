// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of gemm_resident.h, evaluated where the accumulators are: a
// fragment of 16 rows and 16 columns at a time. Mapped results are staged in
// the swizzle of their tensor map and stored by the copy engine, others are
// written from the fragments.

#ifndef FUSEC_KERNELS_GEMM_RESIDENT_EPILOGUE_H
#define FUSEC_KERNELS_GEMM_RESIDENT_EPILOGUE_H

#include "gemm.h"
#include "gemm_resident_config.h"
#include "gemm_wgmma.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

template <class Result> struct ResultMap {
  static constexpr bool mapped = false;
};
template <class Result> struct ResultMap<Mapped<Result>> {
  static constexpr bool mapped = true;
  static_assert(sizeof(typename Result::Element) == 2 ||
                    isSame<typename Result::Element, float>,
                "a mapped result is a 16-bit float or a float");
};

/// Bytes that a warp stages of all mapped results of a pack.
template <int TileN, class PackType> struct Staged {
  static constexpr int bytes = 0;
};
template <int TileN, class First, class... Rest>
struct Staged<TileN, Pack<First, Rest...>> {
  static constexpr int own =
      ResultMap<First>::mapped
          ? residentStagedBytes(TileN, sizeof(typename First::Element))
          : 0;
  static constexpr int bytes = own + Staged<TileN, Pack<Rest...>>::bytes;
};

template <class Config, int J> struct ResidentAccumulators {
  static constexpr int each = Config::tileN / 2;
  float at[J * each];
};

/// Results of 16 rows by 16 columns, as the fragments hold them: eight columns,
/// then half of the rows.
template <class Results> using ResidentValues = Values<2, Results>[2][2];

template <class Result, class Get>
FUSEC_DEVICE void stageResult(const Result &, u32 staging, int first, Get get) {
  typedef typename Result::Element T;
  int lane = launch::lane();
  if constexpr (sizeof(T) == 2) {
    int row = lane & 15, chunk = first / 8 + (lane >> 4);
    u32 to = staging + (chunk / 8) * (residentResultRows * wgmmaRowBytes) +
             row * wgmmaRowBytes + ((chunk & 7) ^ (row & 7)) * 16;
    u32 words[2][2];
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      words[n][half] =
          primitive::packPair(T(), get(n, half)[0], get(n, half)[1]);
    primitive::storeMatrix4(to, words[0][0], words[0][1], words[1][0],
                            words[1][1]);
  } else {
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = (lane >> 2) + half * 8;
      int chunk = first / 4 + n * 2 + (lane >> 1 & 1);
      u32 to = staging + (chunk / 8) * (residentResultRows * wgmmaRowBytes) +
               row * wgmmaRowBytes + ((chunk & 7) ^ (row & 7)) * 16 +
               (lane & 1) * 8;
      primitive::storeShared(to, primitive::bitsOf(get(n, half)[0]),
                             primitive::bitsOf(get(n, half)[1]));
    }
  }
}

/// Stages the mapped results of a fragment and writes the others. `get` leads
/// to the rest of the values of one place.
template <class Config, class Get>
FUSEC_DEVICE void finishFragment(const Pack<> &, u32, int,
                                 const Place (&)[2][2], Get) {}
template <class Config, class First, class... Rest, class Get>
FUSEC_DEVICE void finishFragment(const Pack<First, Rest...> &results,
                                 u32 staging, int first,
                                 const Place (&places)[2][2], Get get) {
  if constexpr (ResultMap<First>::mapped) {
    stageResult(results.first, staging, first,
                [&](int n, int half) { return get(n, half).first; });
    staging +=
        residentStagedBytes(Config::tileN, sizeof(typename First::Element));
  } else {
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      results.first.write(places[n][half], get(n, half).first);
  }
  finishFragment<Config>(
      results.rest, staging, first, places,
      [&](int n, int half) -> const Values<2, Pack<Rest...>> & {
        return get(n, half).rest;
      });
}

/// One thread stores what its warp has staged.
template <class Config>
FUSEC_DEVICE void storeStaged(const Pack<> &, u32, int) {}
template <class Config, class First, class... Rest>
FUSEC_DEVICE void storeStaged(const Pack<First, Rest...> &results, u32 staging,
                              int row) {
  if constexpr (ResultMap<First>::mapped) {
    constexpr int bytes = sizeof(typename First::Element);
    constexpr int boxes = tilesOf(Config::tileN * bytes, wgmmaRowBytes);
    FUSEC_UNROLL
    for (int i = 0; i < boxes; ++i) {
      u32 from = staging + i * (residentResultRows * wgmmaRowBytes);
      int column = i * (wgmmaRowBytes / bytes);
      primitive::storeBox(results.first.map, from, column, row);
    }
    staging += residentStagedBytes(Config::tileN, bytes);
  }
  storeStaged<Config>(results.rest, staging, row);
}

/// What the epilogue's operands are read as: what varies with the column only,
/// once for the kernel's life and while the first rows are on their way, behind
/// which it would else queue, if the registers hold it; the others for each 16
/// columns.
template <class Config, class Epilogue> struct ResidentOperands {
  typedef typename Epilogue::Operands Operands;
  static constexpr int spare = Config::registers - wgmmaOtherRegisters(2) -
                               Epilogue::accumulators * Config::tileN / 2;
  template <Holds Which>
  using OfKernel = Fragments<Operands, Config::tileN / 8, 2, Which>;
  static constexpr bool holdsColumns =
      OfKernel<Holds::ByColumn>::values <= spare;
  typedef OfKernel<holdsColumns ? Holds::ByColumn : Holds::Nothing> Columns;
  typedef Fragments<Operands, 2, 2, holdsColumns ? Holds::Others : Holds::All>
      OfStep;

  /// Reads from the thread's columns of `first` on; rows past the end read the
  /// last one, and nothing of theirs is stored.
  template <int Width, class Held>
  static FUSEC_DEVICE void read(const Epilogue &epilogue, const Shape &shape,
                                int row, int first, Held &to) {
    WgmmaPlace place{0,
                     {min(row, shape.m - 1), min(row + 8, shape.m - 1)},
                     first + (launch::lane() & 3) * 2,
                     Config::columns - 1,
                     0,
                     0};
    if (first + Width <= Config::columns)
      to.template read<true>(epilogue.operands, place);
    else
      to.template read<false>(epilogue.operands, place);
  }
};

/// Evaluates a warp's 16 rows straight from the accumulators: only the warp
/// itself waits.
template <class Config, class Epilogue, int J>
FUSEC_DEVICE void residentEpilogue(
    const Epilogue &epilogue,
    const typename ResidentOperands<Config, Epilogue>::Columns &columns,
    const Shape &shape, int tile, int warp, u32 staging,
    const ResidentAccumulators<Config, J> &acc) {
  typedef typename Epilogue::Results Results;
  typedef ResidentOperands<Config, Epilogue> Operands;
  constexpr bool stages = Staged<Config::tileN, Results>::bytes > 0;
  int lane = launch::lane();
  int warpRow = tile * residentRows + (warp & 3) * residentResultRows;
  if (stages) {
    if (primitive::elect())
      primitive::waitStoresRead<0>();
    launch::warpBarrier();
  }
  FUSEC_UNROLL
  for (int first = 0; first < Config::tileN; first += 16) {
    Place places[2][2];
    Values<2, Results> results[2][2];
    typename Operands::OfStep current;
    Operands::template read<16>(epilogue, shape, warpRow + (lane >> 2), first,
                                current);
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half) {
      int row = warpRow + (lane >> 2) + half * 8;
      int column = first + n * 8 + (lane & 3) * 2;
      int count = 2;
      if (first + 16 > Config::columns) // Zero or below past the last column.
        count = min(Config::columns - column, 2);
      places[n][half] = {0, row, column, row < shape.m ? count : 0};
    }
    FUSEC_UNROLL
    for (int n = 0; n < 2; ++n)
      FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (int i = 0; i < 2; ++i) {
      Values<2, typename Epilogue::Operands> operands;
      columns.get(half, first / 8 + n, i, operands);
      current.get(half, n, i, operands);
      float values[J];
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        values[j] = acc.at[j * acc.each + (first / 8 + n) * 4 + half * 2 + i];
      applyAt<Epilogue>(i, values, operands, results[n][half]);
    }
    finishFragment<Config>(epilogue.results, staging, first, places,
                           [&](int n, int half) -> const Values<2, Results> & {
                             return results[n][half];
                           });
  }
  if (stages) {
    primitive::fenceCopies();
    launch::warpBarrier();
    if (warpRow < shape.m && primitive::elect()) {
      storeStaged<Config>(epilogue.results, staging, warpRow);
      primitive::commitStores();
    }
  }
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_RESIDENT_EPILOGUE_H
