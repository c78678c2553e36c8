// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops against expectations written here, corner cases first.

#include "EvaluationTest.h"
#include <cmath>
#include <limits>

using namespace fusec::reference;
using Pointwise = EvaluationTest;

static const float nan32 = std::numeric_limits<float>::quiet_NaN();
static const float inf = std::numeric_limits<float>::infinity();

/// NaNs are equal to each other here.
static void expectSame(const std::vector<float> &actual,
                       const std::vector<float> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i]))
          << "element " << i << " is " << actual[i];
    else
      EXPECT_EQ(actual[i], expected[i]) << "element " << i;
  }
}

TEST_F(Pointwise, FloatArithmetic) {
  Tensor a = f32({4}, {1, -2.5, inf, nan32}), b = f32({4}, {3, 2, 1, 0});
  auto binary = [&](const std::string &op) {
    return elements<float>(run("%r = fusec." + op + " %a0, %a1 : tensor<4xf32>",
                               {a, b}, "tensor<4xf32>"));
  };
  expectSame(binary("add"), {4, -0.5, inf, nan32});
  expectSame(binary("sub"), {-2, -4.5, inf, nan32});
  expectSame(binary("mul"), {3, -5, inf, nan32});
  expectSame(binary("div"), {1.f / 3.f, -1.25, inf, nan32});
  expectSame(binary("pow"), {1, 6.25, inf, 1});
}

TEST_F(Pointwise, MaxAndMinPropagateNan) {
  Tensor a = f32({5}, {nan32, 1, 2, -inf, 3}),
         b = f32({5}, {1, nan32, 1, inf, 3});
  expectSame(elements<float>(run("%r = fusec.max %a0, %a1 : tensor<5xf32>",
                                 {a, b}, "tensor<5xf32>")),
             {nan32, nan32, 2, inf, 3});
  expectSame(elements<float>(run("%r = fusec.min %a0, %a1 : tensor<5xf32>",
                                 {a, b}, "tensor<5xf32>")),
             {nan32, nan32, 1, -inf, 3});
  expectSame(elements<float>(run("%r = fusec.relu %a0 : tensor<5xf32>", {a},
                                 "tensor<5xf32>")),
             {nan32, 1, 2, 0, 3});
}

