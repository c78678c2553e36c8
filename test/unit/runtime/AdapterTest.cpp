// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapters: packing, the sessions' own factors, and what is refused.

#include "test/unit/runtime/LibraryTest.h"

#include <cmath>

using namespace fusec;
using namespace fusec::test;

namespace {
// The adapter "up" of the test bundle: a [2, 2], b [2, 1], fp32. Launches of
// batch 10 read both: fake_small the address 4 bytes into a, fake_vector the
// tensor map of a.
class AdapterTest : public OwnWeightTest {
protected:
  static Tensor host(void *data, fusec_dtype dtype,
                     std::vector<int64_t> sizes) {
    return Tensor(data, dtype, std::move(sizes))
        .setDeviceType(FUSEC_DEVICE_CPU);
  }
  std::string createError(const Model &model,
                          const std::vector<Update> &updates) {
    return messageOf(FUSEC_INVALID_ARGUMENT,
                     [&] { Adapter::create(model, updates); });
  }

  float a[4] = {1, 2, 3, 4}, b[2] = {5, 6};
};
} // namespace

TEST_F(AdapterTest, Infos) {
  Model model = load(addAdapter);
  std::vector<AdapterInfo> infos = model.adapters();
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].name, "up");
  EXPECT_EQ(infos[0].dtype, FUSEC_F32);
  EXPECT_EQ(infos[0].rank, 2);
  EXPECT_EQ(infos[0].k, 2);
  EXPECT_EQ(infos[0].n, 1);
  EXPECT_TRUE(load().adapters().empty());
}

TEST_F(AdapterTest, EachSessionHasItsOwnFactors) {
  Model model = load(addAdapter);
  Session first = prepared(model), second = prepared(model);
  float *one = weightOf(first), *two = weightOf(second);
  EXPECT_NE(one, two);
  EXPECT_EQ(valuesOf(first), valuesOf(second));
  EXPECT_EQ(reinterpret_cast<uint8_t *>(one)[4], 5) << "what the bundle has";
  // Maps are of the session's factors too.
  EXPECT_EQ(wordAt<float *>(fake->launches.back(), 64), one);

  std::vector<float> own = valuesOf(first);
  Adapter adapter = Adapter::create(
      model, {{"up", host(a, FUSEC_F32, {2, 2}), host(b, FUSEC_F32, {2, 1})}});
  fake->calls.clear();
  fake->copies.clear();
  first.setAdapter(adapter, reinterpret_cast<void *>(0x77));
  EXPECT_EQ(fake->calls.count("cuMemAlloc"), 0u);
  EXPECT_EQ(fake->calls.count("cuStreamSynchronize"), 0u);
  ASSERT_EQ(fake->copies.size(), 1u) << "one copy";
  EXPECT_EQ(fake->copies[0].stream, reinterpret_cast<void *>(0x77));
  EXPECT_EQ(fake->copies[0].to, reinterpret_cast<uint64_t>(one));
  EXPECT_EQ(weightOf(first), one) << "the address stays";
  EXPECT_EQ(valuesOf(first), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(second), own);

  first.clearAdapter();
  EXPECT_EQ(valuesOf(first), (std::vector<float>{0, 0, 0, 0}));
  first.setAdapter(adapter);
  EXPECT_EQ(valuesOf(first), (std::vector<float>{1, 2, 3, 4}));
  first.setAdapter(Adapter::own(model));
  EXPECT_EQ(valuesOf(first), own);
}

