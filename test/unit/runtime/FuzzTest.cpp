// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged bundles through the public interface: refused, or loaded and run,
// never a crash.

#include "runtime/format/Printable.h"
#include "test/unit/damaged/TimeLimit.h"
#include "test/unit/runtime/LibraryTest.h"

#include <nlohmann/json.hpp>
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
    TimeLimit limit("bundle, round " + std::to_string(round));
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

// A manifest that is not what the compiler wrote, under right hashes: what the
// checks let through must load, prepare and run with every access in range.
namespace {
class ManifestFuzzTest : public FuzzTest {
protected:
  void tryManifest(const std::string &text) {
    tryBundle(replaceManifest(text), text);
  }

  void tryBundle(const std::vector<uint8_t> &file, const std::string &text) {
    TimeLimit limit(text);
    try {
      Model model = Model::loadMemory(file.data(), file.size(), options());
      Session session(model);
      if (!model.adapters().empty()) {
        session.setAdapter(Adapter::own(model));
        session.setAdapter(Adapter::create(model, {}));
      }
      tensors->bind(session, 100);
      bool graph = (ran + refused) % 2 == 0;
      session.prepare({}, nullptr, 0, graph ? FUSEC_GRAPH_ON : FUSEC_GRAPH_OFF);
      // Kernels with other parameters must not be executed by the fake driver.
      failNext(graph ? "cuGraphLaunch" : "cuLaunchKernelEx", 719);
      if ((ran + refused) % 3 == 0)
        session.profile(briefly());
      else
        session.run();
      ++ran;
    } catch (const Error &error) {
      EXPECT_NE(error.status(), FUSEC_INTERNAL_ERROR) << error.what();
      EXPECT_NE(error.what(), std::string()) << text;
      std::string message = error.what();
      EXPECT_EQ(format::printable(message), message);
      bool launched =
          message.find("launching") == 0 || message.find("cuGraphLaunch") == 0;
      ++(launched ? ran : refused);
    }
  }

  static ProfileOptions briefly() {
    ProfileOptions options;
    options.method = FUSEC_PROFILE_EVENTS;
    options.runs = 1;
    options.keepCache = true;
    return options;
  }

  static std::string adapterManifest() {
    format::Manifest manifest = makeManifest();
    addAdapter(manifest);
    return format::writeManifest(manifest);
  }

  std::string json = format::writeManifest(makeManifest());
  std::unique_ptr<Tensors> tensors = std::make_unique<Tensors>();
  unsigned ran = 0, refused = 0;
};
} // namespace

TEST_F(ManifestFuzzTest, ChangedNumbersAreRefusedOrHarmless) {
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
  for (int round = 0; round != 3000; ++round) {
    std::string text = round < 2000 ? json : adapterManifest();
    size_t start = random() % text.size();
    start = text.find_first_of("0123456789", start);
    if (start == std::string::npos)
      continue;
    size_t end = text.find_first_not_of("0123456789", start);
    text.replace(start, end - start, numbers[random() % std::size(numbers)]);
    tryManifest(text);
  }
  EXPECT_GT(ran, 100u);
  EXPECT_GT(refused, 500u);
}

// The driver reads as many parameters as kernels take, whatever a manifest has.
TEST_F(ManifestFuzzTest, ParametersLeftOutAreRefusedOrHarmless) {
  for (int capability : {8, 9, 10}) {
    fake->capabilityMajor = capability;
    nlohmann::json manifest = nlohmann::json::parse(json);
    for (nlohmann::json &plan : manifest["plans"])
      for (nlohmann::json &step : plan["steps"])
        for (nlohmann::json &variant : step["variants"])
          for (nlohmann::json &launch : variant["launches"]) {
            nlohmann::json before = launch;
            launch["cooperative"] = true;
            for (nlohmann::json &params = launch["params"]; !params.empty();) {
              params.erase(params.size() - 1);
              tryManifest(manifest.dump());
            }
            launch = before;
          }
  }
  EXPECT_GT(refused, 30u);
}

// Code that is not what the compiler wrote, under right hashes.
TEST_F(ManifestFuzzTest, ChangedCubinsAreRefusedOrHarmless) {
  const std::vector<uint8_t> good = makeCubin();
  std::vector<uint8_t> file = makeBundle();
  std::mt19937 random(9);
  const uint8_t bytes[] = {0, 1, 2, 3, 4, 8, 12, 0x17, 0x19, 0x45, 0x7f, 0xff};
  for (int round = 0; round != 3000; ++round) {
    std::vector<uint8_t> cubin = good;
    for (unsigned edits = 1 + random() % 3; edits != 0; --edits) {
      size_t at = random() % cubin.size();
      if (random() % 2)
        cubin[at] = bytes[random() % std::size(bytes)];
      else
        cubin[at] ^= uint8_t(1u << random() % 8);
    }
    replaceSection(file, 1, cubin);
    tryBundle(file, "round " + std::to_string(round));
  }
  EXPECT_GT(ran, 100u);
  EXPECT_GT(refused, 500u);
}

TEST_F(ManifestFuzzTest, ChangedBytesAreRefusedOrHarmless) {
  std::mt19937 random(5);
  for (int round = 0; round != 1000; ++round) {
    std::string text = json;
    if (round % 3 == 0)
      text.resize(random() % text.size());
    else
      text[random() % text.size()] ^= char(1u << random() % 8);
    tryManifest(text);
  }
  EXPECT_GT(refused, 500u);
}

static void collect(nlohmann::json &value,
                    std::vector<nlohmann::json *> &values) {
  values.push_back(&value);
  if (value.is_structured())
    for (nlohmann::json &element : value)
      collect(element, values);
}

TEST_F(ManifestFuzzTest, ChangedStructureIsRefusedOrHarmless) {
  std::mt19937 random(6);
  for (int round = 0; round != 1500; ++round) {
    nlohmann::json manifest = nlohmann::json::parse(json);
    std::vector<nlohmann::json *> values;
    collect(manifest, values);
    nlohmann::json &value = *values[1 + random() % (values.size() - 1)];
    nlohmann::json other = *values[random() % values.size()];
    if (round % 2 || !value.is_structured() || value.empty()) {
      value = other; // Of any kind, and from any place.
    } else {
      auto element = value.begin();
      std::advance(element, random() % value.size());
      if (round % 4 && value.is_array())
        value.push_back(nlohmann::json(*element));
      else
        value.erase(element);
    }
    tryManifest(manifest.dump());
  }
  EXPECT_GT(refused, 500u);
}

// Every level of an expression or of a list is one of the parser's stack.
TEST_F(ManifestFuzzTest, DeepNestingIsRefused) {
  for (size_t depth : {100, 10000, 1000000}) {
    tryManifest(std::string(depth, '['));
    tryManifest(std::string(depth, '[') + std::string(depth, ']'));
    std::string objects;
    for (size_t i = 0; i != depth; ++i)
      objects += "{\"a\":";
    tryManifest(objects);
    // In the place of the first number of the manifest.
    size_t start = json.find_first_of("0123456789");
    size_t end = json.find_first_not_of("0123456789", start);
    std::string text = json;
    text.replace(start, end - start,
                 std::string(depth, '[') + std::string(depth, ']'));
    tryManifest(text);
  }
  EXPECT_EQ(ran, 0u);
}
