// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concats of many values, and of values that are concats themselves: what is
// stored slice by slice is what the program says, and no kernel has more text
// than it needs for a few pieces.

#include "compiler/Pipelines.h"
#include "compiler/kernels/Family.h"
#include "ir/reference/Elements.h"
#include "mlir/Parser/Parser.h"
#include "test/host/HostCheck.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
/// Bytes of text that the kernel of 32 lookups stays below.
constexpr size_t mostText = 20000;

std::string type(int64_t rows, int64_t columns) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "xf32>";
}

/// Joins the lines of a program that has `count` arguments of a type each.
struct ProgramText {
  std::string inputs, arguments, body, values, types;

  void argument(const std::string &name, const std::string &type) {
    const char *separator = inputs.empty() ? "" : ", ";
    inputs += separator + ("\"" + name + "\"");
    arguments += separator + ("%" + name) + ": " + type;
  }
  void piece(const std::string &value, const std::string &type) {
    const char *separator = values.empty() ? "" : ", ";
    values += separator + value;
    types += separator + type;
  }
  std::string finish(unsigned axis, const std::string &result) const {
    return "fusec.model @main inputs [" + inputs +
           "] outputs [\"y\"] {\n^bb0(" + arguments + "):\n" + body +
           "  %y = fusec.concat " + values + " axis " + std::to_string(axis) +
           " : " + types + " to " + result + "\n  fusec.output %y : " + result +
           "\n}\n";
  }
};

/// Of `count` inputs, some of them behind an op; all 4 wide, or of any width.
std::string concatOf(unsigned count, unsigned axis, bool isEqual) {
  ProgramText text;
  int64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    int64_t size = isEqual ? 4 : 1 + i * 7 % 13;
    std::string n = std::to_string(i),
                own = axis ? type(5, size) : type(size, 6);
    text.argument("x" + n, own);
    if (!isEqual && i % 3 == 0)
      text.body += "  %r" + n + " = fusec.relu %x" + n + " : " + own + "\n";
    text.piece((!isEqual && i % 3 == 0 ? "%r" : "%x") + n, own);
    sum += size;
  }
  return text.finish(axis, axis ? type(5, sum) : type(sum, 6));
}

/// Of `count` rows that are looked up by an index each.
std::string lookupsOf(unsigned count) {
  ProgramText text;
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i), table = type(3 + i % 5, 8);
    text.argument("t" + n, table);
    text.argument("i" + n, "tensor<5xi64>");
    text.body += "  %b" + n + " = fusec.broadcast %i" + n +
                 " [0] : tensor<5xi64> to tensor<5x8xi64>\n  %g" + n +
                 " = fusec.gather %t" + n + " [-1, 1] (%b" + n + ") zero : (" +
                 table + ", tensor<5x8xi64>) -> " + type(5, 8) + "\n";
    text.piece("%g" + n, type(5, 8));
  }
  return text.finish(1, type(5, 8 * count));
}

/// x beside itself, that beside itself, and so on, with an op in between and a
/// reshape before every third.
std::string doubled(unsigned times) {
  ProgramText text;
  text.argument("x", type(3, 2));
  std::string last = "%x";
  int64_t rows = 3, columns = 2;
  for (unsigned i = 0; i < times; ++i) {
    std::string n = std::to_string(i), from = type(rows, columns);
    if (i % 3 == 2) {
      std::string flat = "tensor<" + std::to_string(rows * columns) + "xf32>";
      text.body += "  %f" + n + " = fusec.collapse " + last +
                   " [[0, 1]] : " + from + " to " + flat + "\n";
      rows *= 2;
      columns /= 2;
      from = type(rows, columns);
      text.body += "  %e" + n + " = fusec.expand %f" + n +
                   " [[0, 1]] : " + flat + " to " + from + "\n";
      last = "%e" + n;
    }
    columns *= 2;
    text.body += "  %c" + n + " = fusec.concat " + last + ", " + last +
                 " axis 1 : " + from + ", " + from + " to " +
                 type(rows, columns) + "\n";
    last = "%c" + n;
  }
  text.piece(last, type(rows, columns));
  text.piece(last, type(rows, columns));
  return text.finish(1, type(rows, 2 * columns));
}

reference::Tensors makeInputs(ModelOp model) {
  reference::Tensors inputs;
  int64_t next = 0;
  for (BlockArgument argument : model.getBody().front().getArguments()) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        getSizes(argument), [](Expr e) { return e.getValue(); });
    auto tensor = reference::Tensor::allocate(getElementType(argument), sizes);
    int64_t count = tensor.getElementCount();
    if (getElementType(argument).isF32()) {
      std::vector<float> values(count);
      for (float &value : values)
        value = ++next % 1000 - 400;
      reference::store<float>(tensor, 0, values);
    } else {
      std::vector<int64_t> values(count);
      for (int64_t &value : values)
        value = ++next % 11 - 3;
      reference::store<int64_t>(tensor, 0, values);
    }
    inputs.push_back(tensor);
  }
  return inputs;
}

struct Case {
  const char *name;
  std::string text;
  unsigned mostSteps;
};

TEST(WideConcats, AreStoredSliceBySlice) {
  std::vector<Case> cases = {
      {"equal", concatOf(96, 1, true), 3},
      {"rows", concatOf(96, 0, true), 3},
      {"unequal", concatOf(70, 1, false), 3},
      {"unequal rows", concatOf(70, 0, false), 3},
      {"few", concatOf(32, 1, false), 1},
      {"lookups", lookupsOf(64), 2},
      {"doubled", doubled(12), 12},
  };
  PipelineOptions options;
  options.targets = {"ptx"};
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, FUSEC_HOST_JOBS);
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;

  struct Compiled {
    OwningOpRef<ModuleOp> module;
    reference::Tensors inputs, expected;
    std::unique_ptr<HostPlan> plan;
  };
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
    unsigned steps = 0;
    for (auto step : plan.getOps<StepOp>()) {
      ++steps;
      auto kernel = emitKernel(step, cast<VariantAttr>(step.getVariants()[0]),
                               KernelLibrary::symbol);
      ASSERT_TRUE(succeeded(kernel));
      EXPECT_LT(kernel->text.size(), mostText) << StepOp(step).getName().str();
    }
    EXPECT_LE(steps, test.mostSteps);
    one.plan = std::make_unique<HostPlan>(
        plan, *one.module->getOps<ModelOp>().begin());
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
} // namespace
