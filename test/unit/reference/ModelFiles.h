// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real models of test/models: import, inputs, expected outputs.

#ifndef FUSEC_TEST_UNIT_REFERENCE_MODELFILES_H
#define FUSEC_TEST_UNIT_REFERENCE_MODELFILES_H

#include "EvaluationTest.h"
#include "frontends/onnx/Importer.h"
#include "tools/data/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>

namespace fusec::reference {

/// Exports whose name ends so.
inline std::vector<std::string> findModels(const char *ending) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(FUSEC_MODELS, error), end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(ending))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string
getTestName(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = llvm::sys::path::stem(info.param).str();
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// |actual - expected| / |expected| over all elements.
inline double getError(const Tensor &actual, const Tensor &expected) {
  double difference = 0, norm = 0;
  auto a = actual.getElements<float>(), e = expected.getElements<float>();
  for (size_t i = 0; i < e.size(); ++i) {
    difference += std::pow(double(a[i]) - double(e[i]), 2);
    norm += std::pow(double(e[i]), 2);
  }
  return norm == 0 ? difference : std::sqrt(difference / norm);
}

class ModelFiles : public EvaluationTest,
                   public ::testing::WithParamInterface<std::string> {
protected:
  /// The arrays beside the model: "output", and inputs "arr_<position>".
  bool read(std::vector<Tensor> &inputs, Tensor &output) {
    llvm::StringRef name =
        llvm::sys::path::filename(GetParam()).split('.').first;
    auto arrays =
        data::readNpz(std::string(FUSEC_MODELS) + "/" + name.str() + ".npz");
    if (!arrays) {
      ADD_FAILURE() << arrays.error();
      return false;
    }
    inputs.resize(arrays->size() - 1);
    for (const data::NamedTensor &array : *arrays) {
      const char *element =
          array.tensor.dtype == data::DType::F32 ? "f32" : "i64";
      Tensor tensor = Tensor::allocate(type(element), array.tensor.sizes);
      std::memcpy(tensor.getMutableData(), array.tensor.bytes.data(),
                  tensor.getBytes().size());
      unsigned position;
      if (array.name == "output")
        output = tensor;
      else if (!llvm::StringRef(array.name)
                    .drop_front(4)
                    .getAsInteger(10, position))
        inputs.at(position) = tensor;
    }
    return true;
  }

  ModelOp import() {
    ProblemList problems;
    auto result = onnx::importOnnxFile(GetParam(), {}, context, problems);
    for (const Problem &problem : problems)
      ADD_FAILURE() << problem.str();
    if (failed(result))
      return nullptr;
    module = std::move(*result);
    return *module->getOps<ModelOp>().begin();
  }

  /// The inputs for another batch: row i is row i modulo those that there are.
  /// Inputs without a named first size stay.
  std::vector<Tensor> repeat(ModelOp model, llvm::ArrayRef<Tensor> inputs,
                             int64_t batch) {
    std::vector<Tensor> repeated;
    for (auto [input, argument] :
         llvm::zip_equal(inputs, model.getBody().getArgumentTypes())) {
      auto symbolic = fusec::getSizes(argument);
      if (symbolic.empty() || symbolic[0].getKind() != ExprKind::Symbol) {
        repeated.push_back(input);
        continue;
      }
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
    return repeated;
  }
};

} // namespace fusec::reference

#endif // FUSEC_TEST_UNIT_REFERENCE_MODELFILES_H
