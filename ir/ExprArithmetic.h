// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of Expr share: arithmetic on constants, and sums and products
// in canonical form.

#ifndef FUSEC_IR_EXPRARITHMETIC_H
#define FUSEC_IR_EXPRARITHMETIC_H

#include "ir/Expr.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace fusec {

// Saturation instead of wrap-around: a size of 2^63 - 1 fails every later
// check, where a wrapped one could pass.
inline int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::AddOverflow(a, b, result))
    return result;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
inline int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::MulOverflow(a, b, result))
    return result;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
inline int64_t floorDivide(int64_t a, int64_t b) {
  if (b == -1)
    return saturatingMul(a, -1);
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

/// Whether a is a whole number of b, which is not 0.
inline bool isMultiple(int64_t a, int64_t b) { return b == -1 || a % b == 0; }
/// The greatest common divisor with a positive number.
inline int64_t getCommonDivisor(int64_t positive, int64_t other) {
  // One step of Euclid's algorithm, since INT64_MIN has no absolute value.
  return std::gcd(positive, other % positive);
}

/// The factors of a product, its coefficient included.
llvm::SmallVector<Expr> getFactors(Expr product);

/// The canonical sum of terms, none of which is a sum.
Expr makeSum(mlir::MLIRContext *context, llvm::ArrayRef<Expr> terms);

} // namespace fusec

#endif // FUSEC_IR_EXPRARITHMETIC_H
