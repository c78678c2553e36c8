// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real models through the stages of the compiler: what each leaves behind is
// evaluated and compared with the imported model.

#include "ModelFiles.h"
#include "compiler/Pipelines.h"
#include "ir/reference/EvaluatePlan.h"

using namespace fusec;
using namespace fusec::reference;

namespace {

class Stages : public ModelFiles {};

/// Rewrites may round elsewhere; a mistake is far beyond it.
constexpr double tolerance = 2e-6;

TEST_P(Stages, KeepValues) {
  std::vector<Tensor> inputs;
  Tensor expected;
  ModelOp model = import();
  ASSERT_TRUE(model && read(inputs, expected)) << messages;
  auto symbolic = getSizes(model.getBody().getArgumentTypes()[0]);
  bool batched = symbolic[0].getKind() == ExprKind::Symbol;
  std::vector<std::vector<Tensor>> cases = {inputs};
  if (batched)
    for (int64_t batch : {0, 1, 7, 128})
      cases.push_back(repeat(model, inputs, batch));

  std::vector<Tensor> imported;
  for (const auto &arguments : cases) {
    auto result = evaluate(model, arguments);
    ASSERT_TRUE(succeeded(result)) << messages;
    imported.push_back(result->outputs[0]);
  }
  auto compare = [&](const char *stage, auto level) {
    for (size_t i = 0; i < cases.size(); ++i) {
      auto result = evaluate(level, cases[i]);
      ASSERT_TRUE(succeeded(result))
          << stage << ", case " << i << ": " << messages;
      ASSERT_EQ(result->outputs[0].getSizes(), imported[i].getSizes()) << stage;
      EXPECT_LE(getError(result->outputs[0], imported[i]), tolerance)
          << stage << ", case " << i;
    }
  };
  PipelineOptions options;
  options.targets = {"sm_80", "sm_90a"};
  ASSERT_TRUE(succeeded(runTensorStage(*module, options))) << messages;
  compare("tensor stage", *module->getOps<ModelOp>().begin());
  ASSERT_TRUE(succeeded(runProductStage(*module, options))) << messages;
  compare("product stage", *module->getOps<ModelOp>().begin());
  ASSERT_TRUE(succeeded(runFusionStage(*module, options))) << messages;
  compare("fusion stage", *module->getOps<ModelOp>().begin());
  ASSERT_TRUE(succeeded(runPlanStage(*module, options))) << messages;
  unsigned plans = 0;
  for (PlanOp plan : module->getOps<PlanOp>()) {
    ++plans;
    compare(plan.getSymName().str().c_str(), plan);
  }
  EXPECT_EQ(plans, 2u);
}

INSTANTIATE_TEST_SUITE_P(Exports, Stages,
                         ::testing::ValuesIn(findModels(".onnx")), getTestName);

} // namespace
