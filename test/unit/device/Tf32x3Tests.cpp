// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 3xTF32 as gemm_tf32x3.h and gemm_wgmma_tf32x3.h do it, with a tensor core
// made of doubles: what the split keeps, the error against that of plain FMA,
// infinities and NaN.

#include "gemm_tf32x3.h"

#include "gtest/gtest.h"

#include <cfloat>
#include <random>
#include <vector>

namespace {

using namespace fusec;

float fromBits(u32 bits) { return primitive::floatOf(bits); }

/// What a tensor core reads of a register.
float readTf32(u32 bits) { return fromBits(bits & 0xffffe000u); }

/// Towards zero, as tensor cores do.
float truncateToFloat(double x) {
  float rounded = float(x);
  return std::abs(double(rounded)) > std::abs(x) ? std::nextafterf(rounded, 0)
                                                 : rounded;
}

/// c + a . b of 8 ks. Before they are added, terms are cut off one bit below
/// the last place of the largest.
float multiplyOnTensorCore(const u32 *a, const u32 *b, float c) {
  double terms[9] = {c}, largest = std::abs(c), sum = 0;
  for (int k = 0; k < 8; ++k) {
    terms[k + 1] = double(readTf32(a[k])) * double(readTf32(b[k]));
    largest = std::max(largest, std::abs(terms[k + 1]));
  }
  if (!std::isfinite(largest) || largest == 0)
    for (double term : terms)
      sum += term;
  else
    for (double term : terms)
      sum += std::ldexp(std::trunc(std::ldexp(term, 24 - std::ilogb(largest))),
                        std::ilogb(largest) - 24);
  return truncateToFloat(sum);
}

struct Product {
  std::vector<float> a, b;

  float byFma() const {
    typedef Segment<Matrix<float>, Matrix<float>> Main;
    int k = int(a.size());
    Main main{{a.data(), k}, {{b.data(), k}}, k};
    float acc[1][1] = {};
    detail::addByFma(main, 0, 0, {0, k}, {0}, {0}, acc);
    return acc[0][0];
  }

  float byTf32x3() const {
    float acc = 0;
    for (size_t k = 0; k < a.size(); k += 8) {
      u32 highA[8] = {}, lowA[8] = {}, highB[8] = {}, lowB[8] = {};
      for (size_t i = 0; i < 8 && k + i < a.size(); ++i) {
        Tf32Pair x = splitTf32(a[k + i]), y = splitTf32(b[k + i]);
        highA[i] = x.high, lowA[i] = x.low;
        highB[i] = y.high, lowB[i] = y.low;
      }
      float sum = multiplyOnTensorCore(lowA, highB, 0);
      sum = multiplyOnTensorCore(highA, lowB, sum);
      acc += multiplyOnTensorCore(highA, highB, sum);
    }
    return isInRange(acc) ? acc : byFma();
  }

  /// On wgmma: sums of 32 ks, in which all small products come first.
  float byWgmma() const {
    float acc = 0;
    for (size_t first = 0; first < a.size(); first += 32) {
      u32 highA[32] = {}, lowA[32] = {}, highB[32] = {}, lowB[32] = {};
      for (size_t i = 0; i < 32 && first + i < a.size(); ++i) {
        Tf32Pair x = splitTf32(a[first + i]);
        highA[i] = x.high, lowA[i] = x.low;
        highB[i] = primitive::bitsOf(b[first + i]);
        lowB[i] = lowTf32(highB[i]);
      }
      float sum = 0;
      for (auto [x, y] :
           {std::pair(lowA, highB), {highA, lowB}, {highA, highB}})
        for (int step = 0; step < 32; step += 8)
          sum = multiplyOnTensorCore(x + step, y + step, sum);
      acc += sum;
    }
    return isInRange(acc) ? acc : byFma();
  }

  /// Of `got`, in units of |a| . |b|.
  double getError(float got) const {
    double exact = 0, magnitude = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      exact += double(a[k]) * b[k];
      magnitude += std::abs(double(a[k]) * b[k]);
    }
    return std::abs(got - exact) / magnitude;
  }
};

TEST(Tf32x3, PairsAddUp) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    float x = fromBits(random());
    if (std::isnan(x) || std::abs(x) >= 0x1.ffep127f)
      continue;
    Tf32Pair pair = splitTf32(x);
    float high = fromBits(pair.high), low = fromBits(pair.low);
    ASSERT_EQ(pair.high & 0x1fffu, 0u);
    ASSERT_EQ(high + low, x);
    // Half a unit of `high`; what the tensor core reads of `low` misses at most
    // the last of 24 bits.
    double unit = std::ldexp(1, std::max(std::ilogb(x), -126) - 10);
    ASSERT_LE(std::abs(low), unit / 2);
    if (std::abs(low) >= FLT_MIN) {
      ASSERT_LE(std::abs(low - readTf32(pair.low)), unit * 0x1p-13);
    }
  }
}

