// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a model's weights that are changed in place: for all sessions, on the
// stream, and nothing that does not fit.

#include "test/unit/runtime/LibraryTest.h"

using namespace fusec;
using namespace fusec::test;

namespace {
// The weight "w" of the test bundle is updatable: four rows of one float.
void markW(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans) {
    plan.weights[0].updatable = true;
    plan.weights[0].sizes = {4, 1};
  }
}

class UpdateRowsTest : public OwnWeightTest {
protected:
  std::string updateError(Model &model, const std::string &name,
                          const std::vector<int64_t> &ids, const Tensor &rows) {
    return messageOf(FUSEC_INVALID_ARGUMENT,
                     [&] { model.updateRows(name, ids, rows); });
  }

  float values[4] = {1, 2, 3, 4};
};
} // namespace

TEST_F(UpdateRowsTest, Infos) {
  std::vector<TensorInfo> infos = load(markW).updatables();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].name, "w");
  EXPECT_EQ(infos[0].dtype, FUSEC_F32);
  EXPECT_EQ(infos[0].sizes, (std::vector<int64_t>{4, 1}));
  EXPECT_TRUE(load(markW).replaceables().empty());
  EXPECT_TRUE(load().updatables().empty());
}

TEST_F(UpdateRowsTest, AllSessionsReadThem) {
  Model model = load(markW);
  Session first = prepared(model), second = prepared(model, FUSEC_GRAPH_ON);
  std::vector<float> before = valuesOf(first);
  EXPECT_EQ(weightOf(first), weightOf(second)) << "one copy";
  fake->calls.clear();
  fake->copies.clear();
  void *stream = reinterpret_cast<void *>(0x77);
  model.updateRows("w", {2, 0}, Tensor(values, FUSEC_F32, {2, 1}), stream);
  EXPECT_EQ(fake->calls.count("cuMemAlloc"), 0u);
  EXPECT_EQ(fake->calls.count("cuStreamSynchronize"), 0u);
  ASSERT_EQ(fake->copies.size(), 2u);
  EXPECT_EQ(fake->copies[0].stream, stream);
  EXPECT_EQ(fake->copies[1].stream, stream);
  std::vector<float> after = {2, before[1], 1, before[3]};
  EXPECT_EQ(valuesOf(first), after);
  fake->calls.clear();
  EXPECT_EQ(valuesOf(second), after);
  EXPECT_TRUE(second.replayed());
  EXPECT_EQ(fake->calls.count("cuGraphExecKernelNodeSetParams"), 0u);
  EXPECT_EQ(valuesOf(*std::make_unique<Session>(prepared(model))), after)
      << "and sessions made later";
}

TEST_F(UpdateRowsTest, NeighboursAreOneCopy) {
  Model model = load(markW);
  Session session = prepared(model);
  fake->copies.clear();
  model.updateRows("w", {1, 2, 3}, Tensor(values, FUSEC_F32, {3, 1}));
  ASSERT_EQ(fake->copies.size(), 1u);
  EXPECT_EQ(fake->copies[0].size, 12u);
  float *weight = weightOf(session);
  EXPECT_EQ(fake->copies[0].to, reinterpret_cast<uint64_t>(weight + 1));
  EXPECT_EQ(std::vector<float>(weight + 1, weight + 4),
            (std::vector<float>{1, 2, 3}));
}

TEST_F(UpdateRowsTest, OfEqualIdsTheLastCounts) {
  Model model = load(markW);
  Session session = prepared(model);
  model.updateRows("w", {3, 3, 0, 3}, Tensor(values, FUSEC_F32, {4, 1}));
  EXPECT_EQ(valuesOf(session)[3], 4);
  EXPECT_EQ(valuesOf(session)[0], 3);
}

