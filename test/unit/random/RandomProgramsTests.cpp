// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites against the reference, on random programs: bit for bit, except those
// that the design lets change values, which must stay within their rounding.

#include "compiler/Passes.h"
#include "ir/reference/Elements.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "test/unit/random/RandomProgram.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr uint64_t programs = 2000;

using AddPasses = void (*)(OpPassManager &);

struct Rewrite {
  const char *name;
  AddPasses addPasses;
  /// Relative to the largest element of the output; 0 where no bit may change.
  double tolerance;
  /// In how many of the programs something happens, at least.
  unsigned leastRewritten;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Empty where the outputs agree.
std::string compare(const reference::Tensor &expected,
                    const reference::Tensor &actual, double tolerance) {
  if (expected.getSizes() != actual.getSizes())
    return "sizes differ";
  auto wanted = reference::loadAll<double>(expected),
       got = reference::loadAll<double>(actual);
  double largest = 0;
  for (double value : wanted)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < wanted.size(); ++i) {
    bool same =
        wanted[i] == got[i] || (std::isnan(wanted[i]) && std::isnan(got[i]));
    if (!same &&
        !(std::fabs(wanted[i] - got[i]) <= tolerance * std::max(largest, 1.0)))
      return "element " + std::to_string(i) + ": expected " +
             std::to_string(wanted[i]) + ", got " + std::to_string(got[i]);
  }
  return "";
}

void addFolds(OpPassManager &model) {
  model.addPass(createCanonicalizerPass());
  model.addPass(createCSEPass());
}

class RandomPrograms : public ::testing::TestWithParam<Rewrite> {};

TEST_P(RandomPrograms, KeepTheirValues) {
  const Rewrite &rewrite = GetParam();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  unsigned rewritten = 0;
  for (uint64_t seed = 0; seed < programs; ++seed) {
    RandomProgram program(context, seed);
    std::string before = print(program.getModule());
    ASSERT_TRUE(succeeded(verify(program.getModule()))) << before;
    SmallVector<reference::Tensors> inputs, expected;
    for (int64_t size : {2, 1, 0, 5}) {
      inputs.push_back(program.createInputs(size));
      auto result = reference::evaluate(program.getModel(), inputs.back());
      ASSERT_TRUE(succeeded(result)) << before;
      expected.push_back(result->outputs);
    }
    // Dead code and folds are removed first, so that what is counted below was
    // done by the rewrite.
    std::string folded;
    for (AddPasses addPasses : {addFolds, rewrite.addPasses}) {
      folded = print(program.getModule());
      PassManager manager(&context);
      addPasses(manager.nest<ModelOp>());
      ASSERT_TRUE(succeeded(manager.run(program.getModule())))
          << "seed " << seed << "\n"
          << before;
    }
    rewritten += print(program.getModule()) != folded;
    for (auto [input, outputs] : llvm::zip_equal(inputs, expected)) {
      auto result = reference::evaluate(program.getModel(), input);
      ASSERT_TRUE(succeeded(result)) << before << print(program.getModule());
      for (auto [wanted, got] : llvm::zip_equal(outputs, result->outputs))
        ASSERT_EQ(compare(wanted, got, rewrite.tolerance), "")
            << "seed " << seed << "\n"
            << before << print(program.getModule());
    }
  }
  // A generator that never meets the patterns would test nothing.
  EXPECT_GE(rewritten, rewrite.leastRewritten);
}

INSTANTIATE_TEST_SUITE_P(
    Rewrites, RandomPrograms,
    ::testing::Values(
        Rewrite{"Nothing", [](OpPassManager &) {}, 0, 0},
        Rewrite{"FoldConstants",
                [](OpPassManager &m) { m.addPass(createFoldConstants()); }, 0,
                40},
        Rewrite{"SimplifyViews",
                [](OpPassManager &m) { m.addPass(createSimplifyViews()); }, 0,
                40},
        Rewrite{"GroupLookups",
                [](OpPassManager &m) { m.addPass(createGroupLookups()); }, 0,
                40},
        Rewrite{
            "RecognizeActivations",
            [](OpPassManager &m) { m.addPass(createRecognizeActivations()); },
            1e-5, 40},
        Rewrite{"FoldScales",
                [](OpPassManager &m) { m.addPass(createFoldScales()); }, 1e-5,
                40},
        Rewrite{"FormContractions",
                [](OpPassManager &m) { m.addPass(createFormContractions()); },
                1e-5, 40}),
    [](const auto &info) { return info.param.name; });
} // namespace
