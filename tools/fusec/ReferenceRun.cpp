// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ReferenceRun.h"
#include "tools/fusec/Failure.h"

using namespace mlir;

namespace fusec {

static reference::Tensor toReference(const data::Tensor &tensor, MLIRContext *context) {
  return reference::Tensor::view(
      getElementType(tensor.dtype, context), tensor.sizes,
      {reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()});
}

std::vector<data::Tensor> runReference(ModelOp model, const std::vector<data::Tensor> &inputs,
                                       const reference::EvaluateOptions &options,
                                       std::map<std::string, int64_t> dims) {
  MLIRContext *context = model.getContext();
  DiagnosticCollector diagnostics(*context);
  SmallVector<reference::Tensor> arguments;
  for (const data::Tensor &input : inputs)
    arguments.push_back(toReference(input, context));
  FailureOr<reference::Evaluation> evaluation =
      reference::evaluate(model, arguments, options, reference::Dims(std::move(dims)));
  if (failed(evaluation))
    fail(ExitCode::Input,
         llvm::toString(diagnostics.take(ErrorKind::Input, "evaluation by the reference")));
  std::vector<data::Tensor> outputs;
  for (const reference::Tensor &output : evaluation->outputs) {
    ArrayRef<int64_t> sizes = output.getSizes();
    outputs.push_back(allocateTensor(*convertElementType(output.getElementType()),
                                     {sizes.begin(), sizes.end()}));
    if (!output.getBytes().empty())
      memcpy(outputs.back().bytes.data(), output.getBytes().data(), output.getBytes().size());
  }
  return outputs;
}

} // namespace fusec
