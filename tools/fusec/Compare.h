// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far two tensors are from each other.

#ifndef FUSEC_TOOLS_FUSEC_COMPARE_H
#define FUSEC_TOOLS_FUSEC_COMPARE_H

#include "tools/data/Tensor.h"

namespace fusec {

/// The element as a double: exact but for 64-bit integers beyond 2^53.
double getElement(const data::Tensor &tensor, uint64_t index);

struct Difference {
  /// |got - expected| / |expected|, Euclidean norms over the elements that are
  /// finite in `expected`; over |1| where that norm is zero.
  double norm = 0;
  /// The largest |got - expected|, and where it is.
  double largest = 0;
  uint64_t where = 0;
  /// Elements where one is NaN, or an infinity that the other is not.
  uint64_t notFinite = 0;
  /// max over elements of |got - expected| / (atol + rtol * |expected|).
  double scaled = 0;
  /// Empty, or how types or sizes differ.
  std::string mismatch;
};

Difference compare(const data::Tensor &got, const data::Tensor &expected,
                   double rtol = 0, double atol = 1);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_COMPARE_H
