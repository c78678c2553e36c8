// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations, one text for GPU and host, as scalar.h; those of namespace fast
// are for results that are rounded to 16 bits. Included by the preludes.

#ifndef FUSEC_DEVICE_ACTIVATIONS_H
#define FUSEC_DEVICE_ACTIVATIONS_H

#include "scalar.h"

namespace fusec {

FUSEC_DEVICE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
/// To 3 units of fp32, and 0 below -87. A quotient would branch, for divisors
/// that are too large or too small: this one is at least 1, and infinity is
/// what the step towards the reciprocal must not see.
FUSEC_DEVICE float sigmoid(float x) {
  const float divisor = 1.0f + exp(-x),
              near = primitive::reciprocalApproximate(divisor),
              off = multiplyAdd(-minNan(divisor, 0x1p126f), near, 1.0f);
  return multiplyAdd(off, near, near);
}
/// log(1 + exp(x)) without overflow.
FUSEC_DEVICE double softplus(double x) {
  return maxNan(x, 0.0) + log1p(exp(-absolute(x)));
}
namespace detail {
/// log(1 + e) for e from 0 to 1: e times a polynomial, highest coefficient
/// first and without the last one, which is 1, so that small results keep their
/// digits. Fitted so that the largest relative error is the least.
template <int N>
FUSEC_DEVICE float log1pOfPart(float e, const float (&coefficients)[N]) {
  float part = coefficients[0];
  FUSEC_UNROLL
  for (int i = 1; i < N; ++i)
    part = multiplyAdd(e, part, coefficients[i]);
  return e * multiplyAdd(e, part, 1.0f);
}
} // namespace detail
/// To 4 units of fp32.
FUSEC_DEVICE float softplus(float x) {
  return maxNan(x, 0.0f) +
         detail::log1pOfPart(exp(-absolute(x)),
                             {5.36473893e-03f, -3.00654508e-02f,
                              7.92039813e-02f, -1.37537556e-01f,
                              1.91536332e-01f, -2.48571582e-01f, 3.3321322e-01f,
                              -4.99996479e-01f});
}
FUSEC_DEVICE double gelu(double x) {
  return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
}
namespace detail {
/// max(x, 0) - |x| tail, where the tail 1 - Phi(|x|) is the power of 2 of a
/// polynomial, highest coefficient first, that was fitted to it where it
/// matters. From 10 on one of 2^-74 or less will do, also beside infinity. So
/// the digits of negative arguments do not cancel, as they do in the sum
/// 1 + erf.
template <int N>
FUSEC_DEVICE float geluByTail(float x, const float (&coefficients)[N]) {
  float size = minNan(absolute(x), 10.0f), power = coefficients[0];
  FUSEC_UNROLL
  for (int i = 1; i < N; ++i)
    power = multiplyAdd(size, power, coefficients[i]);
  return multiplyAdd(-size, primitive::exp2Approximate(power), maxNan(x, 0.0f));
}
} // namespace detail
/// To 3 units of fp32 for arguments above -1, and to 2e-9 in all below.
FUSEC_DEVICE float gelu(float x) {
  return detail::geluByTail(
      x,
      {-3.6560479635652e-08f, 1.0016083593079274e-06f, -1.1987026913193666e-05f,
       7.983480779526982e-05f, -2.8373859903581483e-04f,
       -4.818851524636007e-06f, 6.966334348793511e-03f, -5.246202815870277e-02f,
       -4.592118800639319e-01f, -1.1511055082913375f, -0.9999999717307091f});
}
template <class Float> FUSEC_DEVICE Float geluTanh(Float x) {
  Float inner =
      Float(0.79788456080286535588) * (x + Float(0.044715) * x * x * x);
  return Float(0.5) * x * (Float(1) + tanh(inner));
}

namespace fast {
FUSEC_DEVICE float sigmoid(float x) {
  return primitive::reciprocalApproximate(1.0f + exp(-x));
}
/// To 1.2e-5.
FUSEC_DEVICE float softplus(float x) {
  return maxNan(x, 0.0f) +
         detail::log1pOfPart(exp(-absolute(x)),
                             {-2.47341584e-02f, 1.03591692e-01f,
                              -2.12403394e-01f, 3.26225805e-01f,
                              -4.99539443e-01f});
}
/// (1 + tanh(u)) / 2 is sigmoid(2 u); here -2 u / ln 2 is the power of 2.
FUSEC_DEVICE float geluTanh(float x) {
  float power = x * multiplyAdd(x * x, -0.1029432396f, -2.302208198f);
  return x * reciprocal(1.0f + primitive::exp2Approximate(power));
}

/// To 1.2e-6, or 2e-8 in all.
FUSEC_DEVICE float gelu(float x) {
  return detail::geluByTail(x, {3.50721087e-05f, -7.83199343e-04f,
                                8.11089861e-03f, -5.34242015e-02f,
                                -4.58797621e-01f, -1.15117797f, -0.999997173f});
}
} // namespace fast

} // namespace fusec

#endif // FUSEC_DEVICE_ACTIVATIONS_H
