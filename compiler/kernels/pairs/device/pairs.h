// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs: y = flatten(x x^T) W over the folded half of W. The left
// operand, x_i x_j, is made in registers. K is divided into parts, whose sums
// are stored one behind the other: another kernel adds them.

#ifndef FUSEC_DEVICE_PAIRS_H
#define FUSEC_DEVICE_PAIRS_H

#include "pairs_problem.h"

// `Config`: tileN, columns of a block's tile; stages, of the ring of weights;
// whole, whether rows have whole blocks of features, at multiples of 16 bytes.

#ifdef FUSEC_HOST
namespace fusec {

/// All of it, in the first block.
template <class Config, class X, class T>
void pairProduct(const PairProblem<X, T> &problem) {
  if (launch::block() != 0)
    return;
  const int features = problem.features;
  for (int part = 0; part < problem.parts; ++part) {
    int first = firstPairSquare(part, problem.parts, features),
        last = firstPairSquare(part + 1, problem.parts, features);
    for (int row = 0; row < problem.m; ++row) {
      const X *x = problem.x + row * problem.stride;
      float *sums =
          problem.sums +
          (static_cast<long long>(part) * problem.m + row) * problem.columns;
      for (int column = 0; column < problem.columns; ++column)
        sums[column] = 0;
      for (int k = first * pairSquare; k < last * pairSquare; ++k) {
        PairPlace at = pairOf(k);
        if (at.i >= features || at.j >= features)
          continue;
        float product =
            cast<float>(cast<X>(cast<float>(x[at.i]) * cast<float>(x[at.j])));
        for (int column = 0; column < problem.columns; ++column) {
          long long at = sizeof(T) == 4
                             ? pairPlainOffset(k, column, problem.columns)
                             : pairOffset(k, column, problem.columns);
          sums[column] += product * cast<float>(problem.weights[at]);
        }
      }
    }
  }
}
template <class Config, class X, class T>
void pairProductMma(const PairProblem<X, T> &problem) {
  pairProduct<Config>(problem);
}
template <class Config, class X, class T>
void pairProductFma(const PairProblem<X, T> &problem) {
  pairProduct<Config>(problem);
}

} // namespace fusec
#else
#include "pairs_fma.h"
#include "pairs_mma.h"
#include "pairs_wgmma.h"
#endif

#endif // FUSEC_DEVICE_PAIRS_H
