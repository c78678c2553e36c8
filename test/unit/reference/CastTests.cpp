// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts between all classes of types, and the rounding of 16-bit floats.

#include "EvaluationTest.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <limits>

using namespace fusec::reference;

class Casts : public EvaluationTest {
protected:
  template <typename To>
  std::vector<To> castTo(const Tensor &tensor, const char *elementType) {
    return elements<To>(convert(tensor, type(elementType)));
  }
};

TEST_F(Casts, FloatToIntegerTruncatesAndSaturates) {
  const float inf = std::numeric_limits<float>::infinity();
  Tensor x =
      f32({8}, {1.9f, -1.9f, 300, -300, inf, -inf, std::nanf(""), 1e30f});
  EXPECT_EQ(castTo<int8_t>(x, "i8"),
            (std::vector<int8_t>{1, -1, 127, -128, 127, -128, 0, 127}));
  EXPECT_EQ(castTo<uint8_t>(x, "ui8"),
            (std::vector<uint8_t>{1, 0, 255, 0, 255, 0, 0, 255}));
  EXPECT_EQ(castTo<int32_t>(x, "i32"),
            (std::vector<int32_t>{1, -1, 300, -300, INT32_MAX, INT32_MIN, 0,
                                  INT32_MAX}));
  EXPECT_EQ(castTo<int64_t>(x, "i64"),
            (std::vector<int64_t>{1, -1, 300, -300, INT64_MAX, INT64_MIN, 0,
                                  INT64_MAX}));
  EXPECT_EQ(
      castTo<uint64_t>(x, "ui64"),
      (std::vector<uint64_t>{1, 0, 300, 0, UINT64_MAX, 0, 0, UINT64_MAX}));
}

TEST_F(Casts, IntegersWrap) {
  Tensor x = i64({4}, {255, 256, -1, INT64_MIN});
  EXPECT_EQ(castTo<int8_t>(x, "i8"), (std::vector<int8_t>{-1, 0, -1, 0}));
  EXPECT_EQ(castTo<uint16_t>(x, "ui16"),
            (std::vector<uint16_t>{255, 256, 65535, 0}));
}

TEST_F(Casts, ToBool) {
  Tensor x = f32({5}, {0, -0.f, 0.5, std::nanf(""), -1});
  EXPECT_EQ(castTo<uint8_t>(x, "i1"), (std::vector<uint8_t>{0, 0, 1, 1, 1}));
  Tensor y = i64({2}, {256, 0});
  EXPECT_EQ(castTo<uint8_t>(y, "i1"), (std::vector<uint8_t>{1, 0}));
  Tensor z = tensor<uint8_t>("i1", {2}, {7, 0});
  EXPECT_EQ(castTo<float>(z, "f32"), (std::vector<float>{1, 0}));
}

TEST_F(Casts, LargeIntegersRoundOnce) {
  // Just above a tie of fp32: rounding to fp64 first would lose the last bit.
  int64_t x = (int64_t(1) << 60) + (int64_t(1) << 36) + 1;
  EXPECT_EQ(castTo<float>(i64({1}, {x}), "f32")[0], static_cast<float>(x));
  EXPECT_EQ(castTo<float>(i64({1}, {-x}), "f32")[0], static_cast<float>(-x));
  EXPECT_EQ(castTo<double>(i64({1}, {x}), "f64")[0], static_cast<double>(x));
  // And of bf16, whose mantissa has 8 bits.
  int64_t y = (int64_t(1) << 60) + (int64_t(1) << 52) + 1;
  EXPECT_EQ(castTo<uint16_t>(i64({1}, {y}), "bf16")[0],
            toBFloat(std::ldexp(1.0, 60) + std::ldexp(1.0, 53)));
}

static uint16_t roundByLibrary(double value,
                               const llvm::fltSemantics &semantics) {
  llvm::APFloat x(value);
  bool lossy;
  x.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lossy);
  return static_cast<uint16_t>(x.bitcastToAPInt().getZExtValue());
}

TEST_F(Casts, SixteenBitFloatsAgreeWithTheLibrary) {
  // All values of each format, all midpoints between neighbours, and a little
  // beyond either.
  for (bool half : {true, false}) {
    const auto &semantics =
        half ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
    auto round = half ? toHalf : toBFloat;
    auto expand = half ? fromHalf : fromBFloat;
    for (uint32_t bits = 0; bits < 0x8000; ++bits) {
      double value = expand(bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(expand(round(value))));
        continue;
      }
      ASSERT_EQ(round(value), bits);
      ASSERT_EQ(round(-value), bits | 0x8000);
      if (std::isinf(value))
        continue;
      double next = expand(bits + 1);
      double middle = std::isinf(next) ? value + (value - expand(bits - 1)) / 2
                                       : (value + next) / 2;
      for (double x :
           {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e300)})
        ASSERT_EQ(round(x), roundByLibrary(x, semantics)) << x;
    }
  }
}

TEST_F(Casts, FloatToSixteenBitsTakesTheSameWay) {
  std::vector<float> values;
  for (uint32_t i = 0; i < 100000; ++i) {
    uint32_t bits = i * 2654435761u;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isnan(value))
      values.push_back(value);
  }
  int64_t count = values.size();
  Tensor x = f32({count}, values), doubles = convert(x, type("f64"));
  EXPECT_EQ(castTo<uint16_t>(x, "bf16"), castTo<uint16_t>(doubles, "bf16"));
  EXPECT_EQ(castTo<uint16_t>(x, "f16"), castTo<uint16_t>(doubles, "f16"));
  Tensor stored = Tensor::allocate(type("bf16"), {count});
  store<float>(stored, 0, values);
  EXPECT_EQ(elements<uint16_t>(stored), castTo<uint16_t>(doubles, "bf16"));
}
