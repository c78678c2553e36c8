// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer functions that the reference texts of FusecPointwiseOps.td call.
// docs/semantics.md fixes the corner cases; nothing here can trap.

#ifndef FUSEC_IR_REFERENCESCALARS_H
#define FUSEC_IR_REFERENCESCALARS_H

#include <cmath>
#include <cstdint>

namespace fusec::reference {

inline int64_t intDiv(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1) // INT_MIN / -1 wraps to INT_MIN
    return static_cast<int64_t>(-static_cast<uint64_t>(a));
  return a / b;
}
inline int64_t intRemainder(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
inline int64_t intFloorMod(int64_t a, int64_t b) {
  int64_t r = intRemainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <typename T> T floorMod(T a, T b) {
  T r = std::fmod(a, b);
  if (r == 0) // the divisor's sign, as in Python
    return std::copysign(T(0), b);
  return (r < 0) != (b < 0) ? r + b : r;
}
inline uint64_t uintPow(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return result;
}
inline int64_t intPow(int64_t base, int64_t exponent) {
  if (exponent >= 0)
    return static_cast<int64_t>(
        uintPow(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
  // 1 / base^n truncated towards zero.
  if (base == 1)
    return 1;
  if (base == -1)
    return exponent % 2 ? -1 : 1;
  return 0;
}

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCESCALARS_H