TEST_F(Pointwise, Remainders) {
  Tensor a = f32({4}, {5.5, -5.5, 5.5, -5.5}), b = f32({4}, {2, 2, -2, -2});
  expectSame(
      elements<float>(run("%r = fusec.remainder %a0, %a1 : tensor<4xf32>",
                          {a, b}, "tensor<4xf32>")),
      {1.5, -1.5, 1.5, -1.5});
  expectSame(elements<float>(run("%r = fusec.mod %a0, %a1 : tensor<4xf32>",
                                 {a, b}, "tensor<4xf32>")),
             {1.5, 0.5, -0.5, -1.5});
  Tensor c = i64({6}, {7, -7, 7, -7, 5, INT64_MIN}),
         d = i64({6}, {3, 3, -3, -3, 0, -1});
  EXPECT_EQ(
      elements<int64_t>(run("%r = fusec.remainder %a0, %a1 : tensor<6xi64>",
                            {c, d}, "tensor<6xi64>")),
      (std::vector<int64_t>{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(elements<int64_t>(run("%r = fusec.mod %a0, %a1 : tensor<6xi64>",
                                  {c, d}, "tensor<6xi64>")),
            (std::vector<int64_t>{1, 2, -2, -1, 0, 0}));
}

TEST_F(Pointwise, IntegersWrapAndNeverTrap) {
  Tensor a = tensor<int8_t>("i8", {4}, {127, -128, -128, 100}),
         b = tensor<int8_t>("i8", {4}, {1, -1, 0, 3});
  auto binary = [&](const std::string &op) {
    return elements<int8_t>(run("%r = fusec." + op + " %a0, %a1 : tensor<4xi8>",
                                {a, b}, "tensor<4xi8>"));
  };
  EXPECT_EQ(binary("add"), (std::vector<int8_t>{-128, 127, -128, 103}));
  EXPECT_EQ(binary("sub"), (std::vector<int8_t>{126, -127, -128, 97}));
  EXPECT_EQ(binary("mul"), (std::vector<int8_t>{127, -128, 0, 44}));
  EXPECT_EQ(binary("div"), (std::vector<int8_t>{127, -128, 0, 33}));
  EXPECT_EQ(elements<int8_t>(
                run("%r = fusec.abs %a0 : tensor<4xi8>", {a}, "tensor<4xi8>")),
            (std::vector<int8_t>{127, -128, -128, 100}));
  EXPECT_EQ(elements<int8_t>(
                run("%r = fusec.neg %a0 : tensor<4xi8>", {a}, "tensor<4xi8>")),
            (std::vector<int8_t>{-127, -128, -128, -100}));
  Tensor c = i64({2}, {INT64_MIN, INT64_MIN}), d = i64({2}, {-1, 0});
  EXPECT_EQ(elements<int64_t>(run("%r = fusec.div %a0, %a1 : tensor<2xi64>",
                                  {c, d}, "tensor<2xi64>")),
            (std::vector<int64_t>{INT64_MIN, 0}));
}

TEST_F(Pointwise, UnsignedIntegers) {
  Tensor a = tensor<uint8_t>("ui8", {3}, {200, 3, 7}),
         b = tensor<uint8_t>("ui8", {3}, {100, 5, 0});
  auto binary = [&](const std::string &op) {
    return elements<uint8_t>(
        run("%r = fusec." + op + " %a0, %a1 : tensor<3xui8>", {a, b},
            "tensor<3xui8>"));
  };
  EXPECT_EQ(binary("add"), (std::vector<uint8_t>{44, 8, 7}));
  EXPECT_EQ(binary("sub"), (std::vector<uint8_t>{100, 254, 7}));
  EXPECT_EQ(binary("div"), (std::vector<uint8_t>{2, 0, 0}));
  EXPECT_EQ(binary("mod"), (std::vector<uint8_t>{0, 3, 0}));
  EXPECT_EQ(binary("max"), (std::vector<uint8_t>{200, 5, 7}));
}

TEST_F(Pointwise, IntegerPower) {
  Tensor a = i64({6}, {3, -2, 1, -1, 2, 0}),
         b = i64({6}, {4, 3, -5, -3, -1, 0});
  EXPECT_EQ(elements<int64_t>(run("%r = fusec.pow %a0, %a1 : tensor<6xi64>",
                                  {a, b}, "tensor<6xi64>")),
            (std::vector<int64_t>{81, -8, 1, -1, 0, 1}));
}

TEST_F(Pointwise, Functions) {
  std::vector<float> x = {-3, -0.5, 0, 0.5, 2.5, 40, -40};
  auto check = [&](const std::string &op, double (*expected)(double),
                   double tolerance = 4e-7) {
    auto actual =
        elements<float>(run("%r = fusec." + op + " %a0 : tensor<7xf32>",
                            {f32({7}, x)}, "tensor<7xf32>"));
    ASSERT_EQ(actual.size(), x.size()) << op << messages;
    for (size_t i = 0; i < x.size(); ++i) {
      double e = expected(x[i]);
      if (std::isnan(e))
        EXPECT_TRUE(std::isnan(actual[i])) << op;
      else if (std::isinf(e) ||
               e >= double(std::numeric_limits<float>::max()) * 1.01)
        EXPECT_EQ(actual[i], e < 0 ? -inf : inf) << op;
      else
        EXPECT_NEAR(actual[i], e, tolerance * (1e-30 + std::fabs(e)) + 1e-38)
            << op << " of " << x[i];
    }
  };
  check("neg", [](double x) { return -x; });
  check("abs", [](double x) { return std::fabs(x); });
  check("sign", [](double x) { return double((x > 0) - (x < 0)); });
  check("ceil", [](double x) { return std::ceil(x); });
  check("floor", [](double x) { return std::floor(x); });
  check("round", [](double x) {
    return x == 2.5 ? 2 : x == 0.5 || x == -0.5 ? 0 : x;
  });
  check("sqrt", [](double x) { return std::sqrt(x); });
  check("exp", [](double x) { return std::exp(x); });
  check("expm1", [](double x) { return std::expm1(x); });
  check("log", [](double x) { return std::log(x); });
  check("log1p", [](double x) { return std::log1p(x); });
  check("erf", [](double x) { return std::erf(x); });
  check("sin", [](double x) { return std::sin(x); });
  check("cos", [](double x) { return std::cos(x); });
  check("tan", [](double x) { return std::tan(x); });
  check("sinh", [](double x) { return std::sinh(x); });
  check("cosh", [](double x) { return std::cosh(x); });
  check("tanh", [](double x) { return std::tanh(x); });
  check("sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
  check("silu", [](double x) { return x / (1 + std::exp(-x)); });
  check("softplus", [](double x) { return std::log1p(std::exp(x)); });
  // Cancellation in 1 + erf(x) for negative x is part of the definition.
  auto gelu = [](double x) {
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  };
  check("gelu", gelu, 1e-4);
}

TEST_F(Pointwise, SixteenBitFloatsRoundAfterEveryOp) {
  // 2048 + 1 is a tie in fp16 and goes to even; so is 256 + 1 in bf16.
  Tensor a = tensor<uint16_t>("f16", {2}, {toHalf(2048), toHalf(2050)}),
         b = tensor<uint16_t>("f16", {2}, {toHalf(1), toHalf(1)});
  EXPECT_EQ(elements<uint16_t>(run("%r = fusec.add %a0, %a1 : tensor<2xf16>",
                                   {a, b}, "tensor<2xf16>")),
            (std::vector<uint16_t>{toHalf(2048), toHalf(2052)}));
  Tensor c = tensor<uint16_t>("bf16", {1}, {toBFloat(256)}),
         d = tensor<uint16_t>("bf16", {1}, {toBFloat(1)});
  EXPECT_EQ(elements<uint16_t>(run("%r = fusec.add %a0, %a1 : tensor<1xbf16>",
                                   {c, d}, "tensor<1xbf16>")),
            (std::vector<uint16_t>{toBFloat(256)}));
}

TEST_F(Pointwise, LogicAndComparisons) {
  Tensor p = tensor<uint8_t>("i1", {4}, {0, 0, 1, 255}),
         q = tensor<uint8_t>("i1", {4}, {0, 1, 0, 1});
  auto logic = [&](const std::string &op) {
    return elements<uint8_t>(
        run("%r = fusec." + op + " %a0, %a1 : tensor<4xi1>", {p, q},
            "tensor<4xi1>"));
  };
  EXPECT_EQ(logic("and"), (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(logic("or"), (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(logic("xor"), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(logic("equal"), (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(elements<uint8_t>(
                run("%r = fusec.not %a0 : tensor<4xi1>", {p}, "tensor<4xi1>")),
            (std::vector<uint8_t>{1, 1, 0, 0}));
  Tensor a = f32({4}, {1, nan32, 2, 3}), b = f32({4}, {1, nan32, 3, 2});
  auto compare = [&](const std::string &op) {
    return elements<uint8_t>(
        run("%r = fusec." + op + " %a0, %a1 : tensor<4xf32>", {a, b},
            "tensor<4xi1>"));
  };
  EXPECT_EQ(compare("equal"), (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(compare("less"), (std::vector<uint8_t>{0, 0, 1, 0}));
  EXPECT_EQ(compare("less_or_equal"), (std::vector<uint8_t>{1, 0, 1, 0}));
  Tensor u = tensor<uint64_t>("ui64", {2}, {UINT64_MAX, 1}),
         v = tensor<uint64_t>("ui64", {2}, {1, UINT64_MAX});
  EXPECT_EQ(elements<uint8_t>(run("%r = fusec.less %a0, %a1 : tensor<2xui64>",
                                  {u, v}, "tensor<2xi1>")),
            (std::vector<uint8_t>{0, 1}));
}

TEST_F(Pointwise, Select) {
  Tensor c = tensor<uint8_t>("i1", {3}, {1, 0, 2});
  Tensor a = f32({3}, {1, 2, 3}), b = f32({3}, {4, 5, nan32});
  expectSame(
      elements<float>(
          run("%r = fusec.select %a0, %a1, %a2 : tensor<3xi1>, tensor<3xf32>",
              {c, a, b}, "tensor<3xf32>")),
      {1, 5, 3});
}

TEST_F(Pointwise, EmptyTensors) {
  Tensor a = f32({0, 4}, {});
  Tensor r =
      run("%r = fusec.exp %a0 : tensor<0x4xf32>", {a}, "tensor<0x4xf32>");
  ASSERT_TRUE(r);
  EXPECT_EQ(r.getElementCount(), 0);
}
