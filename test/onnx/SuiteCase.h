// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test case as generate.py writes it.

#ifndef FUSEC_TEST_ONNX_SUITECASE_H
#define FUSEC_TEST_ONNX_SUITECASE_H

#include "compiler/Options.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec {

struct SuiteInput {
  std::string name, file;
  bool isConstant = false;
};
/// Either within atol + rtol * |expected| everywhere, or within `norm` of the
/// expected tensor, relative to its Euclidean norm.
struct SuiteOutput {
  std::string name, file;
  double rtol = 0, atol = 0;
  std::optional<double> norm;
};
struct SuiteCase {
  std::string name;
  bool expectPass = true;
  std::string model;
  std::optional<std::string> symbolicModel;
  std::vector<SuiteInput> inputs;
  std::vector<SuiteOutput> outputs;
  Precision precision = Precision::Ieee; // of its fp32 products
};

/// Reads `folder`/case.json; paths in the result can be opened. Nothing, with
/// `error` set, where it is not as expected.
std::optional<SuiteCase> readSuiteCase(const std::string &folder,
                                       std::string &error);

/// The cases of a folder of folders whose names match a regular expression, by
/// name; `error` is set where one is malformed or there is none at all.
std::vector<SuiteCase> readSuite(const std::string &folder,
                                 const std::string &filter, std::string &error);

} // namespace fusec

#endif // FUSEC_TEST_ONNX_SUITECASE_H
