// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/codegen/nvrtc/NvrtcLog.h"

#include <gtest/gtest.h>

using namespace fusec;

TEST(NvrtcLog, ReadsStatistics) {
  std::vector<KernelUsage> kernels = parseUsage(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "ptxas         .     632 bytes stack frame, 1200 bytes spill stores, "
      "1300 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 632 bytes "
      "cumulative stack size, 256 bytes smem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes "
      "spill loads\n"
      "ptxas info    : Used 10 registers, 380 bytes cmem[0]\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].symbol, "first");
  EXPECT_EQ(kernels[0].registers, 10u);
  EXPECT_EQ(kernels[0].spillBytes, 0u);
  EXPECT_EQ(kernels[0].sharedBytes, 0u);
  EXPECT_EQ(kernels[1].symbol, "second");
  EXPECT_EQ(kernels[1].registers, 32u);
  EXPECT_EQ(kernels[1].spillBytes, 2500u);
  EXPECT_EQ(kernels[1].stackBytes, 632u);
  EXPECT_EQ(kernels[1].sharedBytes, 256u);
}

TEST(NvrtcLog, ChargesCalledFunctionsToTheirKernels) {
  std::vector<KernelUsage> kernels =
      parseUsage("ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
                 "ptxas info    : Function properties for k\n"
                 "ptxas         .     0 bytes stack frame, 0 bytes spill "
                 "stores, 0 bytes spill loads\n"
                 "ptxas info    : Used 40 registers, 256 bytes smem\n"
                 "ptxas info    : Function properties for _Z4slowPf\n"
                 "ptxas         .     16 bytes stack frame, 8 bytes spill "
                 "stores, 8 bytes spill loads\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].registers, 40u);
  EXPECT_EQ(kernels[0].spillBytes, 16u);
  EXPECT_EQ(kernels[0].stackBytes, 16u);
}

TEST(NvrtcLog, SeesSerializedMma) {
  EXPECT_TRUE(reportsSerializedMma(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
      "instructions "
      "are serialized due to insufficient register resources"));
  EXPECT_FALSE(reportsSerializedMma("ptxas info    : (C7410) something else"));
  EXPECT_FALSE(reportsSerializedMma("(C75"));
}

TEST(NvrtcLog, DropsWhatDiffersFromRunToRun) {
  EXPECT_EQ(stableLog("a\nptxas info    : Compile time = 1.940 ms\nb\n\0"),
            "a\nb\n");
}

TEST(NvrtcLog, ReadsPtxEntries) {
  std::vector<KernelUsage> kernels =
      parsePtxEntries("// .entry no(\n.visible .entry two(\n\t.param .u64 "
                      "a\n)\n.entry one()\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].symbol, "one");
  EXPECT_EQ(kernels[1].symbol, "two");
}

TEST(NvrtcLog, ShowsTheLinesAroundAnError) {
  CompileRequest request;
  request.name = "gate";
  request.source = "one\ntwo\nthree\nfour\nfive\n";
  request.headers.push_back({"prelude.h", "first\nsecond\n"});
  EXPECT_EQ(
      explainErrors("gate.cu(3): error: bad\nprelude.h(1): error: worse\n",
                    request),
      "gate.cu(3): error: bad\n"
      "        1 | one\n        2 | two\n  >     3 | three\n        4 | four\n "
      "       5 | five\n"
      "prelude.h(1): error: worse\n"
      "  >     1 | first\n        2 | second\n        3 | \n");
  EXPECT_EQ(
      explainErrors("gate.cu(99): error: bad\nother(1): error: x\n", request),
      "gate.cu(99): error: bad\nother(1): error: x\n");
}
