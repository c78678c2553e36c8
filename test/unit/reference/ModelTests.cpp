// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole models: named dimensions, constraints, fusions, budgets, observers.

#include "EvaluationTest.h"

using namespace fusec;
using namespace fusec::reference;
using Models = EvaluationTest;

static const std::string addSelf = R"(
fusec.model @m inputs ["x", "y"] outputs ["z"] {
^bb0(%x: tensor<?x2xf32, #fusec.sizes<[batch, 2]>>, %y: tensor<?x2xf32, #fusec.sizes<[batch, 2]>>):
  %0 = fusec.add %x, %y : tensor<?x2xf32, #fusec.sizes<[batch, 2]>>
  fusec.output %0 : tensor<?x2xf32, #fusec.sizes<[batch, 2]>>
})";

TEST_F(Models, NamedDimensions) {
  Tensors out = runModel(addSelf, {f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(elements<float>(out[0]), (std::vector<float>{4, 6}));
  out = runModel(addSelf, {f32({0, 2}, {}), f32({0, 2}, {})});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].getSizes(), llvm::ArrayRef<int64_t>({0, 2}));
}

TEST_F(Models, DisagreeingSizesNameBothInputs) {
  EXPECT_TRUE(
      runModel(addSelf, {f32({1, 2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4})})
          .empty());
  EXPECT_NE(messages.find("input 'y', size 0: expected batch = 1, as in input "
                          "'x', size 0, got 2"),
            std::string::npos)
      << messages;
  messages.clear();
  EXPECT_TRUE(
      runModel(addSelf, {f32({1, 3}, {1, 2, 3}), f32({1, 2}, {1, 2})}).empty());
  EXPECT_NE(messages.find("input 'x', size 1: expected 2, got 3"),
            std::string::npos)
      << messages;
}

TEST_F(Models, WrongElementTypeOrCount) {
  EXPECT_TRUE(
      runModel(addSelf, {i64({1, 2}, {1, 2}), f32({1, 2}, {1, 2})}).empty());
  EXPECT_NE(
      messages.find("input 'x': expected elements of type 'f32', got 'i64'"),
      std::string::npos)
      << messages;
  messages.clear();
  EXPECT_TRUE(runModel(addSelf, {f32({1, 2}, {1, 2})}).empty());
  EXPECT_NE(messages.find("expected 2 inputs, got 1"), std::string::npos)
      << messages;
}

TEST_F(Models, SizesThatAreExpressions) {
  std::string text = R"(
fusec.model @m inputs ["x"] outputs ["n", "y"] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[n * 2 + 1]>>):
  %n = fusec.size_value <n> : tensor<i64>
  %0 = fusec.slice %x offsets [#fusec.expr<n>] steps [1] : tensor<?xf32, #fusec.sizes<[n * 2 + 1]>> to tensor<?xf32, #fusec.sizes<[n]>>
  fusec.output %n, %0 : tensor<i64>, tensor<?xf32, #fusec.sizes<[n]>>
})";
  Tensors out = runModel(text, {f32({5}, {0, 1, 2, 3, 4})});
  ASSERT_EQ(out.size(), 2u) << messages;
  EXPECT_EQ(elements<int64_t>(out[0]), (std::vector<int64_t>{2}));
  EXPECT_EQ(elements<float>(out[1]), (std::vector<float>{2, 3}));
  EXPECT_TRUE(runModel(text, {f32({4}, {0, 1, 2, 3})}).empty());
  EXPECT_NE(messages.find("input 'x', size 0: expected n * 2 + 1, got 4"),
            std::string::npos)
      << messages;
}

TEST_F(Models, ConstraintsNameBothSides) {
  std::string text = R"(
fusec.model @m inputs ["x", "y"] outputs ["z"] where [#fusec.constraint<a = b, "node 'add' adds them">] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[a]>>, %y: tensor<?xf32, #fusec.sizes<[b]>>):
  fusec.output %x : tensor<?xf32, #fusec.sizes<[a]>>
})";
  EXPECT_EQ(runModel(text, {f32({1}, {1}), f32({1}, {1})}).size(), 1u)
      << messages;
  EXPECT_TRUE(runModel(text, {f32({1}, {1}), f32({2}, {1, 2})}).empty());
  EXPECT_NE(messages.find("expected a = b (node 'add' adds them), got 1 and 2"),
            std::string::npos)
      << messages;
}

TEST_F(Models, FusionsEvaluateTheirRegion) {
  std::string text = R"(
fusec.model @m inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2xf32>):
  %0 = fusec.fusion pointwise "twice" (%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%a: tensor<2xf32>):
    %1 = fusec.add %a, %a : tensor<2xf32>
    %2 = fusec.neg %1 : tensor<2xf32>
    fusec.yield %2 : tensor<2xf32>
  }
  fusec.output %0 : tensor<2xf32>
})";
  unsigned seen = 0;
  options.observer = [&](mlir::Value, const Tensor &) { ++seen; };
  Tensors out = runModel(text, {f32({2}, {1, 2})});
  ASSERT_EQ(out.size(), 1u) << messages;
  EXPECT_EQ(elements<float>(out[0]), (std::vector<float>{-2, -4}));
  EXPECT_EQ(seen, 1u) << "values inside a kernel are not observed";
}

TEST_F(Models, BudgetRefusesHugeResults) {
  EXPECT_FALSE(
      run("%r = fusec.splat 0.0 : f32 : tensor<1099511627776x1048576xf32>", {},
          "tensor<1099511627776x1048576xf32>"));
  EXPECT_NE(messages.find("takes more than"), std::string::npos) << messages;
  messages.clear();
  EXPECT_FALSE(run("%r = fusec.constant dense<0.0> : tensor<1099511627776xf32>",
                   {}, "tensor<1099511627776xf32>"));
  EXPECT_NE(messages.find("bytes"), std::string::npos) << messages;
}

TEST_F(Models, SlicesOutsideAreRefused) {
  std::string text = R"(
fusec.model @m inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?xf32, #fusec.sizes<[n]>>):
  %0 = fusec.slice %x offsets [#fusec.expr<n - 2>] steps [1] : tensor<?xf32, #fusec.sizes<[n]>> to tensor<2xf32>
  fusec.output %0 : tensor<2xf32>
})";
  EXPECT_EQ(runModel(text, {f32({3}, {1, 2, 3})}).size(), 1u) << messages;
  EXPECT_TRUE(runModel(text, {f32({1}, {1})}).empty());
  EXPECT_NE(messages.find("expected to read dimension 0 inside its size of 1"),
            std::string::npos)
      << messages;
}

TEST_F(Models, Magnitude) {
  ModelOp model = parse(R"(
fusec.model @m inputs ["a", "b"] outputs ["c"] {
^bb0(%a: tensor<1x2xf32>, %b: tensor<2x1xf32>):
  %0 = fusec.matmul %a, %b : tensor<1x2xf32>, tensor<2x1xf32> to tensor<1x1xf32>
  fusec.output %0 : tensor<1x1xf32>
})");
  ASSERT_TRUE(model) << messages;
  options.exact = true;
  Dims dims;
  Environment env{options, dims};
  auto magnitude = evaluateMagnitude(&model.getBody().front().front(),
                                     {tensor<double>("f64", {1, 2}, {1, -2}),
                                      tensor<double>("f64", {2, 1}, {-3, -4})},
                                     env);
  ASSERT_TRUE(succeeded(magnitude)) << messages;
  EXPECT_EQ(elements<double>((*magnitude)[0]), (std::vector<double>{11}));
}