TEST_F(UpdateRowsTest, HostMemoryIsWaitedFor) {
  Model model = load(markW);
  Session session = prepared(model);
  fake->calls.clear();
  Tensor rows =
      Tensor(values, FUSEC_F32, {4, 1}).setDeviceType(FUSEC_DEVICE_CPU);
  model.updateRows("w", {3, 0, 1, 2}, rows);
  EXPECT_EQ(fake->calls["cuMemcpyHtoDAsync"], 2);
  EXPECT_EQ(fake->calls["cuStreamSynchronize"], 1);
  values[0] = 9;
  EXPECT_EQ(valuesOf(session), (std::vector<float>{2, 3, 4, 1}));
}

TEST_F(UpdateRowsTest, NoRows) {
  Model model = load(markW);
  fake->calls.clear();
  model.updateRows("w", {}, Tensor(nullptr, FUSEC_F32, {0, 1}));
  EXPECT_TRUE(fake->calls.empty());
}

TEST_F(UpdateRowsTest, WhatIsRefusedChangesNothing) {
  Model model = load(markW);
  Session session = prepared(model);
  std::vector<float> before = valuesOf(session);
  fake->copies.clear();
  Tensor two(values, FUSEC_F32, {2, 1});
  EXPECT_EQ(updateError(model, "v", {0, 1}, two),
            "the model has no updatable weight 'v'; it has 'w'");
  EXPECT_EQ(updateError(model, "w", {0, 4}, two),
            "weight 'w': ids[1]: expected a row from 0 to below 4, found 4");
  EXPECT_EQ(updateError(model, "w", {-1, 0}, two),
            "weight 'w': ids[0]: expected a row from 0 to below 4, found -1");
  EXPECT_EQ(updateError(model, "w", {0, 1}, Tensor(values, FUSEC_F32, {2, 2})),
            "weight 'w': size 1: expected 1, found 2");
  EXPECT_EQ(updateError(model, "w", {0, 1}, Tensor(values, FUSEC_F16, {2, 1})),
            "weight 'w': expected element type f32, found f16");
  EXPECT_EQ(updateError(model, "w", {0, 1}, Tensor(values, FUSEC_F32, {2})),
            "weight 'w': expected rank 2, found 1");
  EXPECT_EQ(updateError(model, "w", {0}, two),
            "weight 'w': expected as many rows as ids, 1");
  fusec_tensor view = two.view();
  char message[256];
  EXPECT_EQ(fusec_model_update_rows(model.handle(), "w", nullptr, &view,
                                    nullptr, message, sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message,
               "weight 'w': expected 2 ids, one a row, found a null pointer");
  EXPECT_EQ(fusec_model_update_rows(model.handle(), nullptr, nullptr, &view,
                                    nullptr, message, sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "expected a pointer for 'name', found a null pointer");
  EXPECT_TRUE(fake->copies.empty());
  EXPECT_EQ(valuesOf(session), before);
  Model plain = load();
  EXPECT_EQ(updateError(plain, "w", {0, 1}, two),
            "the model has no updatable weight 'w'; it was compiled without "
            "--updatable");
}

TEST_F(UpdateRowsTest, CallsThatFail) {
  Model model = load(markW);
  Tensor rows(values, FUSEC_F32, {2, 1});
  for (const char *call : {"cuCtxPushCurrent", "cuMemcpyDtoDAsync"}) {
    failNext(call, 999);
    messageOf(FUSEC_DRIVER_ERROR, [&] { model.updateRows("w", {0, 2}, rows); });
  }
  // What is enqueued from memory of the host is waited for all the same.
  rows.setDeviceType(FUSEC_DEVICE_CPU);
  fake->calls.clear();
  failNext("cuMemcpyHtoDAsync", 999, 2);
  EXPECT_EQ(messageOf(FUSEC_DRIVER_ERROR,
                      [&] {
                        model.updateRows("w", {0, 2}, rows);
                      }),
            "updating weight 'w': CUDA error 999");
  EXPECT_EQ(fake->calls["cuStreamSynchronize"], 1);
  failNext("cuStreamSynchronize", 999);
  messageOf(FUSEC_DRIVER_ERROR, [&] { model.updateRows("w", {0, 2}, rows); });
}
