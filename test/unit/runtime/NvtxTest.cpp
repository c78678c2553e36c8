// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of NVTX. A process looks for a tool once, so each case is one of its
// own.

#include "test/unit/runtime/LibraryTest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace fusec;
using namespace fusec::test;

namespace {
class NvtxTest : public LibraryTest {
protected:
  // What the tool is given while a session is prepared and runs.
  std::string rangesOf(int32_t graph,
                       const std::map<std::string, std::string> &environment) {
    std::string log =
        testing::TempDir() + "fusec-nvtx-" + std::to_string(getpid());
    std::filesystem::remove(log);
    auto runOnce = [&] {
      setenv("FUSEC_FAKE_NVTX_LOG", log.c_str(), 1);
      for (const auto &[name, value] : environment)
        setenv(name.c_str(), value.c_str(), 1);
      Session session = load().session();
      tensors.bind(session, 100);
      session.prepare({}, nullptr, 0, graph);
      session.run();
      std::_Exit(0);
    };
    EXPECT_EXIT(runOnce(), testing::ExitedWithCode(0), "");
    std::string text;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);)
      text += line + " ";
    std::filesystem::remove(log);
    return text;
  }

  Tensors tensors;
};

const std::string tool = FUSEC_FAKE_NVTX;

TEST_F(NvtxTest, StepsWithinTheRun) {
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_OFF,
                     {{"FUSEC_NVTX", "1"}, {"NVTX_INJECTION64_PATH", tool}}),
            "+prepare - +run +scale - +mix - - ");
}

TEST_F(NvtxTest, AGraphIsOneRange) {
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_ON,
                     {{"FUSEC_NVTX", "1"}, {"NVTX_INJECTION64_PATH", tool}}),
            "+prepare - +run - ");
}

TEST_F(NvtxTest, OnRequestOnly) {
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_OFF, {{"NVTX_INJECTION64_PATH", tool}}), "");
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_OFF,
                     {{"FUSEC_NVTX", "0"}, {"NVTX_INJECTION64_PATH", tool}}),
            "");
}

TEST_F(NvtxTest, NothingTakesThem) {
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_OFF, {{"FUSEC_NVTX", "1"}}), "");
  EXPECT_EQ(
      rangesOf(FUSEC_GRAPH_OFF,
               {{"FUSEC_NVTX", "1"}, {"NVTX_INJECTION64_PATH", "/nowhere.so"}}),
      "");
  EXPECT_EQ(
      rangesOf(FUSEC_GRAPH_OFF, {{"FUSEC_NVTX", "1"},
                                 {"NVTX_INJECTION64_PATH", FUSEC_FAKE_DRIVER}}),
      "")
      << "a library that is no tool";
  EXPECT_EQ(rangesOf(FUSEC_GRAPH_OFF, {{"FUSEC_NVTX", "1"},
                                       {"NVTX_INJECTION64_PATH", tool},
                                       {"FUSEC_FAKE_NVTX_TAKES_NOTHING", "1"}}),
            "");
}
} // namespace
