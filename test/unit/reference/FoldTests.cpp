// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding on constants: what is folded, what is declined and why.

#include "EvaluationTest.h"
#include "ir/Constants.h"
#include "ir/reference/FoldConstants.h"

using namespace fusec;
using namespace fusec::reference;

class Fold : public EvaluationTest {
protected:
  /// Folds the op that makes %r.
  mlir::FailureOr<llvm::SmallVector<mlir::ElementsAttr>>
  fold(const std::string &body, const std::string &resultType) {
    ModelOp model = parse("fusec.model @m inputs [] outputs [\"r\"] {\n" +
                          body + "\nfusec.output %r : " + resultType + "\n}");
    EXPECT_TRUE(model) << messages;
    if (!model)
      return mlir::failure();
    return foldConstants(
        model.getBody().front().getTerminator()->getOperand(0).getDefiningOp(),
        budget, reason);
  }
  FoldBudget budget;
  std::string reason;
};

TEST_F(Fold, Arithmetic) {
  auto r = fold(R"(
    %a = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %s = fusec.splat 3.0 : f32 : tensor<f32>
    %b = fusec.broadcast %s [] : tensor<f32> to tensor<2xf32>
    %r = fusec.add %a, %b : tensor<2xf32>)",
                "tensor<2xf32>");
  ASSERT_TRUE(succeeded(r)) << reason;
  std::string error;
  auto tensor = Tensor::fromConstant((*r)[0], error);
  ASSERT_TRUE(succeeded(tensor)) << error;
  EXPECT_EQ(elements<float>(*tensor), (std::vector<float>{4, 5}));
}

TEST_F(Fold, NeverTraps) {
  auto r = fold(R"(
    %a = fusec.constant dense<[-9223372036854775808, 7]> : tensor<2xi64>
    %b = fusec.constant dense<[-1, 0]> : tensor<2xi64>
    %r = fusec.div %a, %b : tensor<2xi64>)",
                "tensor<2xi64>");
  ASSERT_TRUE(succeeded(r)) << reason;
  EXPECT_EQ(llvm::to_vector((*r)[0].getValues<int64_t>()),
            (llvm::SmallVector<int64_t>{INT64_MIN, 0}));
}

TEST_F(Fold, DeclinesWhatGrows) {
  EXPECT_TRUE(failed(fold(R"(
    %a = fusec.constant dense<1.0> : tensor<1000x1xf32>
    %b = fusec.constant dense<1.0> : tensor<1x1000xf32>
    %r = fusec.matmul %a, %b : tensor<1000x1xf32>, tensor<1x1000xf32> to tensor<1000x1000xf32>)",
                          "tensor<1000x1000xf32>")));
  EXPECT_NE(reason.find("takes more than"), std::string::npos) << reason;
  EXPECT_EQ(messages, "") << "declining is no error";
  EXPECT_TRUE(failed(fold(R"(
    %a = fusec.constant dense<1.0> : tensor<f32>
    %r = fusec.broadcast %a [] : tensor<f32> to tensor<8xf32>)",
                          "tensor<8xf32>")));
}

TEST_F(Fold, DeclinesHugeWork) {
  EXPECT_TRUE(failed(fold(R"(
    %a = fusec.constant dense<1.0> : tensor<100000x100000xf32>
    %r = fusec.matmul %a, %a : tensor<100000x100000xf32>, tensor<100000x100000xf32> to tensor<100000x100000xf32>)",
                          "tensor<100000x100000xf32>")));
  EXPECT_NE(reason.find("steps"), std::string::npos) << reason;
}

TEST_F(Fold, KeepsToTheBudget) {
  std::string add = R"(
    %a = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %r = fusec.add %a, %a : tensor<2xf32>)";
  // Two results of 8 bytes; both steps are of 2 elements and 16 bytes.
  budget = FoldBudget(16, 1000);
  EXPECT_TRUE(succeeded(fold(add, "tensor<2xf32>"))) << reason;
  EXPECT_TRUE(succeeded(fold(add, "tensor<2xf32>"))) << reason;
  EXPECT_FALSE(budget.isExceeded());
  EXPECT_TRUE(failed(fold(add, "tensor<2xf32>")));
  EXPECT_TRUE(budget.isExceeded());
  EXPECT_EQ(reason, "would take the constants that are computed when compiling "
                    "beyond 16 bytes");
  budget = FoldBudget(1000, 40);
  EXPECT_TRUE(succeeded(fold(add, "tensor<2xf32>"))) << reason;
  EXPECT_TRUE(failed(fold(add, "tensor<2xf32>")));
  EXPECT_EQ(reason, "would take the computation of constants beyond 40 steps");
}

TEST_F(Fold, BudgetGrowsWithTheModelsConstants) {
  ModelOp model = parse(R"(fusec.model @m inputs [] outputs ["r"] {
    %a = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %b = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %c = fusec.constant dense<[1, 2]> : tensor<2xi64>
    fusec.output %c : tensor<2xi64>
  })");
  ASSERT_TRUE(model) << messages;
  // Equal constants are the same bytes.
  budget.open(model);
  EXPECT_EQ(budget.getBytes(), FoldBudget::leastBytes + 8 * 24);
  EXPECT_EQ(budget.getWork(), FoldBudget::leastWork + 64 * 24);
}

TEST_F(Fold, KeepsFaults) {
  std::string text = R"(
    %a = fusec.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %i = fusec.constant dense<[0, 5]> : tensor<2xi64>
    %r = fusec.gather %a [-1] (%i) )";
  std::string types = " : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>";
  EXPECT_TRUE(failed(fold(text + "flag" + types, "tensor<2xf32>")));
  EXPECT_NE(reason.find("out of range"), std::string::npos) << reason;
  EXPECT_TRUE(succeeded(fold(text + "clamp" + types, "tensor<2xf32>")));
}

TEST_F(Fold, LargeResultsBecomeResources) {
  std::string values;
  for (int i = 0; i < 100; ++i)
    values += (i ? ", " : "") + std::to_string(i);
  auto r = fold("%a = fusec.constant dense<[" + values +
                    "]> : tensor<100xi32>\n%r = fusec.neg %a : tensor<100xi32>",
                "tensor<100xi32>");
  ASSERT_TRUE(succeeded(r)) << reason;
  EXPECT_TRUE(mlir::isa<mlir::DenseResourceElementsAttr>((*r)[0]));
  std::string error;
  auto data = getConstantData((*r)[0], error);
  ASSERT_TRUE(succeeded(data)) << error;
  EXPECT_EQ(reinterpret_cast<const int32_t *>(data->bytes.data())[99], -99);
}
