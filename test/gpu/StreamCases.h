// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of one kernel each, whose blocks wait for one another, with inputs and
// what follows from them.

#ifndef FUSEC_TEST_GPU_STREAMCASES_H
#define FUSEC_TEST_GPU_STREAMCASES_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fusec {

struct StreamCase {
  std::string name, model; // ONNX, of one input and one output
  std::vector<int64_t> sizes;
  /// Whether they wait in teams; else for those before them.
  bool isOfTeams;
  /// Elements of the input. Those of copies differ, so that what one session
  /// tells another is found.
  std::function<std::vector<uint8_t>(unsigned copy)> makeInput;
  /// The largest error of an output, in the measure of the bound.
  std::function<double(const std::vector<uint8_t> &input,
                       const std::vector<uint8_t> &output)>
      getError;
  double bound;
};
std::vector<StreamCase> makeStreamCases();

} // namespace fusec

#endif // FUSEC_TEST_GPU_STREAMCASES_H
