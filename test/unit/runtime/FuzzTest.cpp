// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged bundles through the public interface: refused, or loaded and run,
// never a crash.

#include "test/unit/runtime/LibraryTest.h"

#include <random>

using namespace fusec;
using namespace fusec::test;

namespace {
class FuzzTest : public LibraryTest {};
} // namespace

TEST_F(FuzzTest, FlippedAndTruncatedBundlesAreRefused) {
  std::vector<uint8_t> file = makeBundle();
  std::mt19937 random(3);
  for (int round = 0; round != 3000; ++round) {
    std::vector<uint8_t> damaged = file;
    if (round % 3 == 0)
      damaged.resize(random() % file.size());
    else
      damaged[random() % damaged.size()] ^= uint8_t(1u << random() % 8);
    std::string message = messageOf(FUSEC_MALFORMED, [&] {
      // One byte more than a vector of size 0 has, so that data() is not null.
      damaged.reserve(1);
      Model::loadMemory(damaged.data(), damaged.size(), options());
    });
    ASSERT_FALSE(message.empty()) << "round " << round;
  }
}

// Numbers of the manifest replaced under right hashes: what the checks let
// through must load, prepare and run with every access in range.
TEST_F(FuzzTest, ChangedNumbersAreRefusedOrHarmless) {
  std::string json = format::writeManifest(makeManifest());
  std::mt19937 random(4);
  const char *numbers[] = {"0",
                           "1",
                           "2",
                           "3",
                           "16",
                           "100",
                           "255",
                           "4294967295",
                           "-1",
                           "9223372036854775807",
                           "18446744073709551615",
                           "\"batch\"",
                           "\"n\""};
  unsigned ran = 0, refused = 0;
  auto tensors = std::make_unique<Tensors>();
  for (int round = 0; round != 4000; ++round) {
    std::string text = json;
    size_t start = random() % text.size();
    start = text.find_first_of("0123456789", start);
    if (start == std::string::npos)
      continue;
    size_t end = text.find_first_not_of("0123456789", start);
    text.replace(start, end - start, numbers[random() % std::size(numbers)]);
    std::vector<uint8_t> file = replaceManifest(text);
    try {
      Session session(Model::loadMemory(file.data(), file.size(), options()));
      tensors->bind(session, 100);
      bool graph = round % 2 == 0;
      session.prepare({}, nullptr, 0, graph ? FUSEC_GRAPH_ON : FUSEC_GRAPH_OFF);
      fake->launches.clear();
      // Kernels with other parameters must not be executed by the fake driver.
      failNext(graph ? "cuGraphLaunch" : "cuLaunchKernelEx", 719);
      session.run();
      ++ran;
    } catch (const Error &error) {
      EXPECT_NE(error.status(), FUSEC_INTERNAL_ERROR) << error.what();
      EXPECT_NE(error.what(), std::string()) << text;
      std::string message = error.what();
      bool launched =
          message.find("launching") == 0 || message.find("cuGraphLaunch") == 0;
      ++(launched ? ran : refused);
    }
  }
  EXPECT_GT(ran, 100u);
  EXPECT_GT(refused, 1000u);
}
