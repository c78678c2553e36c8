// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, extremes, products of matrices.

#include "EvaluationTest.h"
#include <cmath>

using namespace fusec::reference;
using Reduce = EvaluationTest;
using Matmul = EvaluationTest;

TEST_F(Reduce, Kinds) {
  Tensor a = f32({2, 3}, {1, 2, 3, 4, -5, 6});
  auto reduce = [&](const std::string &kind, const std::string &axes,
                    const std::string &to) {
    return elements<float>(run("%r = fusec.reduce " + kind + " %a0 axes " +
                                   axes + " : tensor<2x3xf32> to " + to,
                               {a}, to));
  };
  EXPECT_EQ(reduce("sum", "[1]", "tensor<2xf32>"), (std::vector<float>{6, 5}))
      << messages;
  EXPECT_EQ(reduce("sum", "[0]", "tensor<3xf32>"),
            (std::vector<float>{5, -3, 9}));
  EXPECT_EQ(reduce("sum", "[1, 0]", "tensor<f32>"), (std::vector<float>{11}));
  EXPECT_EQ(reduce("prod", "[1]", "tensor<2xf32>"),
            (std::vector<float>{6, -120}));
  EXPECT_EQ(reduce("max", "[1]", "tensor<2xf32>"), (std::vector<float>{3, 6}));
  EXPECT_EQ(reduce("min", "[1]", "tensor<2xf32>"), (std::vector<float>{1, -5}));
}

TEST_F(Reduce, EmptyAxesGiveTheIdentity) {
  Tensor a = f32({2, 0}, {});
  auto reduce = [&](const std::string &kind) {
    return elements<float>(
        run("%r = fusec.reduce " + kind +
                " %a0 axes [1] : tensor<2x0xf32> to tensor<2xf32>",
            {a}, "tensor<2xf32>"));
  };
  EXPECT_EQ(reduce("sum"), (std::vector<float>{0, 0}));
  EXPECT_EQ(reduce("prod"), (std::vector<float>{1, 1}));
  EXPECT_EQ(reduce("max"), (std::vector<float>{-HUGE_VALF, -HUGE_VALF}));
  EXPECT_EQ(reduce("min"), (std::vector<float>{HUGE_VALF, HUGE_VALF}));
  Tensor b = tensor<int8_t>("i8", {0}, {});
  EXPECT_EQ(
      elements<int8_t>(
          run("%r = fusec.reduce max %a0 axes [0] : tensor<0xi8> to tensor<i8>",
              {b}, "tensor<i8>"))[0],
      -128);
  EXPECT_EQ(
      elements<int8_t>(
          run("%r = fusec.reduce min %a0 axes [0] : tensor<0xi8> to tensor<i8>",
              {b}, "tensor<i8>"))[0],
      127);
}

TEST_F(Reduce, ExtremesPropagateNan) {
  Tensor a = f32({2, 3}, {1, std::nanf(""), 3, 4, 5, 6});
  for (const char *kind : {"max", "min"}) {
    auto r = elements<float>(
        run(std::string("%r = fusec.reduce ") + kind +
                " %a0 axes [1] : tensor<2x3xf32> to tensor<2xf32>",
            {a}, "tensor<2xf32>"));
    ASSERT_EQ(r.size(), 2u);
    EXPECT_TRUE(std::isnan(r[0]));
    EXPECT_FALSE(std::isnan(r[1]));
  }
}

