// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_GPU_LARGE_H
#define FUSEC_TEST_GPU_LARGE_H

#include "test/gpu/LargePattern.h"

#include <string>

namespace fusec {

struct LargeCase {
  std::string name, model;    // ONNX
  std::vector<int64_t> sizes; // of the first input, halves
  std::vector<int64_t> rows;  // the second input, where there is one
  /// Of the output's elements.
  std::function<int64_t(const void *output, int64_t count)> countWrong;
};
std::vector<LargeCase> makeLargeCases();

} // namespace fusec

#endif // FUSEC_TEST_GPU_LARGE_H
