// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul with a narrow side (at most 8 columns, or at most 8 rows) by vector
// loads of the wide operand, which is what bounds it. Where the wide operand is
// K-major a warp contracts one of its rows; otherwise lanes take neighbouring
// outer indices and the warps of a block split K, summed in a fixed order.

#ifndef FUSEC_KERNELS_GEMV_H
#define FUSEC_KERNELS_GEMV_H

#include "gemm.h"
#include "gemv_config.h"
#include "reduce.h"

namespace fusec {

#ifdef FUSEC_HOST
namespace detail {
template <class Config, Narrow Side, class Wide> struct HostGemvTiles {
  static constexpr int outers =
      gemvOuters(Wide::major == Major::K, Config::threads);
  static constexpr int tileM = Side == Narrow::N ? outers : Config::small;
  static constexpr int tileN = Side == Narrow::N ? Config::small : outers;
  static constexpr int tileK = 1; // K is not split.
};
} // namespace detail

template <class Config, Narrow Side, class Epilogue, class First, class... Rest>
void gemv(const Shape &shape, const Epilogue &epilogue, const First &first,
          const Rest &...rest) {
  typedef typename Conditional<Side == Narrow::N, typename First::A,
                               typename First::B>::Type Wide;
  hostGemm<detail::HostGemvTiles<Config, Side, Wide>>(shape, epilogue, first,
                                                      rest...);
}
#else

namespace detail {

/// The same root seen from its wide side: element types, pointers and counts
/// without regard to which of A and B is the narrow one.
template <Narrow Side, class SegmentType> struct GemvView {
  typedef typename SegmentType::A A;
  typedef typename SegmentType::B B;
  static constexpr bool wideIsA = Side == Narrow::N;
  typedef typename Conditional<wideIsA, A, B>::Type Wide;
  typedef typename Conditional<wideIsA, B, A>::Type Thin;
  static constexpr int wides = wideIsA ? 1 : SegmentType::accumulators;
  static constexpr int thins = wideIsA ? SegmentType::accumulators : 1;
  const SegmentType &segment;
  FUSEC_DEVICE const Wide &wide(int j) const {
    if constexpr (wideIsA)
      return segment.a;
    else
      return segment.b[j];
  }
  FUSEC_DEVICE const Thin &thin(int j) const {
    if constexpr (wideIsA)
      return segment.b[j];
    else
      return segment.a;
  }
};

/// `Width` elements from `p`, or the first `count` of them and zeros.
template <int Width, class Acc, class T>
FUSEC_DEVICE void readWide(const T *p, int count, Acc (&out)[Width]) {
  if (count >= Width) {
    Vec<T, Width> v = load<Width>(p);
    FUSEC_UNROLL
    for (int i = 0; i < Width; ++i)
      out[i] = cast<Acc>(v[i]);
    return;
  }
  FUSEC_UNROLL
  for (int i = 0; i < Width; ++i)
    out[i] = i < count ? cast<Acc>(p[i]) : Acc(0);
}

template <class MatrixType>
constexpr int
    gemvWidth = MatrixType::major == Major::Strided
                    ? 1
                    : vectorOf<typename MatrixType::Element>(
                          MatrixType::alignment,
                          16 / int(sizeof(typename MatrixType::Element)));

/// One outer index a warp; lanes stride over K in vectors.
template <class Config, Narrow Side, class Acc, int J, class SegmentType>
FUSEC_DEVICE void gemvAlongK(const SegmentType &segment, i64 batch, i64 outer,
                             int thins, Acc (&acc)[J][Config::small]) {
  typedef GemvView<Side, SegmentType> View;
  View view{segment};
  typedef typename View::Wide Wide;
  typedef typename View::Thin Thin;
  constexpr int width = Wide::major == Major::K ? gemvWidth<Wide> : 1;
  int last = segment.range(batch).last;
  for (int k = launch::lane() * width; k < last; k += 32 * width) {
    Acc wide[View::wides][width];
    FUSEC_UNROLL
    for (int w = 0; w < View::wides; ++w) {
      const auto *p = view.wide(w).at(batch);
      FUSEC_UNROLL
      for (int i = 0; i < width; ++i)
        wide[w][i] = Acc(0);
      if (p != nullptr)
        readWide<width>(p + view.wide(w).offset(outer, k), last - k, wide[w]);
    }
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      const auto *p = view.thin(j).at(batch);
      if (p == nullptr)
        continue;
      FUSEC_UNROLL
      for (int s = 0; s < Config::small; ++s) {
        if (s >= thins)
          continue;
        Acc thin[width];
        if constexpr (Thin::major == Major::K && gemvWidth<Thin> >= width) {
          readWide<width>(p + view.thin(j).offset(s, k), last - k, thin);
        } else {
          FUSEC_UNROLL
          for (int i = 0; i < width; ++i)
            thin[i] = k + i < last ? cast<Acc>(p[view.thin(j).offset(s, k + i)])
                                   : Acc(0);
        }
        FUSEC_UNROLL
        for (int i = 0; i < width; ++i)
          acc[j][s] =
              accumulate(wide[View::wideIsA ? 0 : j][i], thin[i], acc[j][s]);
      }
    }
  }
}

/// Two neighbouring outer indices a lane; warps take every warps-th k.
template <class Config, Narrow Side, class Acc, int J, class SegmentType>
FUSEC_DEVICE void gemvAcross(const SegmentType &segment, i64 batch, i64 outer,
                             int outers, int thins,
                             Acc (&acc)[J][Config::small][2]) {
  typedef GemvView<Side, SegmentType> View;
  View view{segment};
  typedef typename View::Wide Wide;
  constexpr bool paired = Wide::major == Major::Outer && gemvWidth<Wide> >= 2;
  if (outer >= outers)
    return;
  bool both = outer + 1 < outers;
  int last = segment.range(batch).last;
  constexpr int inFlight = Config::small * J <= 2 ? 8 : 2;
  FUSEC_UNROLL_BY(inFlight)
  for (int k = launch::warp(); k < last; k += Config::warps) {
    Acc wide[View::wides][2];
    FUSEC_UNROLL
    for (int w = 0; w < View::wides; ++w) {
      const auto *p = view.wide(w).at(batch);
      wide[w][0] = wide[w][1] = Acc(0);
      if (p == nullptr)
        continue;
      if constexpr (paired) {
        readWide<2>(p + view.wide(w).offset(outer, k), both ? 2 : 1, wide[w]);
      } else {
        wide[w][0] = cast<Acc>(p[view.wide(w).offset(outer, k)]);
        if (both)
          wide[w][1] = cast<Acc>(p[view.wide(w).offset(outer + 1, k)]);
      }
    }
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      const auto *p = view.thin(j).at(batch);
      if (p == nullptr)
        continue;
      FUSEC_UNROLL
      for (int s = 0; s < Config::small; ++s) {
        if (s >= thins)
          continue;
        Acc thin = cast<Acc>(p[view.thin(j).offset(s, k)]);
        FUSEC_UNROLL
        for (int i = 0; i < 2; ++i)
          acc[j][s][i] =
              accumulate(wide[View::wideIsA ? 0 : j][i], thin, acc[j][s][i]);
      }
    }
  }
}

