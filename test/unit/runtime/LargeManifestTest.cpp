// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Manifests of much of something: read in time that grows as they do, or
// refused.

#include "test/unit/runtime/TestBundle.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace fusec::format;
using namespace fusec::test;

// Its time grows as its bytes do: 0.9 MB took a parser 14 seconds that searched
// an array again for each of its objects.
TEST(Manifest, ManySmallObjects) {
  std::string objects = "{}";
  for (int i = 0; i != 300000; ++i)
    objects += ",{}";
  std::string json = writeManifest(makeManifest()), from = "\"layout\":{}";
  json.replace(json.find(from), from.size(),
               "\"layout\":{\"a\":[" + objects + "]}");
  Manifest parsed;
  std::string error;
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

// A table, not a search, finds each of many dimensions: 785 KB took 4 seconds.
TEST(Manifest, ManyDimensions) {
  constexpr int rank = 32, count = 5000 * rank;
  Manifest manifest = makeManifest();
  manifest.inputs.clear();
  for (int i = 0; i != count; ++i) {
    std::string name = "n" + std::to_string(100000 + i);
    manifest.dims.push_back(name);
    if (i % rank == 0)
      manifest.inputs.push_back({name, DType::F32, {}});
    manifest.inputs.back().sizes.push_back(Expr::dim(name));
  }
  manifest.plans.resize(1);
  manifest.plans[0].steps.clear();
  std::string json = writeManifest(manifest);
  Manifest parsed;
  std::string error;
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
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