TEST_F(AdapterTest, GraphsStay) {
  Model model = load(addAdapter);
  Session session = prepared(model, FUSEC_GRAPH_ON);
  session.run();
  ASSERT_TRUE(session.replayed());
  Adapter adapter = Adapter::create(
      model, {{"up", host(a, FUSEC_F32, {2, 2}), host(b, FUSEC_F32, {2, 1})}});
  fake->calls.clear();
  session.setAdapter(adapter);
  session.run();
  EXPECT_TRUE(session.replayed());
  EXPECT_EQ(fake->calls.count("cuGraphExecKernelNodeSetParams"), 0u);
  EXPECT_EQ(fake->calls.count("cuGraphInstantiate"), 0u);
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(AdapterTest, RanksArePaddedAndScalesAreInB) {
  Model model = load(addAdapter);
  Session session = prepared(model);
  Update update{"up", host(a, FUSEC_F32, {2, 1}), host(b, FUSEC_F32, {1, 1}),
                0.5};
  session.setAdapter(Adapter::create(model, {update}));
  float *factors = weightOf(session);
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 0, 2, 0}));
  EXPECT_EQ(factors[64], 2.5f) << "b lies 256 bytes behind a";
  EXPECT_EQ(factors[65], 0.0f);

  update = {"up", host(a, FUSEC_F32, {2, 2}), host(b, FUSEC_F32, {1, 2}), 2,
            true};
  session.setAdapter(Adapter::create(model, {update}));
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(factors[64], 10.0f);
  EXPECT_EQ(factors[65], 12.0f);

  // Memory of the device is read as well; an empty rank adds nothing.
  update = {"up", Tensor(a, FUSEC_F32, {2, 2}), Tensor(b, FUSEC_F32, {2, 1})};
  session.setAdapter(Adapter::create(model, {update}));
  EXPECT_EQ(valuesOf(session), (std::vector<float>{1, 2, 3, 4}));
  update = {"up", Tensor(nullptr, FUSEC_F32, {2, 0}),
            Tensor(nullptr, FUSEC_F32, {0, 1})};
  session.setAdapter(Adapter::create(model, {update}));
  EXPECT_EQ(valuesOf(session), (std::vector<float>{0, 0, 0, 0}));
  session.setAdapter(Adapter::create(model, {}));
  EXPECT_EQ(valuesOf(session), (std::vector<float>{0, 0, 0, 0}));
}

TEST_F(AdapterTest, SmallFloats) {
  auto makeHalf = [](format::Manifest &manifest) {
    addAdapter(manifest);
    for (format::Plan &plan : manifest.plans)
      for (format::Weight &weight : plan.weights) {
        weight.dtype = format::DType::F16;
        weight.size /= 2;
      }
  };
  Model model = load(makeHalf);
  Session session = prepared(model);
  // Ties to even, a subnormal, an infinity that is none by rounding.
  float values[4] = {1 + 0x1p-11f, 1 + 0x3p-11f, 0x1p-24f, INFINITY};
  session.setAdapter(Adapter::create(
      model,
      {{"up", host(values, FUSEC_F32, {2, 2}), host(b, FUSEC_F32, {2, 1})}}));
  uint16_t stored[4];
  std::memcpy(stored, weightOf(session), sizeof(stored));
  EXPECT_EQ(stored[0], 0x3c00);
  EXPECT_EQ(stored[1], 0x3c02);
  EXPECT_EQ(stored[2], 0x0001);
  EXPECT_EQ(stored[3], 0x7c00);

  uint16_t narrow[4] = {0x3f80, 0xc000, 0x4040, 0x0000}; // bf16: 1 -2 3 0
  session.setAdapter(Adapter::create(
      model,
      {{"up", host(narrow, FUSEC_BF16, {2, 2}), host(b, FUSEC_F32, {2, 1})}}));
  std::memcpy(stored, weightOf(session), sizeof(stored));
  EXPECT_EQ(stored[0], 0x3c00);
  EXPECT_EQ(stored[1], 0xc000);
  EXPECT_EQ(stored[2], 0x4200);
  EXPECT_EQ(stored[3], 0x0000);

  values[3] = 1;
  EXPECT_EQ(createError(model, {{"up", host(values, FUSEC_F32, {2, 2}),
                                 host(b, FUSEC_F32, {2, 1}), 1e6}}),
            "adapter 'up': b: element [0, 0], 5.000000 times 1000000.000000, "
            "exceeds f16");
}

