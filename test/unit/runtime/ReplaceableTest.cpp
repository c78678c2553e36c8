// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that sessions replace: each its own, on the stream, and nothing but
// tensors that fit.

#include "test/unit/runtime/LibraryTest.h"

using namespace fusec;
using namespace fusec::test;

namespace {
// The weight "w" of the test bundle is replaceable: four floats.
void markW(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans)
    plan.weights[0].replaceable = true;
}

class ReplaceableTest : public OwnWeightTest {
protected:
  std::string setError(Session &session, const std::string &name,
                       const Tensor &tensor) {
    return messageOf(FUSEC_INVALID_ARGUMENT,
                     [&] { session.setWeight(name, tensor); });
  }

  float values[4] = {1, 2, 3, 4};
};
} // namespace

TEST_F(ReplaceableTest, Infos) {
  Model model = load(markW);
  std::vector<TensorInfo> infos = model.replaceables();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].name, "w");
  EXPECT_EQ(infos[0].dtype, FUSEC_F32);
  EXPECT_EQ(infos[0].sizes, std::vector<int64_t>{4});
  EXPECT_TRUE(load().replaceables().empty());
  EXPECT_TRUE(load(addAdapter).replaceables().empty());
}

TEST_F(ReplaceableTest, EachSessionHasItsOwn) {
  Model model = load(markW);
  Session first = prepared(model), second = prepared(model);
  float *one = weightOf(first);
  EXPECT_NE(one, weightOf(second));
  EXPECT_EQ(reinterpret_cast<uint8_t *>(one)[4], 5) << "what the bundle has";
  EXPECT_EQ(wordAt<float *>(fake->launches.back(), 64), weightOf(second))
      << "maps are of the session's weight too";
  std::vector<float> own = valuesOf(first);

  fake->calls.clear();
  fake->copies.clear();
  void *stream = reinterpret_cast<void *>(0x77);
  first.setWeight("w", Tensor(values, FUSEC_F32, {4}), stream);
  EXPECT_EQ(fake->calls.count("cuMemAlloc"), 0u);
  EXPECT_EQ(fake->calls.count("cuStreamSynchronize"), 0u);
  ASSERT_EQ(fake->copies.size(), 1u) << "one copy";
  EXPECT_EQ(fake->copies[0].stream, stream);
  EXPECT_EQ(weightOf(first), one) << "the address stays";
  EXPECT_EQ(valuesOf(first), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(second), own);
  first.resetWeight("w");
  EXPECT_EQ(valuesOf(first), own);
}

TEST_F(ReplaceableTest, HostMemoryIsWaitedFor) {
  Model model = load(markW);
  Session session = prepared(model);
  fake->calls.clear();
  session.setWeight(
      "w", Tensor(values, FUSEC_F32, {4}).setDeviceType(FUSEC_DEVICE_CPU));
  EXPECT_EQ(fake->calls.count("cuStreamSynchronize"), 1u);
  values[0] = 9;
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ReplaceableTest, GraphsStay) {
  Model model = load(markW);
  Session session = prepared(model, FUSEC_GRAPH_ON);
  session.run();
  ASSERT_TRUE(session.replayed());
  fake->calls.clear();
  session.setWeight("w", Tensor(values, FUSEC_F32, {4}));
  session.run();
  EXPECT_TRUE(session.replayed());
  EXPECT_EQ(fake->calls.count("cuGraphExecKernelNodeSetParams"), 0u);
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ReplaceableTest, AdaptersLeaveThemAlone) {
  Model model = load(
      [](format::Manifest &manifest) {
        markW(manifest);
        for (format::Plan &plan : manifest.plans)
          for (uint64_t offset : {512, 768}) {
            format::Weight factor = plan.weights[1];
            factor.name = offset == 512 ? "a" : "b";
            factor.part =
                offset == 512 ? format::AdapterPart::A : format::AdapterPart::B;
            factor.offset = offset;
            factor.size = 4;
            factor.sizes = {1, 1};
            factor.replaceable = true;
            factor.adapter = "up";
            plan.weights.push_back(factor);
          }
      },
      772);
  ASSERT_EQ(model.adapters().size(), 1u);
  ASSERT_EQ(model.replaceables().size(), 1u);
  Session session = prepared(model);
  session.setWeight("w", Tensor(values, FUSEC_F32, {4}));
  session.clearAdapter();
  session.setAdapter(Adapter::own(model));
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ReplaceableTest, WhatIsRefused) {
  Model model = load(markW);
  Session session = prepared(model);
  Tensor tensor(values, FUSEC_F32, {4});
  EXPECT_EQ(setError(session, "v", tensor),
            "the model has no replaceable weight 'v'; it has 'w'");
  EXPECT_EQ(setError(session, "w", Tensor(values, FUSEC_F32, {3})),
            "weight 'w': size 0: expected 4, found 3");
  EXPECT_EQ(setError(session, "w", Tensor(values, FUSEC_F16, {4})),
            "weight 'w': expected element type f32, found f16");
  EXPECT_EQ(setError(session, "w", Tensor(values, FUSEC_F32, {2, 2})),
            "weight 'w': expected rank 1, found 2");
  Session plain = prepared(load());
  EXPECT_EQ(setError(plain, "w", tensor),
            "the model has no replaceable weight 'w'; it was compiled without "
            "--replaceable");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { plain.clearAdapter(); }),
            "the model has no adapters: compile it with --adapter");
}
