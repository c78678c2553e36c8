// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors from files, matched with what a model takes and gives.

#ifndef FUSEC_TOOLS_FUSEC_ARGUMENTS_H
#define FUSEC_TOOLS_FUSEC_ARGUMENTS_H

#include "compiler/Compiler.h"
#include "tools/data/Npy.h"

#include <map>

namespace fusec {

using NamedTensors = std::map<std::string, data::Tensor>;

/// An input or output; sizes of -1 depend on dimensions.
struct TensorType {
  std::string name;
  format::DType dtype;
  std::vector<int64_t> sizes;
  /// Of each size, in terms of dimensions.
  std::vector<std::string> sizeTexts;
};
struct Interface {
  std::vector<TensorType> inputs, outputs;
};

Interface getInterface(ModelOp model);
Interface getInterface(const format::Manifest &manifest);

/// "3x4xf32", or "batch x 4 x f32".
std::string toString(const TensorType &type);

/// "'x' (3x?xf32), 'y' (f32)", for messages.
std::string listNames(const std::vector<TensorType> &types);

/// The given tensor for each input, in order. Throws Failure on one that is
/// missing, unknown, or of another type.
std::vector<data::Tensor> matchInputs(const Interface &interface,
                                      NamedTensors given);

/// Arrays of one file that holds inputs and expected outputs: by their names;
/// "arr_N", as NumPy names what has none, is the N-th input; one array that is
/// left over is the only output. Throws Failure.
struct Sample {
  NamedTensors inputs, outputs;
};
Sample splitSample(const Interface &interface,
                   std::vector<data::NamedTensor> arrays);

/// For --const.
onnx::ConstantInput getConstantInput(const std::string &name,
                                     const data::Tensor &tensor);

mlir::Type getElementType(format::DType dtype, mlir::MLIRContext *context);

/// A tensor for which there must be memory; throws Failure.
data::Tensor allocateTensor(format::DType dtype, std::vector<int64_t> sizes);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_ARGUMENTS_H
