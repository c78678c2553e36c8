// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exports of real models, imported and evaluated, against the outputs that
// PyTorch computed; and on other batches, where rows must repeat.

#include "ModelFiles.h"

using namespace fusec;
using namespace fusec::reference;

namespace {

class BatchedFiles : public ModelFiles {};

TEST_P(ModelFiles, AgreesWithPyTorch) {
  std::vector<Tensor> inputs;
  Tensor expected;
  ModelOp model = import();
  ASSERT_TRUE(model && read(inputs, expected)) << messages;
  auto result = evaluate(model, inputs);
  ASSERT_TRUE(succeeded(result)) << messages;
  ASSERT_EQ(result->outputs.size(), 1u);
  EXPECT_EQ(result->outputs[0].getSizes(), expected.getSizes());
  EXPECT_EQ(result->faults, 0);
  double error = getError(result->outputs[0], expected);
  EXPECT_LT(error, 1e-5);
  RecordProperty("error", std::to_string(error));
  // And the exact values lie as near.
  EvaluateOptions exact;
  exact.exact = true;
  auto doubles = evaluate(model, inputs, exact);
  ASSERT_TRUE(succeeded(doubles)) << messages;
  EXPECT_LT(getError(convert(doubles->outputs[0], type("f32")), expected),
            1e-5);
}

TEST_P(BatchedFiles, OtherBatches) {
  std::vector<Tensor> inputs;
  Tensor expected;
  ModelOp model = import();
  ASSERT_TRUE(model && read(inputs, expected)) << messages;
  for (int64_t batch : {0, 1, 128}) {
    auto result = evaluate(model, repeat(model, inputs, batch));
    ASSERT_TRUE(succeeded(result)) << "batch " << batch << ": " << messages;
    const Tensor &actual = result->outputs[0];
    ASSERT_EQ(actual.getSizes()[0], batch);
    int64_t rows = expected.getSizes()[0],
            width = expected.getElementCount() / rows;
    for (int64_t i = 0; i < actual.getElementCount(); ++i)
      ASSERT_NEAR(
          actual.getElements<float>()[i],
          expected.getElements<float>()[i / width % rows * width + i % width],
          1e-4)
          << "batch " << batch << ", element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Exports, ModelFiles,
                         ::testing::ValuesIn(findModels(".onnx")), getTestName);
INSTANTIATE_TEST_SUITE_P(Exports, BatchedFiles,
                         ::testing::ValuesIn(findModels(".dynbatch.onnx")),
                         getTestName);

} // namespace
