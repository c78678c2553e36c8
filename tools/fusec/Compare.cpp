// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Compare.h"

#include <cmath>
#include <cstring>
#include <fmt/core.h>

namespace fusec {

template <typename T>
static T load(const data::Tensor &tensor, uint64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

static double fromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return exponent ? sign * std::ldexp(1024 + fraction, exponent - 25)
                  : sign * std::ldexp(fraction, -24);
}

static double fromBFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

double getElement(const data::Tensor &tensor, uint64_t index) {
  using format::DType;
  switch (tensor.dtype) {
  case DType::Bool:
    return load<uint8_t>(tensor, index) != 0;
  case DType::I8:
    return load<int8_t>(tensor, index);
  case DType::I16:
    return load<int16_t>(tensor, index);
  case DType::I32:
    return load<int32_t>(tensor, index);
  case DType::I64:
    return static_cast<double>(load<int64_t>(tensor, index));
  case DType::U8:
    return load<uint8_t>(tensor, index);
  case DType::U16:
    return load<uint16_t>(tensor, index);
  case DType::U32:
    return load<uint32_t>(tensor, index);
  case DType::U64:
    return static_cast<double>(load<uint64_t>(tensor, index));
  case DType::F16:
    return fromHalf(load<uint16_t>(tensor, index));
  case DType::BF16:
    return fromBFloat(load<uint16_t>(tensor, index));
  case DType::F32:
    return load<float>(tensor, index);
  case DType::F64:
    return load<double>(tensor, index);
  }
  return NAN;
}

Difference compare(const data::Tensor &got, const data::Tensor &expected,
                   double rtol, double atol) {
  Difference difference;
  if (got.dtype != expected.dtype || got.sizes != expected.sizes) {
    difference.mismatch = fmt::format(
        "expected {}, got {}", data::tensorType(expected.dtype, expected.sizes),
        data::tensorType(got.dtype, got.sizes));
    return difference;
  }
  double errors = 0, total = 0;
  for (uint64_t i = 0; i != expected.elements(); ++i) {
    double a = getElement(got, i), b = getElement(expected, i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      difference.notFinite += !(a == b || (std::isnan(a) && std::isnan(b)));
      continue;
    }
    double error = std::abs(a - b);
    errors += error * error;
    total += b * b;
    if (error > difference.largest) {
      difference.largest = error;
      difference.where = i;
    }
    double bound = atol + rtol * std::abs(b);
    if (error > 0)
      difference.scaled =
          std::max(difference.scaled, bound > 0 ? error / bound : INFINITY);
  }
  difference.norm = total > 0 ? std::sqrt(errors / total) : std::sqrt(errors);
  return difference;
}

} // namespace fusec