TEST_F(Reduce, BoolsAndIntegers) {
  Tensor p = tensor<uint8_t>("i1", {2, 2}, {0, 3, 1, 1});
  EXPECT_EQ(
      elements<uint8_t>(run(
          "%r = fusec.reduce max %a0 axes [1] : tensor<2x2xi1> to tensor<2xi1>",
          {p}, "tensor<2xi1>")),
      (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(
      elements<uint8_t>(run(
          "%r = fusec.reduce min %a0 axes [1] : tensor<2x2xi1> to tensor<2xi1>",
          {p}, "tensor<2xi1>")),
      (std::vector<uint8_t>{0, 1}));
  Tensor a = tensor<int8_t>("i8", {3}, {100, 100, 1});
  EXPECT_EQ(
      elements<int8_t>(
          run("%r = fusec.reduce sum %a0 axes [0] : tensor<3xi8> to tensor<i8>",
              {a}, "tensor<i8>"))[0],
      -55);
}

TEST_F(Reduce, AccumulatesSixteenBitFloatsInSingle) {
  // 4096 ones: fp16 alone would stop at 2048.
  Tensor a = convert(f32({4096}, std::vector<float>(4096, 1)), type("f16"));
  EXPECT_EQ(elements<uint16_t>(run("%r = fusec.reduce sum %a0 axes [0] : "
                                   "tensor<4096xf16> to tensor<f16>",
                                   {a}, "tensor<f16>"))[0],
            toHalf(4096));
}

TEST_F(Reduce, PreciseAccumulatesInDouble) {
  Tensor a = f32({3}, {16777216, 1, 1});
  std::string text =
      "%r = fusec.reduce sum %a0 axes [0] : tensor<3xf32> to tensor<f32>";
  EXPECT_EQ(elements<float>(run(text, {a}, "tensor<f32>"))[0], 16777216);
  options.precise = true;
  EXPECT_EQ(elements<float>(run(text, {a}, "tensor<f32>"))[0], 16777218);
}

TEST_F(Reduce, ArgumentOfTheExtreme) {
  const float nan = std::nanf("");
  Tensor a = f32({3, 4}, {1, 3, 3, 2, nan, 5, nan, 1, -1, -1, -1, -1});
  auto arg = [&](const std::string &text) {
    return elements<int64_t>(run("%r = fusec.arg_reduce " + text +
                                     " : tensor<3x4xf32> to tensor<3xi64>",
                                 {a}, "tensor<3xi64>"));
  };
  EXPECT_EQ(arg("max %a0 axis 1"), (std::vector<int64_t>{1, 0, 0})) << messages;
  EXPECT_EQ(arg("max %a0 axis 1 last"), (std::vector<int64_t>{2, 2, 3}));
  EXPECT_EQ(arg("min %a0 axis 1"), (std::vector<int64_t>{0, 0, 0}));
  Tensor b = f32({2, 2}, {1, 2, 3, 0});
  EXPECT_EQ(elements<int64_t>(run("%r = fusec.arg_reduce max %a0 axis 0 : "
                                  "tensor<2x2xf32> to tensor<2xi64>",
                                  {b}, "tensor<2xi64>")),
            (std::vector<int64_t>{1, 0}));
}

TEST_F(Matmul, Transposes) {
  // [1 2; 3 4; 5 6] and [1 0 2; 0 1 3] in all four storage orders.
  std::vector<float> expected = {1, 2, 8, 3, 4, 18, 5, 6, 28};
  Tensor a = f32({3, 2}, {1, 2, 3, 4, 5, 6}),
         at = f32({2, 3}, {1, 3, 5, 2, 4, 6});
  Tensor b = f32({2, 3}, {1, 0, 2, 0, 1, 3}),
         bt = f32({3, 2}, {1, 0, 0, 1, 2, 3});
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      std::string text = std::string("%r = fusec.matmul %a0") +
                         (left ? " transposed" : "") + ", %a1" +
                         (right ? " transposed" : "") + " : tensor<" +
                         (left ? "2x3" : "3x2") + "xf32>, tensor<" +
                         (right ? "3x2" : "2x3") + "xf32> to tensor<3x3xf32>";
      EXPECT_EQ(elements<float>(run(text, {left ? at : a, right ? bt : b},
                                    "tensor<3x3xf32>")),
                expected)
          << messages;
    }
}

TEST_F(Matmul, BatchesAndEmptyInner) {
  Tensor a = f32({2, 1, 2}, {1, 2, 3, 4}), b = f32({2, 2, 1}, {5, 6, 7, 8});
  EXPECT_EQ(
      elements<float>(run("%r = fusec.matmul %a0, %a1 : tensor<2x1x2xf32>, "
                          "tensor<2x2x1xf32> to tensor<2x1x1xf32>",
                          {a, b}, "tensor<2x1x1xf32>")),
      (std::vector<float>{17, 53}));
  Tensor c = f32({2, 0}, {}), d = f32({0, 2}, {});
  EXPECT_EQ(elements<float>(run("%r = fusec.matmul %a0, %a1 : tensor<2x0xf32>, "
                                "tensor<0x2xf32> to tensor<2x2xf32>",
                                {c, d}, "tensor<2x2xf32>")),
            (std::vector<float>(4, 0)));
}

TEST_F(Matmul, OtherTypes) {
  Tensor a = tensor<int32_t>("i32", {1, 2}, {INT32_MAX, 2}),
         b = tensor<int32_t>("i32", {2, 1}, {2, 3});
  EXPECT_EQ(
      elements<int32_t>(run("%r = fusec.matmul %a0, %a1 : tensor<1x2xi32>, "
                            "tensor<2x1xi32> to tensor<1x1xi32>",
                            {a, b}, "tensor<1x1xi32>"))[0],
      4);
  Tensor c = tensor<double>("f64", {1, 2}, {1e16, 1}),
         d = tensor<double>("f64", {2, 1}, {1, 2});
  EXPECT_EQ(
      elements<double>(run("%r = fusec.matmul %a0, %a1 : tensor<1x2xf64>, "
                           "tensor<2x1xf64> to tensor<1x1xf64>",
                           {c, d}, "tensor<1x1xf64>"))[0],
      1e16 + 2);
}

TEST_F(Matmul, ExactKeepsDoubles) {
  Tensor a = f32({1, 2}, {16777216, 1}), b = f32({2, 1}, {1, 1});
  std::string text = "%r = fusec.matmul %a0, %a1 : tensor<1x2xf32>, "
                     "tensor<2x1xf32> to tensor<1x1xf32>";
  EXPECT_EQ(elements<float>(run(text, {a, b}, "tensor<1x1xf32>"))[0], 16777216);
  options.exact = true;
  Tensor r = run(text, {a, b}, "tensor<1x1xf32>");
  ASSERT_TRUE(r.getElementType().isF64());
  EXPECT_EQ(elements<double>(r)[0], 16777217);
}

TEST_F(Matmul, ContractionOfSegments) {
  Tensor x = f32({1, 2}, {1, 2}), t = f32({1, 1}, {3});
  Tensor w = f32({2, 1}, {4, 5}), v = f32({2, 1}, {6, 7}), b = f32({1, 1}, {8}),
         c = f32({1, 1}, {9});
  Tensor r = run("%p, %q = fusec.contraction (%a0, %a1) by (%a2, %a3, %a4, "
                 "%a5) : (tensor<1x2xf32>, tensor<1x1xf32>),"
                 " (tensor<2x1xf32>, tensor<2x1xf32>, tensor<1x1xf32>, "
                 "tensor<1x1xf32>) -> tensor<1x1xf32>, tensor<1x1xf32>\n"
                 "%r = fusec.concat %p, %q axis 1 : tensor<1x1xf32>, "
                 "tensor<1x1xf32> to tensor<1x2xf32>",
                 {x, t, w, v, b, c}, "tensor<1x2xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{4 + 10 + 24, 6 + 14 + 27}))
      << messages;
}
