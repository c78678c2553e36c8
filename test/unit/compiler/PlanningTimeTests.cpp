// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models whose values are reached along more paths than anyone could follow
// are planned all the same.

#include "compiler/Compiler.h"
#include "compiler/transforms/adapters/MarkAdapters.h"
#include "gtest/gtest.h"

using namespace fusec;

/// 60 ops of which each reads the one before twice, from %v0 to %v60: as many
/// as 2^60 paths lead to the first.
static std::string repeatOnPairs(const std::string &op,
                                 const std::string &type) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    std::string before = "%v" + std::to_string(i);
    text += "  %v" + std::to_string(i + 1) + " = fusec." + op + " " + before +
            ", " + before + " : " + type + "\n";
  }
  return text;
}

TEST(PlanningTime, doesNotGrowWithPaths) {
  std::string text = R"(fusec.model @main inputs ["a", "b", "w"] outputs ["y"] {
^bb0(%v0: tensor<8x64xf32>, %b: tensor<8x64xf32>, %w: tensor<128x16xf32>):
)";
  text += repeatOnPairs("mul", "tensor<8x64xf32>");
  text +=
      R"(  %c = fusec.concat %v60, %b axis 1 : tensor<8x64xf32>, tensor<8x64xf32> to tensor<8x128xf32>
  %y = fusec.matmul %c, %w : tensor<8x128xf32>, tensor<128x16xf32> to tensor<8x16xf32>
  fusec.output %y : tensor<8x16xf32>
})";
  CompileOptions options;
  options.targets = {"sm_90a"};
  auto compilation = llvm::cantFail(Compilation::parse(text, options));
  llvm::cantFail(compilation->emit());
  EXPECT_EQ(compilation->getKernels().getPlans().size(), 1u);
}

/// What an update of half the rank or more is added to is looked through.
TEST(PlanningTime, doesNotGrowWithPathsOfSums) {
  std::string text = R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%v0: tensor<8x16xf32>):
  %a = fusec.constant dense<1.0> : tensor<16x10xf32>
  %b = fusec.constant dense<1.0> : tensor<10x16xf32>
  %d = fusec.matmul %v0, %a : tensor<8x16xf32>, tensor<16x10xf32> to tensor<8x10xf32>
  %u = fusec.matmul %d, %b : tensor<8x10xf32>, tensor<10x16xf32> to tensor<8x16xf32>
)";
  text += repeatOnPairs("add", "tensor<8x16xf32>");
  text += R"(  %y = fusec.add %v60, %u : tensor<8x16xf32>
  fusec.output %y : tensor<8x16xf32>
})";
  auto compilation = llvm::cantFail(Compilation::parse(text, {}));
  EXPECT_TRUE(findLowRankUpdates(compilation->getModel()).empty());
}
