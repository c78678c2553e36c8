// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K split over blocks, for roots whose tiles are fewer than the SMs: each split
// stores its accumulators, a second kernel adds them in a fixed order and
// evaluates the epilogue.

#ifndef FUSEC_DEVICE_GEMM_SPLIT_H
#define FUSEC_DEVICE_GEMM_SPLIT_H

#include "gemm.h"
#include "reduce.h"

namespace fusec {
namespace detail {

template <class Acc, int J> struct PartialValue {
  Acc at[J];
};

/// Stores all accumulators: partials[batch * splits + split][j][m][n]. The
/// base is aligned to 16 bytes.
template <class Acc, int J> struct PartialResult {
  typedef Acc Element;
  typedef PartialValue<Acc, J> Value;
  Acc *pointer;
  i64 rows, columns;

  template <int V>
  FUSEC_DEVICE void write(const Place &place, const Value (&in)[V]) const {
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      Acc *p = pointer + ((place.batch * J + j) * rows + place.row) * columns +
               place.column;
      if (place.count == V && columns % V == 0) {
        Vec<Acc, V> v;
        FUSEC_UNROLL
        for (int i = 0; i < V; ++i)
          v[i] = in[i].at[j];
        store<V>(p, v);
        continue;
      }
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        if (i < place.count)
          p[i] = in[i].at[j];
    }
  }
};

template <class Acc, int J> struct PartialEpilogue {
  typedef Acc Accumulator;
  static constexpr int accumulators = J;
  typedef Pack<> Operands;
  typedef Pack<PartialResult<Acc, J>> Results;
  Operands operands;
  Results results;
  static FUSEC_DEVICE void apply(const Acc (&acc)[J],
                                 PartialValue<Acc, J> &value) {
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      value.at[j] = acc[j];
  }
};

template <class Acc, int J>
FUSEC_DEVICE PartialEpilogue<Acc, J> partialEpilogue(const Shape &shape,
                                                     Acc *partials) {
  return {{}, {PartialResult<Acc, J>{partials, shape.m, shape.n}}};
}

} // namespace detail

/// The second kernel: any grid of any block size.
template <class Epilogue>
FUSEC_DEVICE void gemmCombine(const Shape &shape, int splits,
                              const Epilogue &epilogue,
                              const typename Epilogue::Accumulator *partials) {
  typedef typename Epilogue::Accumulator Acc;
  constexpr int J = Epilogue::accumulators, V = epilogueVector<Epilogue>;
  i64 runs = tilesOf(shape.n, V), plane = i64(shape.m) * shape.n;
  forEach(runs * shape.m * shape.batch, [&](i64 id) {
    i64 column = id % runs * V, row = id / runs % shape.m;
    i64 batch = id / runs / shape.m;
    int count = shape.n - column < V ? int(shape.n - column) : V;
    Acc acc[J][V] = {};
    const Acc *p =
        partials + batch * splits * J * plane + row * shape.n + column;
    FUSEC_UNROLL_BY(4)
    for (int s = 0; s < splits; ++s)
      FUSEC_UNROLL
    for (int j = 0; j < J; ++j) {
      Acc part[V];
      if (shape.n % V == 0)
        detail::readRun<16>(p + (s * J + j) * plane, count, part);
      else
        detail::readRun<sizeof(Acc)>(p + (s * J + j) * plane, count, part);
      FUSEC_UNROLL
      for (int i = 0; i < V; ++i)
        acc[j][i] = Sum<Acc>::combine(acc[j][i], part[i]);
    }
    evaluateRun(epilogue, batch, row, column, shape.n, acc);
  });
}

} // namespace fusec

#endif // FUSEC_DEVICE_GEMM_SPLIT_H
