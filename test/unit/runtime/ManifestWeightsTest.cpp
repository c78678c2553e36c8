// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a manifest says of weights, and of those that change.

#include "test/unit/runtime/ManifestTesting.h"

using namespace fusec::format;
using namespace fusec::test;

TEST(Manifest, Weights) {
  EXPECT_EQ(refusal([](Manifest &m) { hopper(m).weights[1].alignment = 48; }),
            "plans[1].weights[1].alignment: expected a power of two of at most "
            "256, found 48");
  EXPECT_EQ(refusal([](Manifest &m) { hopper(m).weights[1].alignment = 512; }),
            "plans[1].weights[1].alignment: expected a power of two of at most "
            "256, found 512");
  EXPECT_EQ(refusal([](Manifest &m) { hopper(m).weights[1].offset = 8; }),
            "plans[1].weights[1].offset: expected a multiple of the alignment "
            "256, found 8");
  EXPECT_EQ(refusal([](Manifest &m) { hopper(m).weights[1].offset = 0; }),
            "plans[1].weights[0]: weight 'w' overlaps weight 'v'");
  EXPECT_NE(refusal([](Manifest &m) {
              hopper(m).weights[1].size = UINT64_MAX;
            }).find("exceeds 64 bits"),
            std::string::npos);
}

TEST(Manifest, Adapters) {
  auto refuse = [](const Edit &edit) {
    return refusal([&](Manifest &m) {
      addAdapter(m);
      edit(m);
    });
  };
  EXPECT_EQ(refuse([](Manifest &m) { hopper(m).weights[1].adapter = ""; }),
            "plans[1].weights: adapter 'up': expected a part a and a part b, "
            "found one of them");
  EXPECT_EQ(
      refuse([](Manifest &m) { hopper(m).weights[1].part = AdapterPart::A; }),
      "plans[1].weights[1].adapter: adapter 'up' has this part already, "
      "in weight 'w'");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[1].sizes = {1, 2};
            }),
            "plans[1].weights: adapter 'up': expected parts of one rank and "
            "type, found 2 and 1, f32 and f32");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[0].sizes = {2, 3};
            }),
            "plans[1].weights[0].size: expected the bytes of all elements, "
            "found 16");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[0].sizes = {INT64_MAX, INT64_MAX};
            }),
            "plans[1].weights[0].size: expected the bytes of all elements, "
            "found 16");
  EXPECT_EQ(refuse([](Manifest &m) { hopper(m).weights[0].sizes = {4}; }),
            "plans[1].weights[0].sizes: expected two sizes, found 1");
  EXPECT_EQ(
      refuse([](Manifest &m) { hopper(m).weights[0].dtype = DType::I32; }),
      "plans[1].weights[0].dtype: expected f16, bf16 or f32, found i32");
  EXPECT_EQ(
      refuse([](Manifest &m) { hopper(m).weights[0].replaceable = false; }),
      "plans[1].weights[0].replaceable: expected true, as of every "
      "adapter");
  Manifest parsed = readBack(addAdapter);
  EXPECT_EQ(parsed.plans[1].weights[1].adapter, "up");
  EXPECT_EQ(parsed.plans[1].weights[1].part, AdapterPart::B);
  EXPECT_EQ(parsed.plans[1].weights[1].rank(), 2);
  EXPECT_EQ(parsed.plans[1].weights[1].width(), 1);
}

TEST(Manifest, Replaceable) {
  auto refuse = [](Edit edit) {
    return refusal([&](Manifest &m) {
      hopper(m).weights[0].replaceable = true;
      edit(m);
    });
  };
  EXPECT_EQ(refuse([](Manifest &m) { hopper(m).weights[0].sizes = {5}; }),
            "plans[1].weights[0].size: expected the bytes of all elements, "
            "found 16");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[1].replaceable = true;
              hopper(m).weights[1].name = "w";
            }),
            "plans[1].weights[1]: name 'w' occurs twice");
}

namespace {
// Weight 0, of two rows, with a mark.
struct MarkedWeight : testing::Test {
  Edit mark(bool Weight::*flag, const Edit &edit = nullptr) {
    return [=](Manifest &m) {
      hopper(m).weights[0].*flag = true;
      hopper(m).weights[0].sizes = {2, 2};
      if (edit)
        edit(m);
    };
  }
  // What every mark refuses.
  void refusesOtherSizes(bool Weight::*flag) {
    EXPECT_EQ(refusal(mark(
                  flag, [](Manifest &m) { hopper(m).weights[0].sizes = {5}; })),
              "plans[1].weights[0].size: expected the bytes of all elements, "
              "found 16");
  }
  void isReadBack(bool Weight::*flag) {
    Manifest parsed = readBack(mark(flag));
    EXPECT_TRUE(hopper(parsed).weights[0].*flag);
    EXPECT_FALSE(hopper(parsed).weights[1].*flag);
  }
};
} // namespace

TEST_F(MarkedWeight, Updatable) {
  auto refuse = [&](const Edit &edit) {
    return refusal(mark(&Weight::updatable, edit));
  };
  refusesOtherSizes(&Weight::updatable);
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[0].sizes.clear();
              hopper(m).weights[0].size = 4;
            }),
            "plans[1].weights[0].sizes: expected at least one size, the rows");
  EXPECT_EQ(
      refuse([](Manifest &m) { hopper(m).weights[0].replaceable = true; }),
      "plans[1].weights[0].updatable: expected false, as of what is "
      "replaceable");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights[1].replaceable = true;
              hopper(m).weights[1].name = "w";
            }),
            "plans[1].weights[1]: name 'w' occurs twice");
  EXPECT_EQ(refuse([](Manifest &m) {
              hopper(m).weights.push_back(hopper(m).weights[0]);
              hopper(m).weights.back().updatable = false;
              hopper(m).weights.back().name = "u";
            }),
            "plans[1].weights[2]: weight 'u' overlaps weight 'w'");
  isReadBack(&Weight::updatable);
}

TEST_F(MarkedWeight, Tables) {
  refusesOtherSizes(&Weight::table);
  EXPECT_EQ(refusal(mark(
                &Weight::table,
                [](Manifest &m) { hopper(m).weights[0].replaceable = true; })),
            "plans[1].weights[0].table: expected false, as of what is "
            "replaceable or has no rows");
  isReadBack(&Weight::table);
}
