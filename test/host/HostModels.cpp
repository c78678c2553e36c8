// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/HostModels.h"
#include "ir/reference/Elements.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

static reference::Tensors makeInputs(ModelOp model, NextValue next) {
  reference::Tensors inputs;
  for (BlockArgument argument : model.getBody().front().getArguments()) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(
        getSizes(argument), [](Expr e) { return e.getValue(); });
    Type type = getElementType(argument);
    auto tensor = reference::Tensor::allocate(type, sizes);
    std::vector<float> values(tensor.getElementCount());
    for (float &value : values)
      value = next(type);
    if (isa<FloatType>(type))
      reference::store<float>(tensor, 0, values);
    else
      reference::store<int64_t>(
          tensor, 0, std::vector<int64_t>(values.begin(), values.end()));
    inputs.push_back(tensor);
  }
  return inputs;
}

static std::string compareAll(const reference::Tensors &wanted,
                              const reference::Tensors &got) {
  for (auto [one, other] : llvm::zip_equal(wanted, got))
    if (std::string text = compareWithReference(one, other); !text.empty())
      return "against the program: " + text;
  return "";
}

void HostModels::prepare() {
  context.loadDialect<FusecDialect>();
  std::string error;
  ASSERT_TRUE(library.prepare(error)) << error;
}

void HostModels::add(std::string label, StringRef text, NextValue next,
                     llvm::function_ref<void(PlanOp)> inspect) {
  SCOPED_TRACE(label);
  Compiled &one = all.emplace_back();
  one.label = std::move(label);
  one.module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(one.module);
  auto getModel = [&] { return *one.module->getOps<ModelOp>().begin(); };
  one.inputs = makeInputs(getModel(), next);
  auto result = reference::evaluate(getModel(), one.inputs);
  ASSERT_TRUE(succeeded(result));
  one.expected = result->outputs;
  ASSERT_TRUE(succeeded(runTensorStage(*one.module, options)) &&
              succeeded(runProductStage(*one.module, options)) &&
              succeeded(runFusionStage(*one.module, options)) &&
              succeeded(runPlanStage(*one.module, options)));
  PlanOp plan = *one.module->getOps<PlanOp>().begin();
  inspect(plan);
  one.plan = std::make_unique<HostPlan>(plan, getModel());
  ASSERT_TRUE(succeeded(one.plan->emit(library)));
}

void HostModels::check() {
  library.build();
  for (Compiled &one : all)
    EXPECT_EQ(checkPlan(*one.plan, library, one.inputs,
                        [&](const reference::Tensors &outputs) {
                          return compareAll(one.expected, outputs);
                        }),
              "")
        << one.label;
}
