// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated values, views and gathers.

#include "EvaluationTest.h"

using namespace fusec::reference;
using Structure = EvaluationTest;

TEST_F(Structure, Generated) {
  EXPECT_EQ(elements<float>(run("%r = fusec.splat 2.5 : f32 : tensor<2x2xf32>",
                                {}, "tensor<2x2xf32>")),
            (std::vector<float>(4, 2.5f)));
  EXPECT_EQ(elements<int64_t>(run("%r = fusec.iota 0 : tensor<2x3xi64>", {},
                                  "tensor<2x3xi64>")),
            (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(elements<float>(run("%r = fusec.iota 1 : tensor<2x3xf32>", {},
                                "tensor<2x3xf32>")),
            (std::vector<float>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(
      elements<int8_t>(run("%r = fusec.constant dense<[1, -2]> : tensor<2xi8>",
                           {}, "tensor<2xi8>")),
      (std::vector<int8_t>{1, -2}));
  EXPECT_EQ(elements<uint8_t>(run(
                "%r = fusec.constant dense<[true, false, true]> : tensor<3xi1>",
                {}, "tensor<3xi1>")),
            (std::vector<uint8_t>{1, 0, 1}));
}

TEST_F(Structure, Reshapes) {
  Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor r =
      run("%r = fusec.collapse %a0 [[0, 1]] : tensor<2x3xf32> to tensor<6xf32>",
          {a}, "tensor<6xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(r.getSizes(), llvm::ArrayRef<int64_t>({6}));
  r = run("%r = fusec.expand %a0 [[0], [1, 2]] : tensor<2x3xf32> to "
          "tensor<2x1x3xf32>",
          {a}, "tensor<2x1x3xf32>");
  EXPECT_EQ(r.getSizes(), llvm::ArrayRef<int64_t>({2, 1, 3}));
}

TEST_F(Structure, Transpose) {
  // result[i, j, k] = operand[k, i, j]: dimension i is operand dimension p[i].
  Tensor a = f32({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Tensor r = run("%r = fusec.transpose %a0 [2, 0, 1] : tensor<2x1x3xf32> to "
                 "tensor<3x2x1xf32>",
                 {a}, "tensor<3x2x1xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Structure, Slice) {
  Tensor a = f32({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor r =
      run("%r = fusec.slice %a0 offsets [#fusec.expr<2>, #fusec.expr<1>] steps "
          "[-2, 2] : tensor<3x4xf32> to tensor<2x2xf32>",
          {a}, "tensor<2x2xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{9, 11, 1, 3}));
}

TEST_F(Structure, Broadcast) {
  Tensor a = f32({1, 2}, {1, 2});
  Tensor r = run(
      "%r = fusec.broadcast %a0 [0, 2] : tensor<1x2xf32> to tensor<2x2x2xf32>",
      {a}, "tensor<2x2x2xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
  Tensor s = f32({}, {7});
  EXPECT_EQ(elements<float>(run(
                "%r = fusec.broadcast %a0 [] : tensor<f32> to tensor<3xf32>",
                {s}, "tensor<3xf32>")),
            (std::vector<float>{7, 7, 7}));
}

TEST_F(Structure, Concat) {
  Tensor a = f32({2, 1}, {1, 2}), b = f32({2, 0}, {}),
         c = f32({2, 2}, {3, 4, 5, 6});
  Tensor r = run("%r = fusec.concat %a0, %a1, %a2 axis 1 : tensor<2x1xf32>, "
                 "tensor<2x0xf32>, tensor<2x2xf32> to tensor<2x3xf32>",
                 {a, b, c}, "tensor<2x3xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{1, 3, 4, 2, 5, 6}));
}

TEST_F(Structure, GatherPolicies) {
  Tensor table = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor ids = i64({5, 2}, {0, 0, -1, -1, 3, 3, -4, -4, INT64_MIN, INT64_MAX});
  auto gather = [&](const std::string &policy) {
    return elements<float>(
        run("%r = fusec.gather %a0 [-1, 1] (%a1) " + policy +
                " : (tensor<3x2xf32>, tensor<5x2xi64>) -> tensor<5x2xf32>",
            {table, ids}, "tensor<5x2xf32>"));
  };
  EXPECT_EQ(gather("flag"), (std::vector<float>{1, 2, 5, 6, 0, 0, 0, 0, 0, 0}))
      << messages;
  EXPECT_EQ(faults, 6);
  EXPECT_EQ(gather("zero"), (std::vector<float>{1, 2, 5, 6, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(gather("clamp"),
            (std::vector<float>{1, 2, 5, 6, 5, 6, 1, 2, 1, 6}));
  EXPECT_EQ(faults, 0);
}

TEST_F(Structure, GatherOfSeveralIndexOperands) {
  Tensor source = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor rows = tensor<int32_t>("i32", {2}, {1, 0}),
         columns = i64({2}, {2, -3});
  EXPECT_EQ(
      elements<float>(run(
          "%r = fusec.gather %a0 [-1, -2] (%a1, %a2) flag : (tensor<2x3xf32>, "
          "tensor<2xi32>, tensor<2xi64>) -> tensor<2xf32>",
          {source, rows, columns}, "tensor<2xf32>")),
      (std::vector<float>{6, 1}))
      << messages;
}

TEST_F(Structure, GatherFromNothing) {
  Tensor table = f32({0, 2}, {}), ids = i64({1, 2}, {0, 0});
  for (const char *policy : {"flag", "zero", "clamp"})
    EXPECT_EQ(
        elements<float>(
            run(std::string("%r = fusec.gather %a0 [-1, 1] (%a1) ") + policy +
                    " : (tensor<0x2xf32>, tensor<1x2xi64>) -> tensor<1x2xf32>",
                {table, ids}, "tensor<1x2xf32>")),
        (std::vector<float>{0, 0}));
}

TEST_F(Structure, Lookup) {
  Tensor first = f32({2, 2}, {1, 2, 3, 4}), second = f32({1, 2}, {5, 6});
  Tensor ids = i64({2, 2}, {1, 0, -2, 1});
  Tensor r = run("%r = fusec.lookup (%a0, %a1) at %a2 flag : (tensor<2x2xf32>, "
                 "tensor<1x2xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>",
                 {first, second, ids}, "tensor<2x2x2xf32>");
  EXPECT_EQ(elements<float>(r), (std::vector<float>{3, 4, 5, 6, 1, 2, 0, 0}))
      << messages;
  EXPECT_EQ(faults, 1);
}
