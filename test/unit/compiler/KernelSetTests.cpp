// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers that differ in the names of what they read and write, and in nothing
// else, share their kernels.

#include "compiler/Compiler.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

static constexpr llvm::StringLiteral layers = R"(
fusec.model @main inputs ["x", "first", "second", "third", "at"] outputs ["y"] {
^bb0(%x: tensor<64x256xf16>, %a: tensor<256x256xf16>, %b: tensor<256x256xf16>, %c: tensor<256x256xf16>, %d: tensor<256x128xf16>):
  %0 = fusec.matmul %x, %a : tensor<64x256xf16>, tensor<256x256xf16> to tensor<64x256xf16>
  %1 = fusec.relu %0 : tensor<64x256xf16>
  %2 = fusec.matmul %1, %b : tensor<64x256xf16>, tensor<256x256xf16> to tensor<64x256xf16>
  %3 = fusec.relu %2 : tensor<64x256xf16>
  %4 = fusec.matmul %3, %c : tensor<64x256xf16>, tensor<256x256xf16> to tensor<64x256xf16>
  %5 = fusec.relu %4 : tensor<64x256xf16>
  %6 = fusec.matmul %5, %d : tensor<64x256xf16>, tensor<256x128xf16> to tensor<64x128xf16>
  fusec.output %6 : tensor<64x128xf16>
}
)";

static SmallVector<size_t> getKernels(const std::vector<EmittedLaunch> &step) {
  SmallVector<size_t> kernels;
  for (const EmittedLaunch &launch : step)
    kernels.push_back(launch.kernel);
  return kernels;
}

TEST(KernelSet, layersThatDifferInNamesShareKernels) {
  CompileOptions options;
  options.targets = {"sm_80", "sm_90a"};
  auto compilation = llvm::cantFail(Compilation::parse(layers, options));
  llvm::cantFail(compilation->emit());
  for (const EmittedPlan &plan : compilation->getKernels().getPlans()) {
    ASSERT_EQ(plan.steps.size(), 4u);
    ASSERT_FALSE(plan.steps[1].empty());
    EXPECT_EQ(getKernels(plan.steps[1]), getKernels(plan.steps[2]));
    EXPECT_NE(getKernels(plan.steps[1]), getKernels(plan.steps[3]));
    // Each launches it with buffers of its own.
    for (auto [second, third] : llvm::zip_equal(plan.steps[1], plan.steps[2])) {
      ASSERT_EQ(second.source.params.size(), third.source.params.size());
      EXPECT_EQ(second.source.params[1].buffer, "second");
      EXPECT_EQ(third.source.params[1].buffer, "third");
    }
  }
}

TEST(KernelSet, symbolsAreUniqueWithinATarget) {
  CompileOptions options;
  options.targets = {"sm_80", "sm_90a"};
  auto compilation = llvm::cantFail(Compilation::parse(layers, options));
  llvm::cantFail(compilation->emit());
  std::set<std::pair<std::string, std::string>> symbols;
  for (const EmittedKernel &kernel : compilation->getKernels().getKernels()) {
    EXPECT_TRUE(symbols.insert({kernel.target, kernel.symbol}).second)
        << kernel.symbol;
    EXPECT_NE(kernel.text.find(" " + kernel.symbol + "("), std::string::npos);
  }
}
