// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Elements.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

using namespace mlir;

namespace fusec::reference {

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

uint16_t roundToBits(double value, unsigned exponentBits,
                     unsigned mantissaBits) {
  constexpr int64_t doubleBias = 1023, doubleMantissa = 52;
  const int64_t bias = (1 << (exponentBits - 1)) - 1;
  const int64_t dropped = doubleMantissa - mantissaBits;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint64_t infinity = ((1 << exponentBits) - 1) << mantissaBits;
  if (std::isnan(value))
    return sign | infinity | (1 << (mantissaBits - 1));
  double magnitude = std::fabs(value);
  // Below the least normal number the spacing is one: a double scaled by a
  // power of two into [0, 2^mantissaBits] is exact.
  uint64_t least = static_cast<uint64_t>(doubleBias + 1 - bias)
                   << doubleMantissa;
  if (magnitude < llvm::bit_cast<double>(least)) {
    double perUnit = llvm::bit_cast<double>(
        static_cast<uint64_t>(doubleBias + bias - 1 + mantissaBits)
        << doubleMantissa);
    return sign | static_cast<uint16_t>(std::nearbyint(magnitude * perUnit));
  }
  // Halves go to even; a carry out of the mantissa increments the exponent by
  // itself.
  uint64_t bits = llvm::bit_cast<uint64_t>(magnitude);
  bits += (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
  uint64_t rounded = (bits >> dropped) -
                     (static_cast<uint64_t>(doubleBias - bias) << mantissaBits);
  return sign | static_cast<uint16_t>(std::min(rounded, infinity));
}

double expandBits(uint16_t bits, unsigned exponentBits, unsigned mantissaBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissaBits;
  const int mantissa = bits & ((1 << mantissaBits) - 1);
  double magnitude;
  if (exponent == (1 << exponentBits) - 1)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - static_cast<int>(mantissaBits));
  else
    magnitude = std::ldexp((1 << mantissaBits) + mantissa,
                           exponent - bias - static_cast<int>(mantissaBits));
  return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
}

/// Every 16-bit float as fp32, which holds both kinds exactly.
static const float *getTable(bool half) {
  auto make = [](bool half) {
    auto table = std::make_unique<float[]>(1 << 16);
    for (uint32_t bits = 0; bits < 1 << 16; ++bits)
      table[bits] =
          static_cast<float>(half ? fromHalf(bits) : fromBFloat(bits));
    return table;
  };
  static const std::unique_ptr<float[]> halves = make(true),
                                        bfloats = make(false);
  return half ? halves.get() : bfloats.get();
}

/// fp32 to bf16 is a truncation of its bits, after rounding to even.
static uint16_t floatToBFloat(float value) {
  if (value != value)
    return toBFloat(value);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double toDoubleForRounding(uint64_t value) {
  // Beyond 53 bits: what is cut off stays visible in the last bit that is kept
  // (rounding to odd), so that the one rounding that follows is right.
  constexpr uint64_t low = (uint64_t(1) << 11) - 1;
  if (value >> 53 && value & low)
    value = (value & ~low) | (low + 1);
  return static_cast<double>(value);
}
double toDoubleForRounding(int64_t value) {
  return value < 0 ? -toDoubleForRounding(-static_cast<uint64_t>(value))
                   : toDoubleForRounding(static_cast<uint64_t>(value));
}

//===----------------------------------------------------------------------===//
// Loading and storing
//===----------------------------------------------------------------------===//

/// Calls `function` with a value of the integer type that stores the element.
template <typename Function>
static void withStoredInteger(Type elementType, Function function) {
  bool isUnsigned = elementType.isUnsignedInteger();
  switch (elementType.getIntOrFloatBitWidth()) {
  case 8:
    return isUnsigned ? function(uint8_t()) : function(int8_t());
  case 16:
    return isUnsigned ? function(uint16_t()) : function(int16_t());
  case 32:
    return isUnsigned ? function(uint32_t()) : function(int32_t());
  default:
    return isUnsigned ? function(uint64_t()) : function(int64_t());
  }
}

template <typename T>
void load(const Tensor &tensor, int64_t start, MutableArrayRef<T> values) {
  Type type = tensor.getElementType();
  if constexpr (std::is_same_v<T, bool>) {
    for (auto [to, from] : llvm::zip_equal(
             values, tensor.getElements<char>().slice(start, values.size())))
      to = from != 0;
  } else if constexpr (std::is_integral_v<T>) {
    withStoredInteger(type, [&](auto stored) {
      for (auto [to, from] :
           llvm::zip_equal(values, tensor.getElements<decltype(stored)>().slice(
                                       start, values.size())))
        to = static_cast<T>(from);
    });
  } else if (type.isF16() || type.isBF16()) {
    const float *table = getTable(type.isF16());
    for (auto [to, from] : llvm::zip_equal(
             values,
             tensor.getElements<uint16_t>().slice(start, values.size())))
      to = table[from];
  } else if (type.isF32()) {
    llvm::copy(tensor.getElements<float>().slice(start, values.size()),
               values.begin());
  } else {
    llvm::copy(tensor.getElements<double>().slice(start, values.size()),
               values.begin());
  }
}

template <typename T>
void store(Tensor &tensor, int64_t start, ArrayRef<T> values) {
  Type type = tensor.getElementType();
  if constexpr (std::is_same_v<T, bool>) {
    llvm::copy(values, tensor.getMutableElements<char>().begin() + start);
  } else if constexpr (std::is_integral_v<T>) {
    withStoredInteger(type, [&](auto stored) {
      auto *to = tensor.getMutableElements<decltype(stored)>().begin() + start;
      for (T value : values)
        *to++ = static_cast<decltype(stored)>(value);
    });
  } else if (type.isF16() || type.isBF16()) {
    auto *to = tensor.getMutableElements<uint16_t>().begin() + start;
    for (T value : values)
      *to++ = type.isF16()               ? toHalf(value)
              : std::is_same_v<T, float> ? floatToBFloat(value)
                                         : toBFloat(value);
  } else if (type.isF32()) {
    auto *to = tensor.getMutableElements<float>().begin() + start;
    for (T value : values)
      *to++ = static_cast<float>(value);
  } else {
    llvm::copy(values, tensor.getMutableElements<double>().begin() + start);
  }
}

template <typename T> std::vector<T> loadAll(const Tensor &tensor) {
  std::vector<T> values(tensor.getElementCount());
  load<T>(tensor, 0, values);
  return values;
}

#define FUSEC_INSTANTIATE(T)                                                   \
  template void load<T>(const Tensor &, int64_t, MutableArrayRef<T>);          \
  template void store<T>(Tensor &, int64_t, ArrayRef<T>);
FUSEC_INSTANTIATE(float)
FUSEC_INSTANTIATE(double)
FUSEC_INSTANTIATE(int64_t)
FUSEC_INSTANTIATE(uint64_t)
FUSEC_INSTANTIATE(bool)
#undef FUSEC_INSTANTIATE
template std::vector<float> loadAll<float>(const Tensor &);
template std::vector<double> loadAll<double>(const Tensor &);
template std::vector<int64_t> loadAll<int64_t>(const Tensor &);
template std::vector<uint64_t> loadAll<uint64_t>(const Tensor &);

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Truncates and saturates; NaN gives 0.
template <typename Stored> static Stored saturate(double value) {
  using Limits = std::numeric_limits<Stored>;
  if (std::isnan(value))
    return 0;
  // 2^bits, the first value above all of Stored, is exact where max() is not.
  if (value >= std::ldexp(1.0, Limits::digits))
    return Limits::max();
  if (value <= static_cast<double>(Limits::min()))
    return Limits::min();
  return static_cast<Stored>(value);
}

template <typename From>
static void convertTo(const Tensor &tensor, Tensor &result) {
  constexpr int64_t chunk = 4096;
  Type to = result.getElementType();
  From from[chunk];
  for (int64_t start = 0; start < tensor.getElementCount(); start += chunk) {
    int64_t count = std::min(chunk, tensor.getElementCount() - start);
    load<From>(tensor, start, {from, static_cast<size_t>(count)});
    if (to.isInteger(1)) {
      for (int64_t i = 0; i < count; ++i)
        result.getMutableElements<char>()[start + i] = from[i] != From(0);
    } else if (isa<FloatType>(to)) {
      double values[chunk];
      for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_same_v<From, bool> ||
                      std::is_floating_point_v<From>)
          values[i] = from[i];
        else
          values[i] = to.isF64() ? static_cast<double>(from[i])
                                 : toDoubleForRounding(from[i]);
      }
      store<double>(result, start, ArrayRef<double>(values, count));
    } else {
      withStoredInteger(to, [&](auto stored) {
        using Stored = decltype(stored);
        auto elements = result.getMutableElements<Stored>();
        for (int64_t i = 0; i < count; ++i) {
          if constexpr (std::is_floating_point_v<From>)
            elements[start + i] = saturate<Stored>(from[i]);
          else
            elements[start + i] = static_cast<Stored>(from[i]);
        }
      });
    }
  }
}

Tensor convert(const Tensor &tensor, Type elementType) {
  if (tensor.getElementType() == elementType)
    return tensor;
  Tensor result = Tensor::allocate(elementType, tensor.getSizes());
  withComputeType(tensor.getElementType(), [&](auto from) {
    convertTo<decltype(from)>(tensor, result);
  });
  return result;
}

} // namespace fusec::reference
