// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exports of real models, imported and evaluated, against the outputs that
// PyTorch computed. Beyond these, batches 0, 1 and 128 of the models with a
// named batch must run and repeat the rows that they share.

#include "EvaluationTest.h"
#include "frontends/onnx/Importer.h"
#include "tools/data/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>

using namespace fusec;
using namespace fusec::reference;

namespace {

/// Exports whose name ends so.
std::vector<std::string> findModels(const char *ending) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(FUSEC_MODELS, error), end; it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(ending))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class ModelFiles : public EvaluationTest, public ::testing::WithParamInterface<std::string> {
protected:
  /// The arrays beside the model: "output", and inputs "arr_<position>".
  bool read(std::vector<Tensor> &inputs, Tensor &output) {
    llvm::StringRef name = llvm::sys::path::filename(GetParam()).split('.').first;
    auto arrays = data::readNpz(std::string(FUSEC_MODELS) + "/" + name.str() + ".npz");
    if (!arrays) {
      ADD_FAILURE() << arrays.error();
      return false;
    }
    inputs.resize(arrays->size() - 1);
    for (const data::NamedTensor &array : *arrays) {
      const char *element = array.tensor.dtype == data::DType::F32 ? "f32" : "i64";
      Tensor tensor = Tensor::allocate(type(element), array.tensor.sizes);
      std::memcpy(tensor.getMutableData(), array.tensor.bytes.data(), tensor.getBytes().size());
      unsigned position;
      if (array.name == "output")
        output = tensor;
      else if (!llvm::StringRef(array.name).drop_front(4).getAsInteger(10, position))
        inputs.at(position) = tensor;
    }
    return true;
  }

  ModelOp import() {
    onnx::ProblemList problems;
    auto result = onnx::importOnnxFile(GetParam(), {}, context, problems);
    for (const onnx::Problem &problem : problems)
      ADD_FAILURE() << problem.str();
    if (failed(result))
      return nullptr;
    module = std::move(*result);
    return *module->getOps<ModelOp>().begin();
  }
};

/// |actual - expected| / |expected| over all elements.
double getError(const Tensor &actual, const Tensor &expected) {
  double difference = 0, norm = 0;
  auto a = actual.getElements<float>(), e = expected.getElements<float>();
  for (size_t i = 0; i < e.size(); ++i) {
    difference += std::pow(double(a[i]) - double(e[i]), 2);
    norm += std::pow(double(e[i]), 2);
  }
  return std::sqrt(difference / norm);
}

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
  // And the exact values lie as near.
  EvaluateOptions exact;
  exact.exact = true;
  auto doubles = evaluate(model, inputs, exact);
  ASSERT_TRUE(succeeded(doubles)) << messages;
  EXPECT_LT(getError(convert(doubles->outputs[0], type("f32")), expected), 1e-5);
  RecordProperty("error", std::to_string(error));
}

class BatchedFiles : public ModelFiles {};

TEST_P(BatchedFiles, OtherBatches) {
  std::vector<Tensor> inputs;
  Tensor expected;
  ModelOp model = import();
  ASSERT_TRUE(model && read(inputs, expected)) << messages;
  // An input whose first size is a name takes other batches.
  std::vector<bool> batched;
  for (mlir::Type argument : model.getBody().getArgumentTypes()) {
    auto sizes = getSizes(argument);
    batched.push_back(!sizes.empty() && sizes[0].getKind() == ExprKind::Symbol);
  }
  ASSERT_TRUE(llvm::is_contained(batched, true));
  for (int64_t batch : {0, 1, 128}) {
    std::vector<Tensor> repeated;
    for (auto [input, isBatched] : llvm::zip_equal(inputs, batched)) {
      if (!isBatched) {
        repeated.push_back(input);
        continue;
      }
      // Row i is row i modulo those that there are.
      llvm::SmallVector<int64_t> sizes(input.getSizes());
      int64_t rows = sizes[0];
      size_t rowBytes = input.getBytes().size() / rows;
      sizes[0] = batch;
      Tensor tensor = Tensor::allocate(input.getElementType(), sizes);
      for (int64_t row = 0; row < batch; ++row)
        std::memcpy(tensor.getMutableData() + row * rowBytes,
                    input.getBytes().data() + row % rows * rowBytes, rowBytes);
      repeated.push_back(tensor);
    }
    auto result = evaluate(model, repeated);
    ASSERT_TRUE(succeeded(result)) << "batch " << batch << ": " << messages;
    const Tensor &actual = result->outputs[0];
    ASSERT_EQ(actual.getSizes()[0], batch);
    int64_t rows = expected.getSizes()[0], width = expected.getElementCount() / rows;
    for (int64_t i = 0; i < actual.getElementCount(); ++i)
      ASSERT_NEAR(actual.getElements<float>()[i],
                  expected.getElements<float>()[i / width % rows * width + i % width], 1e-4)
          << "batch " << batch << ", element " << i;
  }
}

std::string getTestName(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = llvm::sys::path::stem(info.param).str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Exports, ModelFiles, ::testing::ValuesIn(findModels(".onnx")), getTestName);
INSTANTIATE_TEST_SUITE_P(Exports, BatchedFiles, ::testing::ValuesIn(findModels(".dynbatch.onnx")), getTestName);

} // namespace
