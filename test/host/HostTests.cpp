// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// That the execution on the host finds what it is there to find.

#include "test/host/HostCall.h"
#include "test/host/HostMemory.h"
#include "test/host/KernelLibrary.h"

#include <gtest/gtest.h>

using namespace fusec;

namespace {
/// Runs a kernel of (float *x, int n) on one block.
class HostExecution : public ::testing::Test {
protected:
  std::string run(const std::string &body, char *x, int n) {
    KernelLibrary library(FUSEC_HOST_COMPILER, FUSEC_HOST_WORK, 1);
    std::string error;
    if (!library.prepare(error))
      return error;
    unsigned kernel = library.add(
        "#include \"vector.h\"\nextern \"C\" FUSEC_KERNEL(256) " +
        KernelLibrary::symbol.str() + "(float *x, int n) {\n" + body + "\n}\n");
    library.build();
    KernelLibrary::Entry entry = library.getEntry(kernel);
    if (!entry)
      return library.getError(kernel);
    void *params[] = {&x, &n};
    int grid[] = {1, 1, 1};
    return callGuarded([&] { entry(params, grid, 0, 1); }, 2);
  }
};

constexpr const char *wideStore =
    "fusec::store<4>(x, fusec::Vec<float, 4>{{1, 2, 3, 4}});";

TEST_F(HostExecution, RunsWhatIsRight) {
  HostMemory memory(16, Placement::Aligned, 4, 0xff);
  EXPECT_EQ(run(wideStore, memory.data(), 4), "");
  EXPECT_EQ(reinterpret_cast<float *>(memory.data())[3], 4.0f);
  EXPECT_TRUE(memory.isIntact());
}
TEST_F(HostExecution, FindsAlignmentThatIsAssumed) {
  HostMemory memory(16, Placement::Shifted, 4, 0xff);
  EXPECT_EQ(run(wideStore, memory.data(), 4),
            "accesses memory that is not as aligned as the access assumes");
}
TEST_F(HostExecution, FindsReadsPastTheEnd) {
  HostMemory memory(20, Placement::Flush, 4, 0xff);
  EXPECT_EQ(run("x[0] = x[n];", memory.data(), 4), "");
  EXPECT_EQ(run("x[0] = x[n];", memory.data(), 5),
            "touches memory that is not its own");
}
TEST_F(HostExecution, FindsWritesToInputs) {
  HostMemory memory(16, Placement::Aligned, 4, 0xff);
  memory.protect();
  EXPECT_EQ(run(wideStore, memory.data(), 4),
            "touches memory that is not its own");
}
TEST_F(HostExecution, FindsWritesBesides) {
  HostMemory memory(16, Placement::Aligned, 4, 0xff);
  EXPECT_EQ(run("x[n] = 1;", memory.data(), 4), "");
  EXPECT_FALSE(memory.isIntact());
}
TEST_F(HostExecution, FindsDivisionByZero) {
  HostMemory memory(16, Placement::Aligned, 4, 0xff);
  EXPECT_EQ(run("x[0] = 3 / n;", memory.data(), 0), "divides by zero");
}
TEST_F(HostExecution, FindsLoopsWithoutEnd) {
  EXPECT_EQ(run("for (volatile int i = 0; i <= n; i = 0);", nullptr, 0),
            "does not end");
}
TEST_F(HostExecution, NamesTheKernelThatDoesNotCompile) {
  // "not declared", or "undeclared".
  EXPECT_NE(run("x[0] = y;", nullptr, 0).find("declared"), std::string::npos);
}
} // namespace
