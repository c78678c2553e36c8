// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts and scalar functions, one text for GPU and host. Included by the
// preludes. Semantics: NaN propagates through max and min, float to integer
// truncates and saturates, integers wrap and their division never traps.

#ifndef FUSEC_DEVICE_SCALAR_H
#define FUSEC_DEVICE_SCALAR_H

namespace fusec {

namespace detail {

/// Rounds towards zero to float and sets the last bit if that was inexact, so
/// that a second rounding to 16 bits gives the correctly rounded result.
FUSEC_DEVICE float toFloatOdd(double x) {
  float y = float(x);
  double back = double(y);
  if (back == x || x != x)
    return y;
  u32 bits = primitive::bitsOf(y);
  if ((back > x) == (x > 0))
    --bits;
  return primitive::floatOf(bits | 1u);
}

template <class T> FUSEC_DEVICE double toDoubleSticky(T x) {
  if constexpr (sizeof(T) < 8) {
    return double(x);
  } else {
    bool negative = !isUnsigned<T> && x < T(0);
    u64 magnitude = negative ? u64(0) - u64(x) : u64(x);
    double value;
    if (magnitude >> 32)
      value =
          double((magnitude >> 16) | ((magnitude & 0xffffu) != 0)) * 65536.0;
    else
      value = double(magnitude);
    return negative ? -value : value;
  }
}

/// Whether float holds all of the integer type, or rounds what it does not hold
/// to where the half type has infinity alone: f16 ends below 2^16.
template <class To, class From>
constexpr bool roundsOnceFromFloat = sizeof(From) <= 2 || isSame<To, f16>;

/// 2^(bits of T, less a sign), the smallest value above all of T.
template <class T, class Float> FUSEC_DEVICE Float aboveAll() {
  return Float(u64(1) << (8 * sizeof(T) - 2)) *
         (isUnsigned<T> ? Float(4) : Float(2));
}

template <class To, class From> FUSEC_DEVICE To saturate(From x) {
  constexpr To lowest = Limits<To>::lowest, highest = Limits<To>::highest;
  if (x != x)
    return To(0);
  if (x >= aboveAll<To, From>())
    return highest;
  if (x <= From(lowest))
    return lowest;
  return To(x);
}

template <class To> FUSEC_DEVICE To roundToHalf(float x) {
  if constexpr (isSame<To, f16>)
    return primitive::toF16(x);
  else
    return primitive::toBf16(x);
}

} // namespace detail

/// Converts with the semantics of the language: to bool is != 0, float to
/// integer truncates and saturates (NaN gives 0), integer to integer wraps,
/// anything to a float rounds to nearest even, once.
template <class To, class From> FUSEC_DEVICE To cast(From x) {
  if constexpr (isSame<To, From>)
    return x;
  else if constexpr (isHalf<From>)
    return cast<To>(primitive::toFloat(x));
  else if constexpr (isSame<From, boolean>)
    return cast<To>(bool(x));
  else if constexpr (isBool<To>)
    return To(x != From(0));
  else if constexpr (isHalf<To>) {
    if constexpr (isSame<From, float>)
      return detail::roundToHalf<To>(x);
    else if constexpr (isSame<From, double>)
      return detail::roundToHalf<To>(detail::toFloatOdd(x));
    else if constexpr (detail::roundsOnceFromFloat<To, From>)
      return detail::roundToHalf<To>(float(x));
    else
      return detail::roundToHalf<To>(
          detail::toFloatOdd(detail::toDoubleSticky(x)));
  } else if constexpr (isFloating<From> && isInteger<To>)
    return detail::saturate<To>(x);
  else
    return To(x);
}

// Floating-point functions. FUSEC_FUNCTION defines a float and a double
// overload over the library function of the platform.
#define FUSEC_FUNCTION(name, floatFunction, doubleFunction)                    \
  FUSEC_DEVICE float name(float x) { return ::floatFunction(x); }              \
  FUSEC_DEVICE double name(double x) { return ::doubleFunction(x); }
FUSEC_FUNCTION(ceil, ceilf, ceil)
FUSEC_FUNCTION(floor, floorf, floor)
FUSEC_FUNCTION(roundEven, rintf, rint)
FUSEC_FUNCTION(truncate, truncf, trunc)
FUSEC_FUNCTION(sqrt, sqrtf, sqrt)
FUSEC_FUNCTION(exp, expf, exp)
FUSEC_FUNCTION(exp2, exp2f, exp2)
FUSEC_FUNCTION(expm1, expm1f, expm1)
FUSEC_FUNCTION(log, logf, log)
FUSEC_FUNCTION(log2, log2f, log2)
FUSEC_FUNCTION(log1p, log1pf, log1p)
FUSEC_FUNCTION(erf, erff, erf)
FUSEC_FUNCTION(sin, sinf, sin)
FUSEC_FUNCTION(cos, cosf, cos)
FUSEC_FUNCTION(tan, tanf, tan)
FUSEC_FUNCTION(sinh, sinhf, sinh)
FUSEC_FUNCTION(cosh, coshf, cosh)
FUSEC_FUNCTION(tanh, tanhf, tanh)
#undef FUSEC_FUNCTION

/// Both of one angle, for little more than either.
template <class Float> struct SineAndCosine { Float sine, cosine; };
FUSEC_DEVICE SineAndCosine<float> sinCos(float x) {
  SineAndCosine<float> both;
  ::sincosf(x, &both.sine, &both.cosine);
  return both;
}
FUSEC_DEVICE SineAndCosine<double> sinCos(double x) {
  SineAndCosine<double> both;
  ::sincos(x, &both.sine, &both.cosine);
  return both;
}

FUSEC_DEVICE float pow(float x, float y) { return ::powf(x, y); }
FUSEC_DEVICE double pow(double x, double y) { return ::pow(x, y); }
/// The remainder with the sign of the dividend.
FUSEC_DEVICE float fmod(float x, float y) { return ::fmodf(x, y); }
FUSEC_DEVICE double fmod(double x, double y) { return ::fmod(x, y); }
FUSEC_DEVICE float rsqrt(float x) { return primitive::rsqrt(x); }
FUSEC_DEVICE double rsqrt(double x) { return primitive::rsqrt(x); }
FUSEC_DEVICE float reciprocal(float x) { return 1.0f / x; }
FUSEC_DEVICE double reciprocal(double x) { return 1.0 / x; }
FUSEC_DEVICE bool isNan(float x) { return x != x; }
FUSEC_DEVICE bool isNan(double x) { return x != x; }
FUSEC_DEVICE float multiplyAdd(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
FUSEC_DEVICE double multiplyAdd(double a, double b, double c) {
  return ::fma(a, b, c);
}

/// The larger value; NaN if either is NaN.
FUSEC_DEVICE float maxNan(float a, float b) { return primitive::maxNan(a, b); }
FUSEC_DEVICE float minNan(float a, float b) { return primitive::minNan(a, b); }
FUSEC_DEVICE double maxNan(double a, double b) {
  return a != a || a > b ? a : (a == 0.0 && b == 0.0 ? a + b : b);
}
FUSEC_DEVICE double minNan(double a, double b) {
  return a != a || a < b ? a : (a == 0.0 && b == 0.0 ? -(-a - b) : b);
}

/// The remainder with the sign of the divisor.
template <class Float> FUSEC_DEVICE Float floorMod(Float x, Float y) {
  Float r = fmod(x, y);
  return r != Float(0) && (r < Float(0)) != (y < Float(0)) ? r + y : r;
}

/// Absolute value of floats and integers; that of the lowest integer wraps.
FUSEC_DEVICE float absolute(float x) { return ::fabsf(x); }
FUSEC_DEVICE double absolute(double x) { return ::fabs(x); }
template <class Int> FUSEC_DEVICE Int absolute(Int x) {
  static_assert(isInteger<Int>, "absolute value of a float or an integer");
  if constexpr (isUnsigned<Int>)
    return x;
  else
    return x < Int(0) ? Int(Unsigned<Int>(0) - Unsigned<Int>(x)) : x;
}

/// -1, 0 or 1; NaN stays.
template <class T> FUSEC_DEVICE T sign(T x) {
  if constexpr (isUnsigned<T>)
    return T(x != T(0));
  else
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : (x == T(0) ? T(0) : x));
}

// Integers.
template <class Int> FUSEC_DEVICE Int max(Int a, Int b) {
  return a > b ? a : b;
}
template <class Int> FUSEC_DEVICE Int min(Int a, Int b) {
  return a < b ? a : b;
}
template <class Int> FUSEC_DEVICE Int maxNan(Int a, Int b) { return max(a, b); }
template <class Int> FUSEC_DEVICE Int minNan(Int a, Int b) { return min(a, b); }
/// Any number; the operand may be an element of a vector.
template <class T> FUSEC_DEVICE T relu(T x) { return maxNan(x, T(0)); }
template <class Int> FUSEC_DEVICE Int clamp(Int x, Int low, Int high) {
  return minNan(high, maxNan(low, x));
}

/// Wrapping arithmetic: signed overflow is undefined in C, not here.
template <class Int> FUSEC_DEVICE Int intAdd(Int a, Int b) {
  return Int(Unsigned<Int>(Unsigned<Int>(a) + Unsigned<Int>(b)));
}
template <class Int> FUSEC_DEVICE Int intSub(Int a, Int b) {
  return Int(Unsigned<Int>(Unsigned<Int>(a) - Unsigned<Int>(b)));
}
template <class Int> FUSEC_DEVICE Int intMul(Int a, Int b) {
  return Int(Unsigned<Int>(u64(Unsigned<Int>(a)) * u64(Unsigned<Int>(b))));
}
template <class Int> FUSEC_DEVICE Int intNeg(Int a) {
  return intSub(Int(0), a);
}

/// The quotient rounded down, of a positive divisor: for indices.
template <class T> FUSEC_DEVICE T floorDivide(T a, T b) {
  T quotient = a / b;
  return quotient - T(a % b < 0);
}

/// Truncating division; x/0 = 0, lowest/-1 = lowest.
template <class Int> FUSEC_DEVICE Int intDiv(Int a, Int b) {
  if (b == Int(0))
    return Int(0);
  if constexpr (!isUnsigned<Int>)
    if (b == Int(-1))
      return intNeg(a);
  return Int(a / b);
}
/// The remainder with the sign of the dividend; x mod 0 = 0.
template <class Int> FUSEC_DEVICE Int intFmod(Int a, Int b) {
  if (b == Int(0))
    return Int(0);
  if constexpr (!isUnsigned<Int>)
    if (b == Int(-1))
      return Int(0);
  return Int(a % b);
}
/// The remainder with the sign of the divisor; x mod 0 = 0.
template <class Int> FUSEC_DEVICE Int intMod(Int a, Int b) {
  Int r = intFmod(a, b);
  if constexpr (!isUnsigned<Int>)
    if (r != Int(0) && (r < Int(0)) != (b < Int(0)))
      return Int(r + b);
  return r;
}
/// Wrapping power; a negative exponent gives 0 except for bases 1 and -1.
template <class Int, class Exponent>
FUSEC_DEVICE Int intPow(Int base, Exponent exponent) {
  if constexpr (!isUnsigned<Exponent>) {
    if (exponent < Exponent(0)) {
      if (base == Int(1))
        return Int(1);
      if constexpr (!isUnsigned<Int>)
        if (base == Int(-1))
          return exponent % Exponent(2) != Exponent(0) ? Int(-1) : Int(1);
      return Int(0);
    }
  }
  Int result = Int(1);
  for (u64 bits = u64(exponent); bits != 0; bits >>= 1) {
    if (bits & 1u)
      result = intMul(result, base);
    base = intMul(base, base);
  }
  return result;
}

/// On the special-function unit, without branches, to a few units of fp32: for
/// results that are rounded to 16 bits. tanh alone is good to 2^-11.
namespace fast {
FUSEC_DEVICE float exp(float x) {
  return primitive::exp2Approximate(x * 1.4426950408889634f);
}
FUSEC_DEVICE float tanh(float x) { return primitive::tanhApproximate(x); }
FUSEC_DEVICE float reciprocal(float x) {
  return primitive::reciprocalApproximate(x);
}
/// a / b to 3 units in the last place. What depends on b alone is computed once
/// where b stays the same.
FUSEC_DEVICE float divide(float a, float b) {
  // The reciprocal of what is beyond would be subnormal or infinite.
  float size = absolute(b), scale = size > 0x1p100f    ? 0x1p-60f
                                    : size < 0x1p-100f ? 0x1p60f
                                                       : 1.0f;
  return a * primitive::reciprocalApproximate(b * scale) * scale;
}
/// Beyond it the steps of halfTurn lose the angle.
constexpr float largestAngle = 65536.0f;
/// 2^23 + 2^22: a sum with it is rounded to an integer, the low bits of which
/// are the sum's. Conversions would queue at the special-function unit.
constexpr float roundingShift = 12582912.0f;
/// sin(x - half * pi) where half is the integer in `shifted`, less `offset`,
/// and at most a quarter turn away; pi in two parts. The special-function unit
/// errs by 2^-20.5 at most, so that small angles take their series instead and
/// keep their digits.
FUSEC_DEVICE float halfTurn(float x, float shifted, float offset) {
  float half = shifted - roundingShift - offset;
  float r = multiplyAdd(half, -3.1415927410125732421875f, x);
  r = multiplyAdd(half, 8.74227765734758577e-8f, r);
  float near = multiplyAdd(r * r, r * -0.16666667f, r);
  float sine = absolute(r) < 0.125f ? near : primitive::sinApproximate(r);
  u32 sign = primitive::bitsOf(shifted) << 31;
  return primitive::floatOf(primitive::bitsOf(sine) ^ sign);
}
FUSEC_DEVICE bool isNear(float x) { return absolute(x) <= largestAngle; }
FUSEC_DEVICE float sinNear(float x) {
  return halfTurn(x, multiplyAdd(x, 0.318309886183790671538f, roundingShift),
                  0.0f);
}
/// cos(x) = sin(x + pi / 2).
FUSEC_DEVICE float cosNear(float x) {
  return halfTurn(
      x, multiplyAdd(x, 0.318309886183790671538f, 0.5f) + roundingShift, 0.5f);
}
FUSEC_DEVICE float sin(float x) {
  return isNear(x) ? sinNear(x) : fusec::sin(x);
}
FUSEC_DEVICE float cos(float x) {
  return isNear(x) ? cosNear(x) : fusec::cos(x);
}
/// Both, each to 2e-6 of itself, for three quarters of the instructions. They
/// change places every quarter turn, of which polynomials take an eighth either
/// way, fitted so that the largest relative error is the least.
FUSEC_DEVICE SineAndCosine<float> sinCosNear(float x) {
  float shifted = multiplyAdd(x, 0.636619772367581343076f, roundingShift),
        quarters = shifted - roundingShift;
  float r = multiplyAdd(quarters, -1.57079625129699707f, x);
  r = multiplyAdd(quarters, -7.54978995489e-8f, r);
  float square = r * r;
  float sine = multiplyAdd(square, 8.16224314e-3f, -0.1666335f);
  sine = r * multiplyAdd(square, sine, 1.0f);
  float cosine = multiplyAdd(square, -1.35900116e-3f, 4.16556406e-2f);
  cosine =
      multiplyAdd(square, multiplyAdd(square, cosine, -0.499998826f), 1.0f);
  u32 quarter = primitive::bitsOf(shifted);
  bool areSwapped = quarter & 1u;
  auto withSign = [](float value, u32 quarter) {
    return primitive::floatOf(primitive::bitsOf(value) ^
                              (quarter << 30 & 0x80000000u));
  };
  return {withSign(areSwapped ? cosine : sine, quarter),
          withSign(areSwapped ? sine : cosine, quarter + 1)};
}
FUSEC_DEVICE SineAndCosine<float> sinCos(float x) {
  return isNear(x) ? sinCosNear(x) : fusec::sinCos(x);
}
} // namespace fast

} // namespace fusec

#endif // FUSEC_DEVICE_SCALAR_H