TEST_F(AdapterTest, Errors) {
  Model model = load(addAdapter), other = load(addAdapter), plain = load();
  Tensor good = host(a, FUSEC_F32, {2, 2}), goodB = host(b, FUSEC_F32, {2, 1});
  EXPECT_EQ(createError(model, {{"down", good, goodB}}),
            "the model has no adapter 'down'; it has 'up'");
  EXPECT_EQ(createError(plain, {{"up", good, goodB}}),
            "the model has no adapter 'up'; it was compiled without --adapter");
  EXPECT_EQ(createError(model, {{"up", good, goodB}, {"up", good, goodB}}),
            "adapter 'up' is given twice");
  EXPECT_EQ(createError(model, {{"up", host(a, FUSEC_F32, {1, 2}), goodB}}),
            "adapter 'up': a: size 0: expected 2, found 1");
  EXPECT_EQ(createError(model, {{"up", good, host(b, FUSEC_F32, {1, 1})}}),
            "adapter 'up': expected a and b of one rank, found 2 and 1");
  float wide[6] = {};
  EXPECT_EQ(createError(model, {{"up", host(wide, FUSEC_F32, {2, 3}),
                                 host(wide, FUSEC_F32, {3, 1})}}),
            "adapter 'up': a: expected sizes [2, r] with a rank r of at most "
            "2, found [2, 3]");
  EXPECT_EQ(createError(model, {{"up", host(wide, FUSEC_F32, {3, 2}),
                                 host(wide, FUSEC_F32, {1, 3}), 1, true}}),
            "adapter 'up': a: expected sizes [r, 2] with a rank r of at most "
            "2, found [3, 2]");
  EXPECT_EQ(createError(model, {{"up", host(a, FUSEC_I32, {2, 2}), goodB}}),
            "adapter 'up': a: expected element type f16, bf16 or f32, found "
            "i32");
  EXPECT_EQ(
      createError(model, {{"up", host(nullptr, FUSEC_F32, {2, 2}), goodB}}),
      "adapter 'up': a: expected 16 bytes, found a null pointer");
  EXPECT_EQ(createError(model, {{"up", good, goodB, NAN}}),
            "adapter 'up': expected a finite scale");
  EXPECT_EQ(
      createError(model, {{"up", Tensor(a, FUSEC_F32, {2, 2}, 1), goodB}}),
      "adapter 'up': a: expected memory of the host or of cuda:0, found "
      "cuda:1");

  Session session(model);
  Adapter foreign = Adapter::own(other);
  EXPECT_EQ(
      messageOf(FUSEC_INVALID_ARGUMENT, [&] { session.setAdapter(foreign); }),
      "expected an adapter that was made for this session's model");
  Session without(plain);
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { without.clearAdapter(); }),
            "the model has no adapters: compile it with --adapter");
  messageOf(FUSEC_INVALID_ARGUMENT, [&] { Adapter::own(plain); });
  failNext("cuMemcpyDtoDAsync", 719);
  messageOf(FUSEC_DRIVER_ERROR,
            [&] { session.setAdapter(Adapter::own(model)); });
  failNext("cuMemAlloc", 2);
  messageOf(FUSEC_OUT_OF_MEMORY, [&] { Adapter::create(model, {}); });

  char message[200];
  fusec_adapter *made = nullptr;
  fusec_update update = {};
  EXPECT_EQ(fusec_adapter_create(model.handle(), &update, 1, &made, message,
                                 sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_NE(std::string(message).find("struct_size"), std::string::npos);
  update.struct_size = sizeof(update);
  update.name = "up";
  EXPECT_EQ(fusec_adapter_create(model.handle(), &update, 1, &made, message,
                                 sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "adapter 'up': a: expected a tensor, found a null "
                        "pointer");
  EXPECT_EQ(fusec_adapter_create(model.handle(), nullptr, 1, &made, message,
                                 sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
}

TEST_F(AdapterTest, BundlesOfThePreviousMinorVersionLoad) {
  std::vector<uint8_t> file = makeBundle(
      [](format::Manifest &m) { m.minor = format::formatMinor - 1; });
  Model model = Model::loadMemory(file.data(), file.size(), options());
  Session session = prepared(model);
  session.run();
  EXPECT_EQ(session.launchCount(), 2u);
}
