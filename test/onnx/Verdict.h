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

/// Gives the options the case's precision, and the inputs that must be known to
/// the compiler. Returns a verdict where they cannot be read.
std::optional<Verdict> addCaseOptions(const SuiteCase &testCase,
                                      CompileOptions &options);
/// The other inputs, in the model's order. Throws Failure.
std::vector<data::Tensor> readInputs(const SuiteCase &testCase,
                                     const Interface &interface);

} // namespace fusec

#endif // FUSEC_TEST_ONNX_VERDICT_H
