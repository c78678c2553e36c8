// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What running a case comes to.

#ifndef FUSEC_TEST_ONNX_VERDICT_H
#define FUSEC_TEST_ONNX_VERDICT_H

#include "test/onnx/SuiteCase.h"
#include "tools/fusec/Arguments.h"

namespace fusec {

struct Verdict {
  std::string result, message; // "pass", "fail" or "refused"
  double error = 0, bound = 0;
  bool measured = false;
};

Verdict failed(std::string message);
/// Refusals are the model's; everything else is a defect.
Verdict fromError(llvm::Error error);
/// Compares outputs with those of the case.
Verdict judge(const SuiteCase &testCase,
              const std::vector<data::Tensor> &outputs);

/// Imports a case in one of its forms, with its precision and the inputs that
/// must be known to the compiler. Null with `verdict` set where that fails.
std::unique_ptr<Compilation> importCase(const SuiteCase &testCase,
                                        bool symbolic, CompileOptions options,
                                        std::optional<Verdict> &verdict);
/// The other inputs, in the model's order. Throws Failure.
std::vector<data::Tensor> readInputs(const SuiteCase &testCase,
                                     const Interface &interface);

} // namespace fusec

#endif // FUSEC_TEST_ONNX_VERDICT_H
