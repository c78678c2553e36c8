// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of random programs: each has kernels, and evaluates to what its program
// says. FUSEC_RANDOM_PROGRAMS="FIRST COUNT" takes others than the first few.

#include "compiler/CompileError.h"
#include "compiler/Pipelines.h"
#include "compiler/bundle/KernelSet.h"
#include "ir/reference/EvaluatePlan.h"
#include "test/host/HostCheck.h"
#include "test/unit/random/RandomProgram.h"

#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;
using namespace fusec;

namespace {
/// The named dimension.
constexpr int64_t planSizes[] = {0, 1, 5};

/// A form for each seed, so that all of them are met.
PipelineOptions getOptions(uint64_t seed) {
  static const char *const targets[] = {"sm_90a", "sm_80", "ptx"};
  PipelineOptions options;
  options.targets = {targets[seed % 3]};
  options.fuse = seed % 8 != 0;
  options.joinAlways = seed % 5 == 0;
  return options;
}

/// Empty, or what went wrong.
std::string check(uint64_t seed) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  RandomProgram program(context, seed);
  std::vector<reference::Tensors> inputs, expected;
  for (int64_t size : planSizes) {
    inputs.push_back(program.createInputs(size));
    auto result = reference::evaluate(program.getModel(), inputs.back());
    if (failed(result))
      return "the program cannot be evaluated";
    expected.push_back(result->outputs);
  }
  ModuleOp module = program.getModule();
  PipelineOptions options = getOptions(seed);
  DiagnosticCollector diagnostics(context);
  KernelSet kernels;
  if (failed(runTensorStage(module, options)) ||
      failed(runProductStage(module, options)) ||
      failed(runFusionStage(module, options)) ||
      failed(runPlanStage(module, options)) || failed(kernels.emit(module)))
    return llvm::toString(diagnostics.take(ErrorKind::Internal, "compilation"));
  for (auto [size, tensors, wanted] :
       llvm::zip_equal(planSizes, inputs, expected)) {
    auto result =
        reference::evaluate(*module.getOps<PlanOp>().begin(), tensors);
    if (failed(result))
      return llvm::toString(diagnostics.take(ErrorKind::Internal, "the plan"));
    for (auto [one, other] : llvm::zip_equal(wanted, result->outputs))
      if (std::string text = compareWithReference(one, other); !text.empty())
        return "size " + std::to_string(size) + ": " + text;
  }
  return "";
}

TEST(RandomPlans, AreOfTheirPrograms) {
  uint64_t first = 0, count = 500;
  if (const char *wanted = std::getenv("FUSEC_RANDOM_PROGRAMS"))
    std::istringstream(wanted) >> first >> count;
  for (uint64_t seed = first; seed < first + count; ++seed)
    EXPECT_EQ(check(seed), "") << "seed " << seed;
}
} // namespace
