// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/onnx/Verdict.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Failure.h"
#include "llvm/Support/FormatVariadic.h"

namespace fusec {

Verdict failed(std::string message) { return {"fail", std::move(message)}; }

Verdict judge(const SuiteCase &testCase,
              const std::vector<data::Tensor> &outputs) {
  if (outputs.size() != testCase.outputs.size())
    return failed("expected " + std::to_string(testCase.outputs.size()) +
                  " outputs, got " + std::to_string(outputs.size()));
  Verdict verdict{"pass", ""};
  verdict.measured = true;
  double worst = -1;
  for (size_t i = 0; i != outputs.size(); ++i) {
    const SuiteOutput &expected = testCase.outputs[i];
    data::Result<data::Tensor> values = data::readNpy(expected.file);
    if (!values)
      return failed(values.error());
    Difference difference =
        compare(outputs[i], *values, expected.rtol, expected.atol);
    std::string what = "output '" + expected.name + "': ";
    if (!difference.mismatch.empty())
      return failed(what + difference.mismatch);
    double error = expected.norm ? difference.norm : difference.scaled;
    double bound = expected.norm ? *expected.norm : 1;
    if (error / bound > worst) {
      worst = error / bound;
      verdict.error = error;
      verdict.bound = bound;
    }
    bool good = error <= bound && difference.notFinite == 0;
    if (good || verdict.result == "fail")
      continue;
    uint64_t at = difference.where;
    verdict.result = "fail";
    verdict.message =
        what + llvm::formatv(
                   "error {0:e2} exceeds {1:e2}; the largest difference is at "
                   "element {2}: expected {3}, got {4}; {5} elements differ in "
                   "being finite",
                   error, bound, at,
                   outputs[i].elements() ? getElement(*values, at) : 0.0,
                   outputs[i].elements() ? getElement(outputs[i], at) : 0.0,
                   difference.notFinite)
                   .str();
  }
  return verdict;
}

Verdict fromError(llvm::Error error) {
  Verdict verdict;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &compileError) {
        bool refused = compileError.getKind() == ErrorKind::Unsupported;
        verdict = {refused ? "refused" : "fail", compileError.message()};
      },
      [&](const llvm::ErrorInfoBase &other) {
        verdict = failed(other.message());
      });
  return verdict;
}

std::unique_ptr<Compilation> importCase(const SuiteCase &testCase,
                                        bool symbolic, CompileOptions options,
                                        std::optional<Verdict> &verdict) {
  options.precision = testCase.precision;
  for (const SuiteInput &input : testCase.inputs) {
    if (!input.isConstant)
      continue;
    data::Result<data::Tensor> tensor = data::readNpy(input.file);
    if (!tensor) {
      verdict = failed(tensor.error());
      return nullptr;
    }
    options.constants.push_back(getConstantInput(input.name, *tensor));
  }
  auto compilation = Compilation::importFile(
      symbolic ? *testCase.symbolicModel : testCase.model, options);
  if (!compilation) {
    verdict = fromError(compilation.takeError());
    return nullptr;
  }
  return std::move(*compilation);
}

std::vector<data::Tensor> readInputs(const SuiteCase &testCase,
                                     const Interface &interface) {
  NamedTensors tensors;
  for (const SuiteInput &input : testCase.inputs) {
    if (input.isConstant)
      continue;
    data::Result<data::Tensor> tensor = data::readNpy(input.file);
    if (!tensor)
      fail(ExitCode::Input, tensor.error());
    tensors[input.name] = std::move(*tensor);
  }
  return matchInputs(interface, std::move(tensors));
}

} // namespace fusec
