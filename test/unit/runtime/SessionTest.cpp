// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preparing and running, and every call that can fail there.

#include "test/unit/runtime/SessionFixture.h"

using namespace fusec;
using namespace fusec::test;

TEST_F(SessionTest, RunsLaunchesInOrder) {
  session().prepare({{"batch", 100}, {"n", 4}}, nullptr, 0, FUSEC_GRAPH_OFF);
  EXPECT_EQ(session().outputSizes(0, 2), (std::vector<int64_t>{200, 4}));
  tensors.bind(session(), 100);
  tensors.x[0] = 1.5f;
  fake->calls.clear();
  session().run(reinterpret_cast<void *>(0x77));
  EXPECT_EQ(fake->calls.count("cuMemAlloc"), 0u);
  EXPECT_EQ(fake->calls.count("cuStreamSynchronize"), 0u);
  EXPECT_EQ(session().launchCount(), 2u);
  EXPECT_EQ(tensors.z[0], 3.0f);
  ASSERT_EQ(fake->launches.size(), 2u);

  const FakeLaunch &scale = fake->launches[0];
  EXPECT_EQ(scale.symbol, "fake_double");
  EXPECT_EQ(scale.grid, (std::array<unsigned, 3>{4, 1, 1}));
  EXPECT_EQ(scale.block, (std::array<unsigned, 3>{128, 1, 1}));
  EXPECT_EQ(scale.smem, 1024u);
  EXPECT_EQ(scale.stream, reinterpret_cast<void *>(0x77));
  EXPECT_FALSE(scale.pdl || scale.cooperative);
  ASSERT_EQ(scale.params.size(), 24u);
  EXPECT_EQ(wordAt<float *>(scale, 0), tensors.x);
  EXPECT_EQ(wordAt<float *>(scale, 8), tensors.z);
  EXPECT_EQ(wordAt<int64_t>(scale, 16), 400);

  const FakeLaunch &mix = fake->launches[1];
  EXPECT_EQ(mix.symbol, "fake_vector");
  EXPECT_EQ(mix.grid[0], 8u);
  EXPECT_EQ(mix.cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_TRUE(mix.pdl && mix.cooperative);
  ASSERT_EQ(mix.params.size(), 456u);
  for (size_t i = 0; i != format::flagWords; ++i)
    EXPECT_EQ(wordAt<uint32_t *>(mix, 448)[i], 0u);
  EXPECT_EQ(wordAt<uint64_t>(mix, 0) % 256, 0u);
  EXPECT_EQ(wordAt<char *>(mix, 8), reinterpret_cast<char *>(tensors.z) + 1600);
  // The maps, each encoded for its address: weight, input, arena.
  EXPECT_EQ(wordAt<float *>(mix, 192), tensors.x);
  EXPECT_EQ(wordAt<uint64_t>(mix, 320), wordAt<uint64_t>(mix, 0));
  const FakeMap &input = fake->maps.back();
  EXPECT_EQ(input.sizes, (std::vector<uint64_t>{4, 100}));
  EXPECT_EQ(input.strides, (std::vector<uint64_t>{16}));
  EXPECT_EQ(input.box, (std::vector<unsigned>{4, 64}));
  EXPECT_EQ(input.promotion, 2) << "as the driver numbers 128 bytes";
}

// As many as the most demanding launch asks for; the word behind the number of
// launches tells how many.
TEST_F(SessionTest, LaunchesMayAskForMoreFlags) {
  constexpr uint32_t words = 1000;
  Session more(load([](format::Manifest &m) {
    m.plans[1].steps[1].variants[0].launches[0].params.back() =
        format::FlagsParam{words};
  }));
  tensors.bind(more, 100);
  more.prepare({{"batch", 100}, {"n", 4}}, nullptr, 0, FUSEC_GRAPH_OFF);
  more.run(nullptr);
  const uint32_t *flags = wordAt<uint32_t *>(fake->launches.back(), 448);
  for (size_t i = 0; i != words; ++i)
    EXPECT_EQ(flags[i], i == format::flagSizeWord ? words : 0) << i;
}

TEST_F(SessionTest, BlocksThatWaitForOneAnotherHaveRoom) {
  auto ask = [&](unsigned team) {
    Session session(load([&](format::Manifest &m) {
      m.plans[1].steps[1].variants[0].launches[0].params.back() =
          format::FlagsParam{66, team};
    }));
    tensors.bind(session, 100);
    session.prepare();
  };
  fake->activeClusters = 3; // of two blocks
  EXPECT_NO_THROW(ask(6));
  std::string message = messageOf(FUSEC_UNSUPPORTED, [&] { ask(7); });
  EXPECT_NE(message.find("7 blocks wait for one another, and the device has "
                         "room for 6"),
            std::string::npos)
      << message;
}

// Only the driver knows where tensor maps lie in a kernel's constant bank.
TEST_F(SessionTest, ParametersOfKernelsWithMapsArePassedOneByOne) {
  fake->driverVersion = 12000;
  Session single(load([](format::Manifest &m) {
    m.plans[1].minDriver = 12000;
    m.plans[1].steps[1].variants[0].launches[0].cooperative = false;
  }));
  tensors.bind(single, 100);
  single.prepare({}, nullptr, 0, FUSEC_GRAPH_OFF);
  single.run();
  ASSERT_EQ(fake->launches.size(), 2u);
  EXPECT_FALSE(fake->launches[0].oneByOne);
  const FakeLaunch &mix = fake->launches[1];
  EXPECT_TRUE(mix.oneByOne);
  EXPECT_FALSE(mix.cooperative);
  ASSERT_EQ(mix.params.size(), 456u);
  EXPECT_EQ(wordAt<float *>(mix, 192), tensors.x);
  std::vector<uint8_t> direct = mix.params;

  single.prepare({}, nullptr, 0, FUSEC_GRAPH_ON);
  single.run();
  EXPECT_TRUE(fake->launches.back().replayed && fake->launches.back().oneByOne);
  EXPECT_EQ(fake->launches.back().params, direct);
  single.bind("x", Tensor(tensors.y, FUSEC_F32, {100, 4}));
  single.run();
  EXPECT_TRUE(fake->launches.back().replayed);
  EXPECT_EQ(wordAt<float *>(fake->launches.back(), 192), tensors.y);
}

TEST_F(SessionTest, CooperativeGridsAreWhatTheDeviceHolds) {
  fake->activeClusters = 3;
  tensors.bind(session(), 100);
  session().prepare();
  session().run();
  EXPECT_EQ(fake->launches[1].grid[0], 6u);

  fake->activeClusters = 0;
  Session other(load());
  tensors.bind(other, 100);
  EXPECT_EQ(messageOf(FUSEC_UNSUPPORTED, [&] { other.prepare(); }),
            "kernel 'fake_vector' of step 'mix': the device has no room for "
            "its blocks");
}

TEST_F(SessionTest, GuardsChooseVariants) {
  tensors.bind(session(), 10);
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {10, 4}).setByteOffset(4));
  session().prepare();
  session().run();
  ASSERT_EQ(fake->launches.size(), 2u);
  const FakeLaunch &small = fake->launches[0];
  EXPECT_EQ(small.symbol, "fake_small");
  ASSERT_EQ(small.params.size(), 40u);
  EXPECT_EQ(wordAt<int32_t>(small, 0), 10);
  EXPECT_EQ(*wordAt<uint8_t *>(small, 8), 5) << "a weight at offset 4";
  EXPECT_EQ(wordAt<int32_t>(small, 16), 3);
  EXPECT_EQ(wordAt<int64_t>(small, 24), 7);
  EXPECT_EQ(*wordAt<uint64_t *>(small, 32), 0u) << "the fault counter";
  EXPECT_EQ(fake->launches[1].symbol, "fake_scalar");
  // The block ends with its last parameter: a pointer and four bytes.
  EXPECT_EQ(fake->launches[1].params.size(), 12u);
  EXPECT_EQ(wordAt<char *>(fake->launches[1], 0),
            reinterpret_cast<char *>(tensors.x) + 4);

  // The same session, an aligned tensor: nothing to prepare again.
  session().bind("x", Tensor(tensors.x, FUSEC_F32, {10, 4}));
  session().run();
  EXPECT_EQ(fake->launches[3].symbol, "fake_vector");
  EXPECT_EQ(wordAt<float *>(fake->launches[3], 192), tensors.x);
}