/// Evaluates the results of one outer index, run by run along the row.
template <class Config, Narrow Side, class Epilogue, int J>
FUSEC_DEVICE void
gemvFinish(const Epilogue &epilogue, const Shape &shape, i64 batch, i64 outer,
           const typename Epilogue::Accumulator (&acc)[J][Config::small]) {
  if constexpr (reducesRows<Epilogue>) {
    static_assert(Side == Narrow::N, "a thread has whole rows");
    evaluateRow<1, Config::small, 1>(
        epilogue, batch, outer, shape.n, [](int) { return 0; },
        [&](int, typename Epilogue::Accumulator(&to)[J][Config::small]) {
          FUSEC_UNROLL
          for (int j = 0; j < J; ++j)
            FUSEC_UNROLL
          for (int s = 0; s < Config::small; ++s)
            to[j][s] = acc[j][s];
        });
  } else if constexpr (Side == Narrow::N) {
    evaluateRun(epilogue, batch, outer, 0, shape.n, acc);
  } else {
    FUSEC_UNROLL
    for (int s = 0; s < Config::small; ++s) {
      if (s >= shape.m)
        break;
      typename Epilogue::Accumulator one[J][1];
      FUSEC_UNROLL
      for (int j = 0; j < J; ++j)
        one[j][0] = acc[j][s];
      evaluateRun(epilogue, batch, s, outer, shape.n, one);
    }
  }
}

} // namespace detail

/// The layout of the first segment's wide operand picks the mapping; other
/// segments follow it.
template <class Config, Narrow Side, class Epilogue, class First, class... Rest>
FUSEC_DEVICE void gemv(const Shape &shape, const Epilogue &epilogue,
                       const First &first, const Rest &...rest) {
  constexpr int J = Epilogue::accumulators;
  typedef typename Epilogue::Accumulator Acc;
  typedef typename detail::GemvView<Side, First>::Wide Wide;
  constexpr bool alongK = Wide::major == Major::K;
  constexpr int perBlock = gemvOuters(alongK, Config::threads);
  int outers = Side == Narrow::N ? shape.m : shape.n;
  int thins = Side == Narrow::N ? shape.n : shape.m;
  int blocks = tilesOf(outers, perBlock);
  i64 batch = launch::block() / blocks;
  i64 firstOuter = i64(launch::block() % blocks) * perBlock;

  if constexpr (alongK) {
    i64 outer = firstOuter + launch::warp();
    if (outer >= outers)
      return;
    Acc acc[J][Config::small] = {};
    (detail::gemvAlongK<Config, Side>(first, batch, outer, thins, acc));
    (detail::gemvAlongK<Config, Side>(rest, batch, outer, thins, acc), ...);
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int s = 0; s < Config::small; ++s)
      acc[j][s] = reduceLanes<Sum<Acc>>(acc[j][s]);
    if (launch::lane() == 0)
      detail::gemvFinish<Config, Side>(epilogue, shape, batch, outer, acc);
  } else {
    FUSEC_SHARED Acc partial[Config::warps][perBlock + 1];
    i64 outer = firstOuter + launch::lane() * 2;
    Acc acc[J][Config::small][2] = {};
    detail::gemvAcross<Config, Side>(first, batch, outer, outers, thins, acc);
    (detail::gemvAcross<Config, Side>(rest, batch, outer, outers, thins, acc),
     ...);
    Acc total[J][Config::small] = {};
    int mine = launch::thread();
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      FUSEC_UNROLL
    for (int s = 0; s < Config::small; ++s) {
      launch::barrier();
      partial[launch::warp()][launch::lane() * 2] = acc[j][s][0];
      partial[launch::warp()][launch::lane() * 2 + 1] = acc[j][s][1];
      launch::barrier();
      if (mine < perBlock)
        for (int w = 0; w < Config::warps; ++w)
          total[j][s] = Sum<Acc>::combine(total[j][s], partial[w][mine]);
    }
    if (mine < perBlock && firstOuter + mine < outers)
      detail::gemvFinish<Config, Side>(epilogue, shape, batch,
                                       firstOuter + mine, total);
  }
}

#endif // FUSEC_HOST

} // namespace fusec

#endif // FUSEC_KERNELS_GEMV_H
