// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every model of test/models imports, with the inputs and outputs it declares.

#include "frontends/onnx/Importer.h"
#include "gtest/gtest.h"
#include <filesystem>

using namespace fusec;
using namespace fusec::onnx;

TEST(ImportModels, AllOfTestModels) {
  int count = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(FUSEC_TEST_MODELS)) {
    if (entry.path().extension() != ".onnx")
      continue;
    ++count;
    mlir::MLIRContext context;
    ProblemList problems;
    auto module = importOnnxFile(entry.path().string(), ImportOptions(),
                                 context, problems);
    for (const Problem &problem : problems)
      ADD_FAILURE() << entry.path() << ": " << problem.str();
    EXPECT_TRUE(succeeded(module)) << entry.path();
  }
  EXPECT_EQ(count, 32);
}