TEST_F(SessionTest, EmptyBatchLaunchesNothing) {
  session().bind("x", Tensor(nullptr, FUSEC_F32, {0, 4}));
  session().bind("y", Tensor(nullptr, FUSEC_F32, {0, 4}));
  session().bind("z", Tensor(nullptr, FUSEC_F32, {0, 4}));
  session().prepare();
  session().run();
  EXPECT_EQ(session().launchCount(), 0u);
  EXPECT_TRUE(fake->launches.empty());
}

TEST_F(SessionTest, Faults) {
  tensors.bind(session(), 10);
  session().prepare();
  session().run();
  EXPECT_EQ(session().faults(), 0u);
  *wordAt<uint64_t *>(fake->launches[0], 32) += 3;
  EXPECT_EQ(session().faults(), 3u);
}

TEST_F(SessionTest, CallersArena) {
  alignas(256) static char arena[1024];
  session().prepare({{"batch", 10}, {"n", 4}}, arena, sizeof(arena));
  tensors.bind(session(), 10);
  session().run();
  EXPECT_EQ(wordAt<char *>(fake->launches[1], 0), arena);
  EXPECT_EQ(fake->calls["cuMemAlloc"], 2) << "weights and fault counter";
  EXPECT_EQ(
      messageOf(FUSEC_INVALID_ARGUMENT,
                [&] {
                  session().prepare({{"batch", 100}}, arena, sizeof(arena));
                }),
      "size 0 of input 'x': expected 100, the dimension 'batch' as prepare() "
      "has it, found "
      "10");
  tensors.bind(session(), 100);
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] { session().prepare({}, arena, sizeof(arena)); }),
            "arena: expected 2048 bytes aligned to 256, found 1024 bytes that "
            "are 0 beyond");
  EXPECT_NE(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] { session().prepare({}, arena + 8, 4096); })
                .find("that are 8 beyond"),
            std::string::npos);
  // What was prepared before is still good.
  tensors.bind(session(), 10);
  session().bind("z", Tensor(arena, FUSEC_F32, {20, 4}));
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { session().run(); }),
            "output 'z' overlaps the arena: expected memory of its own");
}

