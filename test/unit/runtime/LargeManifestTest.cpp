// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests of much of something: read in time that grows as they do, or
// refused.

#include "test/unit/runtime/TestBundle.h"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>

using namespace fusec::format;
using namespace fusec::test;

/// Seconds of a processor that reading takes, which must succeed; the least of
/// a few times.
static double getReadingTime(const std::string &json) {
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn != 3; ++turn) {
    Manifest parsed;
    std::string error;
    std::clock_t start = std::clock();
    EXPECT_TRUE(parseManifest(json, parsed, error)) << error;
    least = std::min(least, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}
/// Of four times as much: where it grows as the square it is 16 times.
static constexpr double mostGrowth = 8;

static std::string writeSmallObjects(int count) {
  std::string objects = "{}";
  for (int i = 1; i != count; ++i)
    objects += ",{}";
  std::string json = writeManifest(makeManifest()), from = "\"layout\":{}";
  json.replace(json.find(from), from.size(),
               "\"layout\":{\"a\":[" + objects + "]}");
  return json;
}

// 0.9 MB took a parser 14 seconds that searched an array again for each of its
// objects.
TEST(Manifest, ManySmallObjects) {
  EXPECT_LT(getReadingTime(writeSmallObjects(300000)),
            mostGrowth * getReadingTime(writeSmallObjects(75000)));
}

static constexpr int mostDims = 32; // of an input

static std::string writeDimensions(int count) {
  Manifest manifest = makeManifest();
  manifest.inputs.clear();
  for (int i = 0; i != count; ++i) {
    std::string name = "n" + std::to_string(100000 + i);
    manifest.dims.push_back(name);
    if (i % mostDims == 0)
      manifest.inputs.push_back({name, DType::F32, {}});
    manifest.inputs.back().sizes.push_back(Expr::dim(name));
  }
  manifest.plans.resize(1);
  manifest.plans[0].steps.clear();
  return writeManifest(manifest);
}

// A table, not a search, finds each of many dimensions: 785 KB took 4 seconds.
TEST(Manifest, ManyDimensions) {
  constexpr int count = 5000 * mostDims;
  std::string json = writeDimensions(count);
  EXPECT_LT(getReadingTime(json),
            mostGrowth * getReadingTime(writeDimensions(count / 4)));
  Manifest parsed;
  std::string error;
  ASSERT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_EQ(parsed.inputs.back().sizes.back().value, count + 1);
}

TEST(Manifest, NestedValues) {
  auto refuse = [](size_t depth) {
    // Beside the manifest, its plans, the plan, its buffers and the buffer.
    std::string nested =
        "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    std::string json = writeManifest(makeManifest()), from = "\"layout\":{}";
    json.replace(json.find(from), from.size(), "\"layout\":" + nested);
    Manifest parsed;
    std::string error;
    parseManifest(json, parsed, error);
    return error;
  };
  EXPECT_EQ(refuse(59), "");
  EXPECT_EQ(refuse(60), "manifest: expected at most 64 nested values");
}
