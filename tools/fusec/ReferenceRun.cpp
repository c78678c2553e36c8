// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ReferenceRun.h"
#include "compiler/bundle/ConvertExpr.h"
#include "tools/fusec/Failure.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace fusec {

reference::Tensor toReference(const data::Tensor &tensor,
                              MLIRContext *context) {
  return reference::Tensor::view(
      getElementType(tensor.dtype, context), tensor.sizes,
      {reinterpret_cast<const char *>(tensor.bytes.data()),
       tensor.bytes.size()});
}

static std::vector<data::Tensor>
run(Operation *program, const std::vector<data::Tensor> &inputs,
    llvm::function_ref<
        FailureOr<reference::Evaluation>(ArrayRef<reference::Tensor>)>
        evaluate,
    int64_t *outside = nullptr) {
  MLIRContext *context = program->getContext();
  // What is wrong are the inputs; the program says nothing of them.
  bool printsOps = context->shouldPrintOpOnDiagnostic();
  context->printOpOnDiagnostic(false);
  llvm::scope_exit restore([&] { context->printOpOnDiagnostic(printsOps); });
  DiagnosticCollector diagnostics(*context);
  SmallVector<reference::Tensor> arguments;
  for (const data::Tensor &input : inputs)
    arguments.push_back(toReference(input, context));
  FailureOr<reference::Evaluation> evaluation = evaluate(arguments);
  if (failed(evaluation))
    fail(ExitCode::Input,
         llvm::toString(diagnostics.take(ErrorKind::Input,
                                         "evaluation by the reference")));
  if (outside)
    *outside = evaluation->outside;
  std::vector<data::Tensor> outputs;
  for (const reference::Tensor &output : evaluation->outputs)
    outputs.push_back(fromReference(output));
  return outputs;
}

data::Tensor fromReference(const reference::Tensor &tensor) {
  ArrayRef<int64_t> sizes = tensor.getSizes();
  data::Tensor result =
      allocateTensor(*convertElementType(tensor.getElementType()),
                     {sizes.begin(), sizes.end()});
  if (!tensor.getBytes().empty())
    memcpy(result.bytes.data(), tensor.getBytes().data(),
           tensor.getBytes().size());
  return result;
}

std::vector<data::Tensor>
runReference(ModelOp model, const std::vector<data::Tensor> &inputs,
             const reference::EvaluateOptions &options,
             std::map<std::string, int64_t> dims, int64_t *outside) {
  return run(
      model, inputs,
      [&](ArrayRef<reference::Tensor> arguments) {
        return reference::evaluate(model, arguments, options,
                                   reference::Dims(std::move(dims)));
      },
      outside);
}

std::vector<data::Tensor>
runReference(PlanOp plan, const std::vector<data::Tensor> &inputs) {
  return run(plan, inputs, [&](ArrayRef<reference::Tensor> arguments) {
    return reference::evaluate(plan, arguments);
  });
}

} // namespace fusec
