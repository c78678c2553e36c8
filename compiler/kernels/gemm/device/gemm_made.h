// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix that is nowhere in memory: its elements are made as they are
// multiplied, of another matrix and of scalars, rows and columns: casts, scales
// of elements, activations, weights of fewer bits.

#ifndef FUSEC_KERNELS_GEMM_MADE_H
#define FUSEC_KERNELS_GEMM_MADE_H

#include "gemm.h"

namespace fusec {

/// Elements that a pure function makes of those of `Source`. It has the form of
/// an epilogue of one accumulator, which is the element that was read: its
/// operands' rows are outer indices, their columns ks, and its one result is
/// an `Element`.
template <class Source, class Function> struct Made : Source {
  typedef typename Function::Element Element;
  Function function;
};

/// The one result of such a function.
template <class T> struct MadeElement {
  typedef T Element;
  typedef Compute<T> Value;
};

/// The function of elements that only change their type.
template <class T, class Read> struct Conversion {
  typedef Read Accumulator;
  typedef T Element;
  typedef Pack<> Operands;
  typedef Pack<MadeElement<T>> Results;
  Operands operands;
  FUSEC_DEVICE static void apply(const Read (&read)[1], Compute<T> &element) {
    element = read[0];
  }
};

namespace detail {
template <class Function> inline constexpr bool isConversion = false;
template <class T, class Read>
inline constexpr bool isConversion<Conversion<T, Read>> = true;

/// What of a matrix is in memory.
template <class MatrixType> struct MatrixSource {
  typedef MatrixType Type;
  static constexpr bool isMade = false;
};
template <class Source, class Function>
struct MatrixSource<Made<Source, Function>> {
  typedef Source Type;
  static constexpr bool isMade = true;
};

/// An element of what was read and of the operands' values at i.
template <class Function, int V>
FUSEC_DEVICE auto
makeElement(int i, typename Function::Accumulator read,
            const Values<V, typename Function::Operands> &operands) {
  const typename Function::Accumulator values[1] = {read};
  Values<V, typename Function::Results> results;
  applyAt<Function>(i, values, operands, results);
  return results.first[i];
}
} // namespace detail

template <class Source, class Function>
FUSEC_DEVICE typename Function::Element
elementAt(const Made<Source, Function> &matrix, i64 batch, i64 outer, i64 k) {
  detail::Values<1, typename Function::Operands> operands;
  detail::readPack(matrix.function.operands, Place{batch, outer, k, 1},
                   operands);
  auto read = cast<typename Function::Accumulator>(
      matrix.at(batch)[matrix.offset(outer, k)]);
  return cast<typename Function::Element>(
      detail::makeElement<Function>(0, read, operands));
}

} // namespace fusec

#endif // FUSEC_KERNELS_GEMM_MADE_H
