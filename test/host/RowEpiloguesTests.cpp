// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose rows are reduced in their epilogue, at sizes that no tile
// divides, against the reference.

#include "compiler/CompileError.h"
#include "compiler/Pipelines.h"
#include "ir/reference/Elements.h"
#include "mlir/Parser/Parser.h"
#include "test/host/HostCheck.h"
#include "llvm/ADT/StringExtras.h"
#include <random>

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr int64_t rows[] = {1, 7, 13, 127, 1000},
                  columns[] = {1, 7, 13, 64, 100, 128, 256},
                  depths[] = {1, 13, 127};

/// $M, $N and $K stand for sizes, $T for the element type. In all, %l is the
/// product and its bias.
struct Program {
  const char *name, *header, *body;
};
constexpr Program programs[] = {
    {"softmax", R"(outputs ["y"])", R"(
  %m = fusec.reduce max %l axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %0 = fusec.broadcast %m [0] : tensor<$Mx$T> to tensor<$Mx$Nx$T>
  %1 = fusec.sub %l, %0 : tensor<$Mx$Nx$T>
  %2 = fusec.exp %1 : tensor<$Mx$Nx$T>
  %s = fusec.reduce sum %2 axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %3 = fusec.broadcast %s [0] : tensor<$Mx$T> to tensor<$Mx$Nx$T>
  %y = fusec.div %2, %3 : tensor<$Mx$Nx$T>
  fusec.output %y : tensor<$Mx$Nx$T>)"},
    // Three results of each row, one of them an index, and one of each point.
    {"places", R"(outputs ["l", "i", "t"])", R"(
  %i = fusec.arg_reduce max %l axis 1 : tensor<$Mx$Nx$T> to tensor<$Mxi64>
  %s = fusec.reduce sum %l axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %t = fusec.relu %s : tensor<$Mx$T>
  fusec.output %l, %i, %t : tensor<$Mx$Nx$T>, tensor<$Mxi64>, tensor<$Mx$T>)"},
    // The reduction is of a value with other dimensions.
    {"regrouped", R"(outputs ["y"])", R"(
  %0 = fusec.expand %l [[0, 1], [2]] : tensor<$Mx$Nx$T> to tensor<1x$Mx$Nx$T>
  %s = fusec.reduce min %0 axes [2] : tensor<1x$Mx$Nx$T> to tensor<1x$Mx$T>
  %1 = fusec.broadcast %s [0, 1] : tensor<1x$Mx$T> to tensor<1x$Mx$Nx$T>
  %y = fusec.sub %0, %1 : tensor<1x$Mx$Nx$T>
  fusec.output %y : tensor<1x$Mx$Nx$T>)"}};

std::string getText(const Program &program, int64_t m, int64_t n, int64_t k,
                    StringRef type) {
  std::string text = "fusec.model @main inputs [\"x\", \"w\", \"b\"] " +
                     std::string(program.header) + R"( {
^bb0(%x: tensor<$Mx$Kx$T>, %w: tensor<$Kx$Nx$T>, %b: tensor<$Nx$T>):
  %p = fusec.matmul %x, %w : tensor<$Mx$Kx$T>, tensor<$Kx$Nx$T> to tensor<$Mx$Nx$T>
  %c = fusec.broadcast %b [1] : tensor<$Nx$T> to tensor<$Mx$Nx$T>
  %l = fusec.add %p, %c : tensor<$Mx$Nx$T>)" +
                     program.body + "\n}\n";
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    char word = text[++i];
    result += word == 'T'   ? type.str()
              : word == 'M' ? std::to_string(m)
              : word == 'N' ? std::to_string(n)
                            : std::to_string(k);
  }
  return result;
}

/// Small multiples of 1/4: sums of products are exact, and ties are ties.
reference::Tensors makeInputs(ModelOp model, std::mt19937 &random) {
  reference::Tensors inputs;
  for (BlockArgument argument : model.getBody().front().getArguments()) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        getSizes(argument), [](Expr e) { return e.getValue(); });
    auto tensor = reference::Tensor::allocate(getElementType(argument), sizes);
    std::vector<float> values(tensor.getElementCount());
    for (float &value : values)
      value = (int(random() % 17) - 8) / 4.0f;
    reference::store<float>(tensor, 0, values);
    inputs.push_back(tensor);
  }
  return inputs;
}

struct Compiled {
  std::string label;
  OwningOpRef<ModuleOp> module;
  reference::Tensors inputs, expected;
  std::unique_ptr<HostPlan> plan;
};

class RowEpilogues : public ::testing::TestWithParam<const char *> {};

TEST_P(RowEpilogues, ComputeWhatTheProgramSays) {
  PipelineOptions options;
  options.targets = {GetParam()};
  options.joinAlways = true;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS);
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;

  std::vector<Compiled> all;
  std::mt19937 random(1);
  unsigned joined = 0;
  for (const Program &program : programs)
    for (int64_t m : rows)
      for (int64_t n : columns) {
        size_t index = all.size();
        int64_t k = depths[index % std::size(depths)];
        StringRef type = index % 2 ? "f16" : "f32";
        Compiled &one = all.emplace_back();
        one.label = std::string(program.name) + " " + std::to_string(m) + "x" +
                    std::to_string(n) + "x" + std::to_string(k) + " " +
                    type.str();
        one.module = parseSourceString<ModuleOp>(
            getText(program, m, n, k, type), &context);
        ASSERT_TRUE(one.module) << one.label;
        ModelOp model = *one.module->getOps<ModelOp>().begin();
        one.inputs = makeInputs(model, random);
        auto result = reference::evaluate(model, one.inputs);
        ASSERT_TRUE(succeeded(result)) << one.label;
        one.expected = result->outputs;
        ASSERT_TRUE(succeeded(runTensorStage(*one.module, options)) &&
                    succeeded(runProductStage(*one.module, options)) &&
                    succeeded(runFusionStage(*one.module, options)) &&
                    succeeded(runPlanStage(*one.module, options)))
            << one.label;
        PlanOp plan = *one.module->getOps<PlanOp>().begin();
        auto steps = plan.getOps<StepOp>();
        joined += std::distance(steps.begin(), steps.end()) == 1;
        one.plan = std::make_unique<HostPlan>(
            plan, *one.module->getOps<ModelOp>().begin());
        ASSERT_TRUE(succeeded(one.plan->emit(library))) << one.label;
      }
  library.build();
  EXPECT_EQ(joined, all.size());
  for (Compiled &one : all)
    EXPECT_EQ(checkPlan(*one.plan, library, one.inputs,
                        [&](const reference::Tensors &outputs) {
                          for (auto [wanted, got] :
                               llvm::zip_equal(one.expected, outputs))
                            if (std::string text =
                                    compareWithReference(wanted, got);
                                !text.empty())
                              return "against the program: " + text;
                          return std::string();
                        }),
              "")
        << one.label;
}

INSTANTIATE_TEST_SUITE_P(Targets, RowEpilogues,
                         ::testing::Values("sm_90a", "ptx"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
} // namespace