TEST_F(SessionTest, PreparesAgain) {
  for (int64_t batch : {10, 200, 10, 200}) {
    tensors.bind(session(), batch);
    session().prepare();
    session().run();
  }
  EXPECT_EQ(fake->launches.size(), 8u);
  EXPECT_EQ(fake->calls["cuMemAlloc"], 4)
      << "weights, fault counter, two arenas";
}

TEST_F(SessionTest, EveryCallThatFails) {
  Model model = load();
  auto whole = [&] {
    Session fresh(model);
    tensors.bind(fresh, 100);
    fresh.prepare({}, nullptr, 0, FUSEC_GRAPH_OFF);
    fresh.run();
    fresh.faults();
  };
  fake->calls.clear();
  whole();
  std::map<std::string, int> calls = fake->calls;
  // Making the stream and the session, preparing, running and asking for faults
  // make the context current; what follows frees, which carries on, as does
  // every second exchange.
  calls["cuCtxPushCurrent"] = 5;
  calls["cuThreadExchangeStreamCaptureMode"] = 1;
  for (const auto &[name, count] : calls)
    for (int at = 1; at <= count; ++at) {
      bool memory = name == "cuMemAlloc";
      failNext(name, memory ? 2 : 719, at);
      std::string message =
          messageOf(memory ? FUSEC_OUT_OF_MEMORY : FUSEC_DRIVER_ERROR, whole);
      EXPECT_GT(message.size(), 10u) << name;
      EXPECT_EQ(fake->pushedContexts, 0);
      EXPECT_EQ(fake->liveAllocations, 1)
          << name << ": the model's weights only";
    }
  failNext("cuLaunchKernelEx", 719);
  EXPECT_EQ(messageOf(FUSEC_DRIVER_ERROR, whole),
            "launching kernel 'fake_double' of step 'scale' with a grid of [4, "
            "1, 1] blocks of "
            "[128, 1, 1] threads: CUDA error 719");
  failNext("cuMemAlloc", 2, 2);
  EXPECT_EQ(messageOf(FUSEC_OUT_OF_MEMORY, whole),
            "allocating 2048 bytes for the arena: CUDA_ERROR_OUT_OF_MEMORY "
            "(out of memory)");
}

// Neither is a capture broken, nor does it keep this thread from its work.
TEST_F(SessionTest, WhileAnotherThreadCaptures) {
  fake->capturedElsewhere = true;
  void *stream = reinterpret_cast<void *>(0x77);
  {
    Model model = load(addAdapter);
    Session fresh(model);
    tensors.bind(fresh, 100);
    for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON}) {
      fresh.prepare({}, nullptr, 0, graph);
      fresh.run(stream);
      EXPECT_EQ(fresh.replayed(), graph == FUSEC_GRAPH_ON);
    }
    tensors.bind(fresh, 200);
    fresh.prepare();
    float a[4] = {}, b[2] = {};
    Adapter adapter = Adapter::create(
        model,
        {{"up", Tensor(a, FUSEC_F32, {2, 2}), Tensor(b, FUSEC_F32, {2, 1})}});
    fresh.setAdapter(adapter, stream);
    EXPECT_EQ(fresh.faults(), 0u);
  }
  EXPECT_EQ(fake->liveAllocations + fake->liveModules, 0);
}

TEST_F(SessionTest, OutlivesItsModel) {
  fusec_session *session = nullptr;
  {
    Model model = load();
    ASSERT_EQ(fusec_session_create(model.handle(), &session, nullptr, 0),
              FUSEC_OK);
  }
  EXPECT_EQ(fusec_session_run(session, nullptr, nullptr, 0), FUSEC_NOT_READY);
  fusec_session_free(session);
}
