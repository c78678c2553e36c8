// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose K is split: each k counts once, whichever kernel sums its
// range and however long the last range is. Summands are small integers, so
// that every order of additions has the same bits.

#include "compiler/Pipelines.h"
#include "ir/reference/Elements.h"
#include "mlir/Parser/Parser.h"
#include "test/host/HostCheck.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
/// x times w, whose rows lie along N, then rectified.
std::string plain(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}>):
  %0 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.relu %0 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// The same with rows of the weight along K, as PyTorch has them, and a bias.
std::string transposed(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w", "b"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{2}x{1}x{3}>, %b: tensor<{2}x{3}>):
  %t = fusec.transpose %w [1, 0] : tensor<{2}x{1}x{3}> to tensor<{1}x{2}x{3}>
  %0 = fusec.matmul %x, %t : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.broadcast %b [1] : tensor<{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.add %0, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// Two products of one left operand.
std::string gated(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "v", "w"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %v: tensor<{1}x{2}x{3}>, %w: tensor<{1}x{2}x{3}>):
  %0 = fusec.matmul %x, %v : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %2 = fusec.relu %0 : tensor<{0}x{2}x{3}>
  %y = fusec.sub %2, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// A second segment that is shorter than a range, and lies in one of them.
std::string updated(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w", "t", "u"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}>, %t: tensor<{0}x20x{3}>, %u: tensor<20x{2}x{3}>):
  %0 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.matmul %t, %u : tensor<{0}x20x{3}>, tensor<20x{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.add %0, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

reference::Tensors makeInputs(ModelOp model) {
  reference::Tensors inputs;
  int64_t next = 0;
  for (BlockArgument argument : model.getBody().front().getArguments()) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        getSizes(argument), [](Expr e) { return e.getValue(); });
    auto tensor = reference::Tensor::allocate(getElementType(argument), sizes);
    std::vector<float> values(tensor.getElementCount());
    for (float &value : values)
      value = ++next * 7919 % 104729 % 5 - 2;
    reference::store<float>(tensor, 0, values);
    inputs.push_back(tensor);
  }
  return inputs;
}

struct Case {
  std::string name, text;
};

struct Compiled {
  OwningOpRef<ModuleOp> module;
  reference::Tensors inputs, expected;
  std::unique_ptr<HostPlan> plan;
};

bool isSplit(PlanOp plan) {
  return llvm::any_of(plan.getOps<StepOp>(), [](StepOp step) {
    auto products = step.getBody().front().getOps<ContractionOp>();
    return llvm::any_of(products,
                        [](ContractionOp op) { return !!op.getRanges(); });
  });
}

class LongProducts : public testing::TestWithParam<const char *> {};

TEST_P(LongProducts, CountEachKOnce) {
  std::vector<Case> cases;
  auto add = [&](const char *form, std::string text) {
    cases.push_back({form + std::to_string(cases.size()), std::move(text)});
  };
  for (const char *type : {"f16", "f32"}) {
    add("plain", plain(1, 4096, 24, type));
    add("plain", plain(127, 2003, 8, type));
    add("plain", plain(13, 2088, 24, type));
    add("transposed", transposed(7, 4099, 16, type));
    add("transposed", transposed(13, 4104, 1, type));
    add("gated", gated(13, 2056, 16, type));
    add("updated", updated(7, 2050, 16, type));
  }
  PipelineOptions options;
  options.targets = {GetParam()};
  options.joinAlways = true;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS);
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;
  std::vector<Compiled> all(cases.size());
  for (auto [one, test] : llvm::zip_equal(all, cases)) {
    SCOPED_TRACE(test.name);
    one.module = parseSourceString<ModuleOp>(test.text, &context);
    ASSERT_TRUE(one.module);
    ModelOp model = *one.module->getOps<ModelOp>().begin();
    one.inputs = makeInputs(model);
    auto result = reference::evaluate(model, one.inputs);
    ASSERT_TRUE(succeeded(result));
    one.expected = result->outputs;
    ASSERT_TRUE(succeeded(runTensorStage(*one.module, options)) &&
                succeeded(runProductStage(*one.module, options)) &&
                succeeded(runFusionStage(*one.module, options)) &&
                succeeded(runPlanStage(*one.module, options)));
    PlanOp plan = *one.module->getOps<PlanOp>().begin();
    EXPECT_TRUE(isSplit(plan));
    one.plan = std::make_unique<HostPlan>(plan, model);
    ASSERT_TRUE(succeeded(one.plan->emit(library)));
  }
  library.build();
  for (auto [one, test] : llvm::zip_equal(all, cases)) {
    const reference::Tensors &expected = one.expected;
    EXPECT_EQ(checkPlan(*one.plan, library, one.inputs,
                        [&](const reference::Tensors &outputs) {
                          return compareWithReference(expected[0], outputs[0]);
                        }),
              "")
        << test.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, LongProducts,
                         testing::Values("sm_90a", "sm_80", "ptx"));
} // namespace
