// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel of products of pairs is given.

#ifndef FUSEC_DEVICE_PAIRS_PROBLEM_H
#define FUSEC_DEVICE_PAIRS_PROBLEM_H

#include "prelude.h"

#include "pairs_config.h"

namespace fusec {

/// `features` of x in each of `m` rows, `stride` elements apart; sums of
/// [parts, m, columns]. X: f16, bf16 or float; T: f16 or bf16,
/// or float, whose weights lie as pairPlainOffset() says.
template <class X, class T> struct PairProblem {
  const X *x;
  long long stride;
  int m, features, columns, parts;
  const T *weights;
  float *sums;
};

} // namespace fusec

#endif // FUSEC_DEVICE_PAIRS_PROBLEM_H
