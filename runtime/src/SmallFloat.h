// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fp16 and bf16 on the host: IEEE-like fields, rounded to nearest even, with
// subnormals; overflow gives infinity, NaN stays quiet.

#ifndef FUSEC_RUNTIME_SRC_SMALLFLOAT_H
#define FUSEC_RUNTIME_SRC_SMALLFLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fusec::rt {

inline uint16_t roundToBits(float value, int exponentBits, int mantissaBits) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint16_t sign = uint16_t(bits >> 31 << 15);
  int exponent = int(bits >> 23 & 0xff);
  uint32_t mantissa = bits & 0x7fffff;
  uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
  if (exponent == 0xff)
    return uint16_t(sign | infinity |
                    (mantissa ? 1u << (mantissaBits - 1) : 0));
  // value = mantissa * 2^(exponent - 150), subnormals included.
  if (exponent == 0)
    exponent = 1;
  else
    mantissa |= 0x800000;
  int bias = (1 << (exponentBits - 1)) - 1;
  int field = exponent - 127 + bias; // of the result, where normal
  int shift = 23 - mantissaBits + (field < 1 ? 1 - field : 0);
  if (shift > 24)
    return sign;
  uint32_t rounded = mantissa >> shift;
  uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1)))
    ++rounded;
  // A carry out of the mantissa raises the exponent, as it should.
  uint32_t result =
      field < 1 ? rounded : (uint32_t(field - 1) << mantissaBits) + rounded;
  return uint16_t(sign | (result < infinity ? result : infinity));
}

inline float expandBits(uint16_t bits, int exponentBits, int mantissaBits) {
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  int bias = (1 << (exponentBits - 1)) - 1;
  float value;
  if (exponent == (1 << exponentBits) - 1)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(float(mantissa), 1 - bias - mantissaBits);
  else
    value = std::ldexp(float(mantissa | 1 << mantissaBits),
                       exponent - bias - mantissaBits);
  return bits >> 15 ? -value : value;
}

inline uint16_t toHalf(float value) { return roundToBits(value, 5, 10); }
inline uint16_t toBFloat(float value) { return roundToBits(value, 8, 7); }
inline float fromHalf(uint16_t bits) { return expandBits(bits, 5, 10); }
inline float fromBFloat(uint16_t bits) { return expandBits(bits, 8, 7); }

} // namespace fusec::rt

#endif
