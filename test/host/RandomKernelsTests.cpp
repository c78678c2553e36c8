// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of random programs against the reference, before and after all
// passes.

#include "compiler/CompileError.h"
#include "compiler/Pipelines.h"
#include "test/host/HostCheck.h"
#include "test/unit/random/RandomProgram.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr uint64_t programs = 200;
/// A quotient of an index that is below zero before the piece of its concat.
constexpr uint64_t indexBelowZero = 2024;
/// The named dimension: empty, one, odd, and enough for every kind of variant.
constexpr int64_t sizes[] = {0, 1, 5, 64, 130};

struct Form {
  const char *name;
  bool fuse;
  Numerics numerics;
  const char *target;
  /// The first program and the step to the next: each is met fused, and in one
  /// of the other forms.
  uint64_t first, step;
};

struct Compiled {
  explicit Compiled(MLIRContext &context, uint64_t seed)
      : program(context, seed) {}
  RandomProgram program;
  std::vector<reference::Tensors> inputs, expected;
  std::unique_ptr<HostPlan> plan;
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

class RandomKernels : public ::testing::TestWithParam<Form> {};

TEST_P(RandomKernels, ComputeWhatTheProgramSays) {
  PipelineOptions options;
  options.targets = {GetParam().target};
  options.fuse = GetParam().fuse;
  options.numerics = GetParam().numerics;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS);
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;

  std::vector<std::unique_ptr<Compiled>> all;
  std::vector<uint64_t> seeds;
  for (uint64_t seed = GetParam().first; seed < programs;
       seed += GetParam().step)
    seeds.push_back(seed);
  seeds.push_back(indexBelowZero);
  for (uint64_t seed : seeds) {
    Compiled &one =
        *all.emplace_back(std::make_unique<Compiled>(context, seed));
    for (int64_t size : sizes) {
      one.inputs.push_back(one.program.createInputs(size));
      auto result =
          reference::evaluate(one.program.getModel(), one.inputs.back());
      ASSERT_TRUE(succeeded(result)) << print(one.program.getModule());
      one.expected.push_back(result->outputs);
    }
    ModuleOp module = one.program.getModule();
    std::string before = print(module);
    DiagnosticCollector diagnostics(context);
    bool good = succeeded(runTensorStage(module, options)) &&
                succeeded(runProductStage(module, options)) &&
                succeeded(runFusionStage(module, options)) &&
                succeeded(runPlanStage(module, options));
    if (good) {
      one.plan = std::make_unique<HostPlan>(*module.getOps<PlanOp>().begin(),
                                            *module.getOps<ModelOp>().begin());
      good = succeeded(one.plan->emit(library));
    }
    if (!good) {
      ADD_FAILURE() << "seed " << seed << ": "
                    << llvm::toString(
                           diagnostics.take(ErrorKind::Internal, "compilation"))
                    << "\n"
                    << before;
      one.plan.reset();
    }
  }
  library.build();
  for (auto [seed, one] : llvm::zip_equal(seeds, all))
    for (size_t i = 0; one->plan && i < std::size(sizes); ++i) {
      std::string difference = checkPlan(
          *one->plan, library, one->inputs[i],
          [&](const reference::Tensors &outputs) {
            for (auto [wanted, got] :
                 llvm::zip_equal(one->expected[i], outputs))
              if (std::string text = compareWithReference(wanted, got);
                  !text.empty())
                return "against the program: " + text;
            return std::string();
          });
      EXPECT_EQ(difference, "") << "seed " << seed << ", size " << sizes[i];
    }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, RandomKernels,
    ::testing::Values(Form{"Fused", true, Numerics::Default, "sm_90a", 0, 1},
                      Form{"Unfused", false, Numerics::Default, "sm_90a", 0, 2},
                      Form{"Portable", true, Numerics::Onnx, "ptx", 1, 2}),
    [](const auto &info) { return info.param.name; });
} // namespace
