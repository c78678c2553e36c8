// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts and scalar functions of the device headers, on the host.

#include "prelude.h"

#include "gtest/gtest.h"

namespace {

using fusec::bf16;
using fusec::boolean;
using fusec::cast;
using fusec::f16;
using fusec::i16;
using fusec::i64;
using fusec::i8;
using fusec::u16;
using fusec::u32;
using fusec::u64;
using fusec::u8;

const float infinity = HUGE_VALF;
const float nan = std::nanf("");

/// The value of an f16 or bf16 by its definition.
double valueOf(u16 bits, int fractionBits, int bias) {
  int fraction = bits & ((1 << fractionBits) - 1);
  int exponent = (bits & 0x7fff) >> fractionBits;
  double v = exponent ? std::ldexp(1 + std::ldexp(fraction, -fractionBits),
                                   exponent - bias)
                      : std::ldexp(fraction, 1 - bias - fractionBits);
  return bits & 0x8000 ? -v : v;
}

template <class Half> void checkEveryValue(int fractionBits, int bias) {
  int highest = 0x7fff & ~((1 << fractionBits) - 1); // Infinity.
  for (int bits = 0; bits < highest; ++bits) {
    Half half{u16(bits)};
    double value = valueOf(u16(bits), fractionBits, bias);
    ASSERT_EQ(cast<float>(half), float(value)) << bits;
    ASSERT_EQ(cast<double>(half), value) << bits;
    ASSERT_EQ(cast<Half>(float(value)).bits, bits);
    ASSERT_EQ(cast<Half>(-value).bits, bits | 0x8000);
    if (bits + 1 == highest)
      continue;
    // Half-way goes to the even neighbour, in one rounding also from double.
    double next = valueOf(u16(bits + 1), fractionBits, bias);
    double middle = (value + next) / 2;
    int even = bits + (bits & 1);
    ASSERT_EQ(cast<Half>(middle).bits, even);
    ASSERT_EQ(cast<Half>(float(middle)).bits, even);
    ASSERT_EQ(cast<Half>(std::nextafter(middle, 1e300)).bits, bits + 1);
    ASSERT_EQ(cast<Half>(std::nextafter(middle, -1e300)).bits, bits);
  }
  ASSERT_EQ(cast<Half>(infinity).bits, highest);
  ASSERT_EQ(cast<Half>(1e300).bits, highest);
  ASSERT_EQ(cast<Half>(nan).bits & 0x7fff, 0x7fff);
  ASSERT_TRUE(std::isnan(cast<float>(Half{0x7fff})));
  ASSERT_TRUE(std::isinf(cast<float>(Half{u16(highest)})));
}

TEST(Scalar, F16RoundsToNearestEven) { checkEveryValue<f16>(10, 15); }
TEST(Scalar, Bf16RoundsToNearestEven) { checkEveryValue<bf16>(7, 127); }

TEST(Scalar, IntegersRoundOnceToHalf) {
  EXPECT_EQ(cast<f16>(2049).bits, cast<f16>(2048.0f).bits);
  EXPECT_EQ(cast<f16>(65519).bits, 0x7bff);
  EXPECT_EQ(cast<f16>(65520).bits, 0x7c00);
  EXPECT_EQ(cast<f16>(i64(1) << 62).bits, 0x7c00);
  // Just above half-way between two bf16 values: a first rounding to float or
  // double would land on the tie.
  i64 big = (i64(257) << 53) + 1;
  EXPECT_EQ(cast<float>(cast<bf16>(big)), std::ldexp(258.0f, 53));
  EXPECT_EQ(cast<float>(cast<bf16>(-big)), -std::ldexp(258.0f, 53));
  EXPECT_EQ(cast<float>(cast<bf16>(~u64(0))), std::ldexp(1.0f, 64));
}

/// By float in place of double: every value, and those of 32 bits that are
/// about where f16 ends, and halfway between its neighbours.
TEST(Scalar, IntegersRoundToHalfAsDoublesDo) {
  auto check = [](auto value) {
    EXPECT_EQ(cast<f16>(value).bits, cast<f16>(double(value)).bits) << value;
    EXPECT_EQ(cast<bf16>(value).bits, cast<bf16>(double(value)).bits) << value;
  };
  for (int value = -32768; value < 65536; ++value) {
    check(i16(value));
    check(u16(value));
    check(i8(value));
    check(u8(value));
  }
  for (int step = 0; step < 70000; ++step) {
    check(step);
    check(-step * 16 - 1);
    check(u32(step) * 61355u);
  }
  EXPECT_EQ(cast<f16>(true).bits, 0x3c00);
  EXPECT_EQ(cast<bf16>(boolean(true)).bits, 0x3f80);
  EXPECT_EQ(cast<f16>(~u64(0)).bits, 0x7c00);
}

TEST(Scalar, FloatToIntegerTruncatesAndSaturates) {
  EXPECT_EQ(cast<int>(-1.9f), -1);
  EXPECT_EQ(cast<int>(nan), 0);
  EXPECT_EQ(cast<int>(infinity), 2147483647);
  EXPECT_EQ(cast<int>(-infinity), -2147483647 - 1);
  EXPECT_EQ(cast<i64>(1e30), 9223372036854775807ll);
  EXPECT_EQ(cast<i64>(-1e30), -9223372036854775807ll - 1);
  EXPECT_EQ(cast<u64>(1e30f), ~u64(0));
  EXPECT_EQ(cast<u8>(-3.0f), 0);
  EXPECT_EQ(cast<u8>(255.9f), 255);
  EXPECT_EQ(cast<i8>(-128.9), -128);
  EXPECT_EQ(cast<i8>(127.5f), 127);
  EXPECT_EQ(cast<i16>(cast<f16>(1e9f)), 32767);
}

TEST(Scalar, IntegerToIntegerWraps) {
  EXPECT_EQ(cast<u8>(-1), 255);
  EXPECT_EQ(cast<i8>(200), -56);
  EXPECT_EQ(cast<i64>(u32(0xffffffff)), 4294967295ll);
}

TEST(Scalar, AnythingToBoolIsNotZero) {
  EXPECT_TRUE(cast<bool>(nan));
  EXPECT_TRUE(cast<bool>(0.25f));
  EXPECT_FALSE(cast<bool>(-0.0));
  EXPECT_FALSE(cast<bool>(f16{0x8000}));
  EXPECT_TRUE(cast<bool>(256));
  boolean stored;
  stored.byte = 7;
  EXPECT_EQ(cast<float>(stored), 1.0f);
  EXPECT_EQ(boolean(true).byte, 1);
}

TEST(Scalar, MaxAndMinPropagateNan) {
  EXPECT_TRUE(std::isnan(fusec::maxNan(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(fusec::minNan(1.0f, nan)));
  EXPECT_TRUE(std::isnan(fusec::maxNan(1.0, double(nan))));
  EXPECT_TRUE(std::isnan(fusec::clamp(nan, 0.0f, 1.0f)));
  EXPECT_EQ(fusec::maxNan(2.0, 3.0), 3.0);
  EXPECT_EQ(fusec::maxNan(3.0, 3.0), 3.0);
  EXPECT_EQ(fusec::minNan(3.0, 3.0), 3.0);
  EXPECT_FALSE(std::signbit(fusec::maxNan(-0.0, 0.0)));
  EXPECT_TRUE(std::signbit(fusec::minNan(0.0f, -0.0f)));
  EXPECT_EQ(fusec::maxNan(-infinity, infinity), infinity);
}

TEST(Scalar, ActivationsAreStable) {
  EXPECT_EQ(fusec::sigmoid(-1000.0f), 0.0f);
  EXPECT_EQ(fusec::sigmoid(1000.0f), 1.0f);
  EXPECT_EQ(fusec::softplus(1000.0f), 1000.0f);
  EXPECT_NEAR(fusec::softplus(-20.0), 2.0611536203143807e-9, 1e-22);
  EXPECT_TRUE(std::isnan(fusec::softplus(nan)));
  EXPECT_NEAR(fusec::gelu(1.0), 0.84134474606854293, 1e-15);
  EXPECT_NEAR(fusec::geluTanh(1.0), 0.8411919906082768, 1e-15);
  EXPECT_EQ(fusec::roundEven(2.5f), 2.0f);
  EXPECT_EQ(fusec::sign(-2.0f), -1.0f);
  EXPECT_TRUE(std::isnan(fusec::sign(nan)));
  EXPECT_EQ(fusec::floorMod(-7.0f, 3.0f), 2.0f);
  EXPECT_EQ(fusec::fmod(-7.0f, 3.0f), -1.0f);
}

template <class Int> void checkDivision() {
  Int lowest = fusec::Limits<Int>::lowest, minusOne = Int(-1);
  EXPECT_EQ(fusec::intDiv(Int(7), Int(0)), Int(0));
  EXPECT_EQ(fusec::intMod(Int(7), Int(0)), Int(0));
  EXPECT_EQ(fusec::intFmod(Int(7), Int(0)), Int(0));
  EXPECT_EQ(fusec::intDiv(lowest, minusOne), lowest);
  EXPECT_EQ(fusec::intMod(lowest, minusOne), Int(0));
  EXPECT_EQ(fusec::intFmod(lowest, minusOne), Int(0));
  EXPECT_EQ(fusec::intDiv(Int(-7), Int(2)), Int(-3));
  EXPECT_EQ(fusec::intFmod(Int(-7), Int(3)), Int(-1));
  EXPECT_EQ(fusec::intMod(Int(-7), Int(3)), Int(2));
  EXPECT_EQ(fusec::intMod(Int(7), Int(-3)), Int(-2));
  EXPECT_EQ(fusec::absolute(lowest), lowest);
  EXPECT_EQ(fusec::intAdd(fusec::Limits<Int>::highest, Int(1)), lowest);
  EXPECT_EQ(fusec::intMul(lowest, minusOne), lowest);
  EXPECT_EQ(fusec::intPow(Int(-3), Int(3)), Int(-27));
  EXPECT_EQ(fusec::intPow(Int(2), Int(-1)), Int(0));
  EXPECT_EQ(fusec::intPow(Int(-1), Int(-3)), Int(-1));
  EXPECT_EQ(fusec::intPow(Int(0), Int(0)), Int(1));
}

TEST(Scalar, IntegersWrapAndNeverTrap) {
  checkDivision<i8>();
  checkDivision<i16>();
  checkDivision<int>();
  checkDivision<i64>();
  EXPECT_EQ(fusec::intDiv(u8(200), u8(7)), 28);
  EXPECT_EQ(fusec::intPow(u8(3), 6), u8(729 & 255));
  EXPECT_EQ(fusec::intMul(u16(65535), u16(65535)), 1);
}

TEST(FastScalars, SineAndCosineAreCloseEverywhere) {
  for (double x = -70000; x <= 70000; x += 0.37) {
    float at = float(x);
    EXPECT_NEAR(fusec::fast::sin(at), std::sin(double(at)), 0x1p-21) << at;
    EXPECT_NEAR(fusec::fast::cos(at), std::cos(double(at)), 0x1p-21) << at;
    // Near a zero what is left of a large angle has an error of its own.
    auto both = fusec::fast::sinCos(at);
    EXPECT_NEAR(both.sine, std::sin(double(at)),
                2e-6 * std::abs(std::sin(double(at))) + 1e-8)
        << at;
    EXPECT_NEAR(both.cosine, std::cos(double(at)),
                2e-6 * std::abs(std::cos(double(at))) + 1e-8)
        << at;
  }
  // Small angles keep their digits.
  for (double x = 1e-6; x < 0.7; x *= 1.1)
    EXPECT_NEAR(fusec::fast::sin(float(x)) / std::sin(double(float(x))), 1,
                0x1p-18);
  EXPECT_TRUE(std::isnan(fusec::fast::sin(infinity)));
  EXPECT_TRUE(std::isnan(fusec::fast::cos(nan)));
  EXPECT_TRUE(std::isnan(fusec::fast::sinCos(nan).sine));
  EXPECT_TRUE(std::isnan(fusec::fast::sinCos(-infinity).cosine));
  EXPECT_EQ(fusec::primitive::bitsOf(fusec::fast::sinCos(-0.0f).sine),
            fusec::primitive::bitsOf(-0.0f));
  EXPECT_EQ(fusec::fast::sinCos(0.0f).cosine, 1.0f);
}

TEST(FastScalars, ActivationsAreCloseAndKeepTheirLimits) {
  for (double x = -80; x <= 80; x += 0.013) {
    float at = float(x);
    double sigmoid = 1 / (1 + std::exp(-double(at)));
    EXPECT_NEAR(fusec::fast::sigmoid(at) / sigmoid, 1, 1e-5) << at;
    EXPECT_NEAR(fusec::fast::exp(at) / std::exp(double(at)), 1, 1e-5) << at;
    double gelu = 0.5 * at * std::erfc(-at * std::sqrt(0.5));
    EXPECT_NEAR(fusec::fast::gelu(at), gelu, 1.2e-6 * std::abs(gelu) + 2e-8)
        << at;
    EXPECT_NEAR(fusec::gelu(at), gelu, 4e-7 * std::abs(gelu) + 2e-9) << at;
    double softplus =
        std::max(double(at), 0.0) + std::log1p(std::exp(-std::abs(double(at))));
    EXPECT_NEAR(fusec::softplus(at) / softplus, 1, 2.4e-7) << at;
    EXPECT_NEAR(fusec::fast::softplus(at) / softplus, 1, 1.2e-5) << at;
  }
  EXPECT_EQ(fusec::fast::sigmoid(-infinity), 0);
  EXPECT_EQ(fusec::fast::sigmoid(infinity), 1);
  EXPECT_TRUE(std::isnan(fusec::fast::sigmoid(nan)));
  for (auto rising :
       {fusec::fast::gelu, static_cast<float (*)(float)>(fusec::gelu),
        fusec::fast::softplus,
        static_cast<float (*)(float)>(fusec::softplus)}) {
    EXPECT_EQ(rising(infinity), infinity);
    EXPECT_NEAR(rising(-infinity), 0, 1e-20);
    EXPECT_TRUE(std::isnan(rising(nan)));
  }
}

} // namespace
