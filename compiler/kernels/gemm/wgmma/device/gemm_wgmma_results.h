// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread holds of the epilogue's results, and its writes to the swizzled
// buffers that the copy engine stores.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_RESULTS_H
#define FUSEC_KERNELS_GEMM_WGMMA_RESULTS_H

#include "gemm_wgmma_fragment.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// A buffer's results as a thread holds them: a word of two 16-bit elements, or
/// two words. `AlongRows`: staged column by column.
template <class T, int Groups, bool AlongRows> struct ResultFragment {
  static constexpr int words = int(sizeof(T)) / 2;
  static constexpr int rowBytes = Groups * 8 * int(sizeof(T));
  static_assert(words == 1 || !AlongRows, "matrices of 16-bit elements");
  u32 held[Groups][2][words];

  static FUSEC_DEVICE u32 bitsOf(Compute<T> value) {
    if constexpr (isSame<T, float>)
      return primitive::bitsOf(value);
    else
      return u32(Unsigned<T>(value));
  }
  FUSEC_DEVICE void put(int group, int half, const Compute<T> (&pair)[2]) {
    if constexpr (isHalf<T>) {
      held[group][half][0] = primitive::packPair(T(), pair[0], pair[1]);
    } else if constexpr (words == 1) {
      held[group][half][0] = bitsOf(pair[0]) | bitsOf(pair[1]) << 16;
    } else {
      held[group][half][0] = bitsOf(pair[0]);
      held[group][half][1] = bitsOf(pair[1]);
    }
  }
  FUSEC_DEVICE void stage(u32 to, int lane) const {
    if constexpr (AlongRows) {
      u32 first = to + wgmmaColumnUnit(0, lane);
      FUSEC_UNROLL
      for (int g = 0; g < Groups; g += 2)
        primitive::storeMatrix4Transposed(first + g * 8 * wgmmaColumnBytes,
                                          held[g][0][0], held[g][1][0],
                                          held[g + 1][0][0], held[g + 1][1][0]);
    } else if constexpr (words == 1) {
      // Aligned rows: units differ by bits of the address, which one register
      // holds for all of them.
      u32 first = to + wgmmaSwizzledUnit(rowBytes, lane & 15, lane >> 4);
      FUSEC_UNROLL
      for (int g = 0; g < Groups; g += 2)
        primitive::storeMatrix4(first ^ g * 16, held[g][0][0], held[g][1][0],
                                held[g + 1][0][0], held[g + 1][1][0]);
    } else {
      // Every other line writes its second half first, so that the stores of
      // half a warp meet in no bank.
      constexpr int apart = Groups / 2;
      int row = lane >> 2;
      bool late = row & (wgmmaRowBytes / rowBytes);
      FUSEC_UNROLL
      for (int g = 0; g < apart; ++g)
        FUSEC_UNROLL
      for (int half = 0; half < 2; ++half) {
        const u32(&a)[words] = held[g][half],
              (&b)[words] = held[g + apart][half];
        auto place = [&](int group) {
          return to +
                 wgmmaSwizzledUnit(rowBytes, row + half * 8,
                                   group * 2 + (lane >> 1 & 1)) +
                 (lane & 1) * 8;
        };
        primitive::storeShared(place(late ? g + apart : g), late ? b[0] : a[0],
                               late ? b[1] : a[1]);
        primitive::storeShared(place(late ? g : g + apart), late ? a[0] : b[0],
                               late ? a[1] : b[1]);
      }
    }
  }
};

/// Of a result: whether the elements of a column lie one after another.
template <class Result> constexpr bool liesAlongRows = false;
template <class T, class Columns, int Alignment, class Batch>
constexpr bool liesAlongRows<
    Mapped<FullResult<T, Contiguous, Columns, Alignment, Batch>>> = true;

/// Whether every result has a tensor map, and what their elements take.
template <class PackType> struct ResultMaps {
  static constexpr bool all = true;
  static constexpr int bytes = 0;
};
template <class First, class... Rest> struct ResultMaps<Pack<First, Rest...>> {
  static constexpr bool all = false;
  static constexpr int bytes = 0;
};
template <class Described, class... Rest>
struct ResultMaps<Pack<Mapped<Described>, Rest...>> {
  static constexpr int own = int(sizeof(typename Described::Element));
  static constexpr bool all =
      (own == 2 || own == 4) && ResultMaps<Pack<Rest...>>::all;
  static constexpr int bytes = own + ResultMaps<Pack<Rest...>>::bytes;
};

/// The results of a pack, one buffer of 16 rows behind the other.
template <class PackType, int Groups> struct ResultFragments {
  template <int V>
  FUSEC_DEVICE void put(int, int, const Values<V, PackType> &) {}
  FUSEC_DEVICE void stage(u32, int) const {}
  static FUSEC_DEVICE void store(const PackType &, u32, int, int, int) {}
  static FUSEC_DEVICE void prefetch(const PackType &) {}
};
template <class First, class... Rest, int Groups>
struct ResultFragments<Pack<First, Rest...>, Groups> {
  typedef Pack<First, Rest...> PackType;
  typedef typename First::Element T;
  static constexpr int bytes = 16 * Groups * 8 * int(sizeof(T));
  static constexpr bool alongRows = liesAlongRows<First>;
  ResultFragment<T, Groups, alongRows> first;
  ResultFragments<Pack<Rest...>, Groups> rest;
  template <int V>
  FUSEC_DEVICE void put(int group, int half, const Values<V, PackType> &from) {
    first.put(group, half, from.first);
    rest.put(group, half, from.rest);
  }
  FUSEC_DEVICE void stage(u32 to, int lane) const {
    first.stage(to, lane);
    rest.stage(to + bytes, lane);
  }
  static FUSEC_DEVICE void prefetch(const PackType &pack) {
    primitive::prefetchMap(pack.first.map);
    ResultFragments<Pack<Rest...>, Groups>::prefetch(pack.rest);
  }
  static FUSEC_DEVICE void store(const PackType &pack, u32 from, int column,
                                 int row, int batch) {
    int x = alongRows ? row : column, y = alongRows ? column : row;
    if constexpr (isSame<decltype(pack.first.batch), Unbatched>)
      primitive::storeBox(pack.first.map, from, x, y);
    else
      primitive::storeBox(pack.first.map, from, x, y, batch);
    ResultFragments<Pack<Rest...>, Groups>::store(pack.rest, from + bytes,
                                                  column, row, batch);
  }
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_RESULTS_H
