// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies between matmuls: reductions over leading and middle axes, at odd
// and at even sizes, against the reference.

#include "compiler/Pipelines.h"
#include "ir/reference/Elements.h"
#include "mlir/Parser/Parser.h"
#include "test/host/HostCheck.h"
#include <random>

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr int64_t sizes[] = {1, 7, 13, 64, 127, 1000};

/// $A, $B and $C stand for sizes, $T for the element type.
struct Program {
  const char *name, *text;
};
constexpr Program programs[] = {{"leading", R"(inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>, %b: tensor<$Cx$T>):
  %s = fusec.reduce sum %x axes [0] : tensor<$Ax$Bx$Cx$T> to tensor<$Bx$Cx$T>
  %c = fusec.broadcast %b [1] : tensor<$Cx$T> to tensor<$Bx$Cx$T>
  %y = fusec.add %s, %c : tensor<$Bx$Cx$T>
  fusec.output %y : tensor<$Bx$Cx$T>
})"},
                                {"middle", R"(inputs ["x"] outputs ["y", "i"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %m = fusec.reduce max %x axes [1] : tensor<$Ax$Bx$Cx$T> to tensor<$Ax$Cx$T>
  %b = fusec.broadcast %m [0, 2] : tensor<$Ax$Cx$T> to tensor<$Ax$Bx$Cx$T>
  %y = fusec.sub %x, %b : tensor<$Ax$Bx$Cx$T>
  %i = fusec.arg_reduce min %x axis 1 : tensor<$Ax$Bx$Cx$T> to tensor<$Ax$Cxi64>
  fusec.output %y, %i : tensor<$Ax$Bx$Cx$T>, tensor<$Ax$Cxi64>
})"},
                                {"outer", R"(inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %y = fusec.reduce sum %x axes [0, 2] : tensor<$Ax$Bx$Cx$T> to tensor<$Bx$T>
  fusec.output %y : tensor<$Bx$T>
})"},
                                {"transposed", R"(inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %t = fusec.transpose %x [2, 1, 0] : tensor<$Ax$Bx$Cx$T> to tensor<$Cx$Bx$Ax$T>
  %y = fusec.reduce sum %t axes [1, 2] : tensor<$Cx$Bx$Ax$T> to tensor<$Cx$T>
  fusec.output %y : tensor<$Cx$T>
})"}};

std::string getText(const Program &program, ArrayRef<int64_t> abc,
                    StringRef type) {
  std::string text = std::string("fusec.model @main ") + program.text, result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    char word = text[++i];
    result += word == 'T' ? type.str() : std::to_string(abc[word - 'A']);
  }
  return result;
}

/// Small multiples of 1/4: sums are exact, and ties are ties.
reference::Tensors makeInputs(ModelOp model, std::mt19937 &random) {
  reference::Tensors inputs;
  for (BlockArgument argument : model.getBody().front().getArguments()) {
    SmallVector<int64_t> shape = llvm::map_to_vector(
        getSizes(argument), [](Expr e) { return e.getValue(); });
    auto tensor = reference::Tensor::allocate(getElementType(argument), shape);
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

/// Each program at every size in turn on each axis.
void compileAll(MLIRContext &context, KernelLibrary &library,
                std::vector<Compiled> &all) {
  PipelineOptions options;
  options.targets = {"sm_90a"};
  std::mt19937 random(1);
  for (const Program &program : programs)
    for (size_t i = 0; i < std::size(sizes); ++i)
      for (size_t axis = 0; axis < 3; ++axis) {
        int64_t abc[] = {4, 8, 16};
        abc[axis] = sizes[i];
        StringRef type = (i + axis) % 2 ? "f16" : "f32";
        Compiled &one = all.emplace_back();
        one.label = std::string(program.name) + " " + std::to_string(abc[0]) +
                    "x" + std::to_string(abc[1]) + "x" +
                    std::to_string(abc[2]) + " " + type.str();
        one.module =
            parseSourceString<ModuleOp>(getText(program, abc, type), &context);
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
        one.plan =
            std::make_unique<HostPlan>(*one.module->getOps<PlanOp>().begin(),
                                       *one.module->getOps<ModelOp>().begin());
        ASSERT_TRUE(succeeded(one.plan->emit(library))) << one.label;
      }
}

std::string compareAll(const reference::Tensors &wanted,
                       const reference::Tensors &got) {
  for (auto [w, g] : llvm::zip_equal(wanted, got))
    if (std::string text = compareWithReference(w, g); !text.empty())
      return "against the program: " + text;
  return "";
}

TEST(Streams, ComputeWhatTheProgramSays) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS);
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;
  std::vector<Compiled> all;
  ASSERT_NO_FATAL_FAILURE(compileAll(context, library, all));
  library.build();
  for (Compiled &one : all)
    EXPECT_EQ(checkPlan(*one.plan, library, one.inputs,
                        [&](const reference::Tensors &outputs) {
                          return compareAll(one.expected, outputs);
                        }),
              "")
        << one.label;
}
} // namespace