TEST(Tf32x3, LowPartsOfWhatIsReadAsItStands) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000000; ++i) {
    u32 x = random();
    if (!std::isfinite(fromBits(x)))
      continue;
    float high = readTf32(x), low = readTf32(lowTf32(x));
    double unit = std::ldexp(1, std::max(std::ilogb(fromBits(x)), -126) - 10);
    ASSERT_LE(std::abs(low), unit);
    // Of subnormal low parts fewer bits are read.
    if (std::abs(fromBits(x)) >= 0x1p-100f) {
      ASSERT_LE(std::abs(double(fromBits(x)) - high - low), unit * 0x1p-12);
    }
  }
  // Infinities and NaN are still there, if not in the low part.
  EXPECT_EQ(readTf32(primitive::bitsOf(HUGE_VALF)), HUGE_VALF);
  for (u32 payload = 1; payload < 1u << 23; payload += payload < 20000 ? 1 : 97)
    EXPECT_FALSE(std::isfinite(readTf32(0x7f800000u | payload)));
}

TEST(Tf32x3, PairsOfWhatIsNotFinite) {
  auto isLost = [](Tf32Pair pair) {
    return std::isfinite(readTf32(pair.high)) &&
           std::isfinite(readTf32(pair.low));
  };
  EXPECT_FALSE(isLost(splitTf32(HUGE_VALF)));
  EXPECT_FALSE(isLost(splitTf32(-HUGE_VALF)));
  // Rounds to infinity.
  EXPECT_FALSE(isLost(splitTf32(FLT_MAX)));
  EXPECT_FALSE(isLost(splitTf32(0x1.ffep127f)));
  EXPECT_TRUE(isLost(splitTf32(0x1.ffdp127f)));
  // Every NaN, from those whose payload is in the bits that are cut off to the
  // one whose bits wrap around.
  for (u32 payload = 1; payload < 1u << 23; payload += payload < 20000 ? 1 : 97)
    for (u32 sign : {0u, 0x80000000u})
      EXPECT_FALSE(isLost(splitTf32(fromBits(sign | 0x7f800000u | payload))));
  EXPECT_FALSE(isLost(splitTf32(fromBits(0x7fffffffu))));
  EXPECT_FALSE(isLost(splitTf32(fromBits(0xffffffffu))));
}

TEST(Tf32x3, ErrsAtMostTwiceAsMuchAsFma) {
  for (int kind = 0; kind < 3; ++kind)
    for (int k : {tf32x3MinK, 1024, 16384, 93528}) {
      std::mt19937 random(k);
      auto next = [&] {
        std::uniform_real_distribution<float> uniform(kind == 1 ? 0.f : -1.f,
                                                      1.f);
        std::normal_distribution<float> normal;
        return kind < 2 ? uniform(random)
                        : std::ldexp(normal(random), int(random() % 41) - 20);
      };
      double worst = 0, worstWgmma = 0, worstFma = 0;
      for (int sample = 0; sample < std::max(100, 100000 / k); ++sample) {
        Product product;
        for (int i = 0; i < k; ++i) {
          product.a.push_back(next());
          product.b.push_back(next());
        }
        worst = std::max(worst, product.getError(product.byTf32x3()));
        worstWgmma = std::max(worstWgmma, product.getError(product.byWgmma()));
        worstFma = std::max(worstFma, product.getError(product.byFma()));
      }
      EXPECT_LE(worst, 2 * worstFma) << "kind " << kind << ", K = " << k;
      EXPECT_LE(worstWgmma, 2 * worstFma) << "kind " << kind << ", K = " << k;
      std::string at = std::to_string(kind) + "." + std::to_string(k);
      RecordProperty("ratio." + at, std::to_string(worst / worstFma));
      RecordProperty("ratio.wgmma." + at,
                     std::to_string(worstWgmma / worstFma));
    }
}

TEST(Tf32x3, WhatIsNotFiniteIsThatOfFma) {
  const float values[] = {
      HUGE_VALF, -HUGE_VALF, std::nanf(""), 0.f,     -0.f,
      FLT_MAX,   -FLT_MAX,   0x1.ffep127f,  0x1p64f, -0x1.8p100f,
      1.f,       -1.5f,      0x1.fffp-60f,  FLT_MIN, 0x1p-149f};
  // Each meets each, at one k and at two.
  for (float x : values)
    for (float y : values)
      for (int at : {3, 17}) {
        Product product{std::vector<float>(20, 0.75f),
                        std::vector<float>(20, -1.25f)};
        product.a[3] = x;
        product.b[at] = y;
        float want = product.byFma();
        for (float got : {product.byTf32x3(), product.byWgmma()})
          if (std::isfinite(want)) {
            ASSERT_TRUE(std::isfinite(got)) << x << " " << y << " " << at;
            EXPECT_LE(product.getError(got), 16 * 0x1p-24);
          } else {
            EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
                << x << " " << y << " " << at << ": " << got;
          }
      }
  // Sums whose parts overflow are those of FMA, and zeros are positive.
  Product huge{{FLT_MAX, FLT_MAX, -FLT_MAX, -FLT_MAX}, {.5f, .5f, .5f, .5f}};
  EXPECT_EQ(huge.byTf32x3(), 0.f);
  EXPECT_EQ(huge.byWgmma(), 0.f);
  Product zeros{{-0.f, 0.f}, {1.f, -1.f}};
  EXPECT_FALSE(std::signbit(zeros.byTf32x3()));
  EXPECT_FALSE(std::signbit(zeros.byWgmma()));
  EXPECT_FALSE(std::signbit(zeros.byFma()));
}

} // namespace
