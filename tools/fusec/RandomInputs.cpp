// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/RandomInputs.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace fusec {

template <typename T, typename Draw>
static void fill(data::Tensor &tensor, Draw draw) {
  for (uint64_t i = 0; i != tensor.elements(); ++i) {
    T value = draw();
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename T>
static void fillIntegers(data::Tensor &tensor, Random &random, int64_t limit) {
  uint64_t most = std::min<uint64_t>(std::max<int64_t>(limit, 1) - 1,
                                     std::numeric_limits<T>::max());
  fill<T>(tensor, [&] { return static_cast<T>(random.next() % (most + 1)); });
}

/// The upper half of an fp32 number, rounded to nearest even.
static uint16_t toBFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

/// For normal numbers of fp16's range, which is all that is drawn here.
static uint16_t toHalf(float value) {
  int exponent;
  float fraction = std::frexp(std::abs(value), &exponent);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  // Below the smallest normal number.
  if (fraction == 0 || exponent < -13)
    return sign;
  auto scaled = static_cast<uint32_t>(std::lrint(fraction * 2048));
  return sign + ((exponent + 13) << 10) + scaled;
}

data::Tensor makeRandomTensor(format::DType dtype, std::vector<int64_t> sizes,
                              uint64_t seed, int64_t indexLimit) {
  using format::DType;
  data::Tensor tensor = allocateTensor(dtype, std::move(sizes));
  Random random(seed);
  auto normal = [&] { return static_cast<float>(random.normal()); };
  switch (dtype) {
  case DType::Bool:
    fill<uint8_t>(tensor,
                  [&] { return static_cast<uint8_t>(random.next() >> 63); });
    break;
  case DType::I8:
    fillIntegers<int8_t>(tensor, random, indexLimit);
    break;
  case DType::I16:
    fillIntegers<int16_t>(tensor, random, indexLimit);
    break;
  case DType::I32:
    fillIntegers<int32_t>(tensor, random, indexLimit);
    break;
  case DType::I64:
    fillIntegers<int64_t>(tensor, random, indexLimit);
    break;
  case DType::U8:
    fillIntegers<uint8_t>(tensor, random, indexLimit);
    break;
  case DType::U16:
    fillIntegers<uint16_t>(tensor, random, indexLimit);
    break;
  case DType::U32:
    fillIntegers<uint32_t>(tensor, random, indexLimit);
    break;
  case DType::U64:
    fillIntegers<uint64_t>(tensor, random, indexLimit);
    break;
  case DType::F16:
    fill<uint16_t>(tensor, [&] { return toHalf(normal()); });
    break;
  case DType::BF16:
    fill<uint16_t>(tensor, [&] { return toBFloat(normal()); });
    break;
  case DType::F32:
    fill<float>(tensor, normal);
    break;
  case DType::F64:
    fill<double>(tensor, [&] { return random.normal(); });
    break;
  }
  return tensor;
}

} // namespace fusec
