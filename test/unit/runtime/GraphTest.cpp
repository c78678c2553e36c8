// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs: what is built, what a replay launches, and when runs launch directly.

#include "test/unit/runtime/LibraryTest.h"

using namespace fusec;
using namespace fusec::test;

namespace {
class GraphTest : public LibraryTest {
protected:
  void prepare(Session &session, int32_t graph) {
    session.prepare({}, nullptr, 0, graph);
  }
  // The symbols launched since the last call, with "replayed " before those of
  // a graph.
  std::string launched() {
    std::string text;
    for (const FakeLaunch &launch : fake->launches)
      text += std::string(text.empty() ? "" : ", ") +
              (launch.replayed ? "replayed " : "") + launch.symbol;
    fake->launches.clear();
    return text;
  }
  int calls(const char *name) { return fake->calls[name]; }

  Tensors tensors;
};

// Leaves the step "mix" out.
void oneLaunch(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans)
    plan.steps.pop_back();
}
} // namespace

TEST_F(GraphTest, ReplaysTheLaunches) {
  Session session = load().session();
  tensors.bind(session, 100);
  session.prepare();
  EXPECT_EQ(calls("cuGraphAddKernelNode"), 2);
  EXPECT_EQ(calls("cuGraphKernelNodeSetAttribute"), 2)
      << "the cluster, and that all blocks run at the same time";
  EXPECT_EQ(calls("cuGraphInstantiate"), 1);
  EXPECT_EQ(calls("cuGraphUpload"), 1);
  EXPECT_TRUE(fake->launches.empty());
  tensors.x[0] = 1.5f;
  fake->calls.clear();
  session.run(reinterpret_cast<void *>(0x77));
  EXPECT_TRUE(session.replayed());
  EXPECT_EQ(session.launchCount(), 2u);
  EXPECT_EQ(tensors.z[0], 3.0f);
  for (const char *name :
       {"cuLaunchKernelEx", "cuGraphInstantiate", "cuGraphUpload", "cuMemAlloc",
        "cuStreamSynchronize"})
    EXPECT_EQ(fake->calls.count(name), 0u) << name;

  // A replay launches what direct launches do, but that none starts early.
  std::vector<FakeLaunch> replayed = fake->launches;
  fake->launches.clear();
  prepare(session, FUSEC_GRAPH_OFF);
  session.run(reinterpret_cast<void *>(0x77));
  EXPECT_FALSE(session.replayed());
  ASSERT_EQ(replayed.size(), 2u);
  ASSERT_EQ(fake->launches.size(), 2u);
  for (size_t i = 0; i != 2; ++i) {
    const FakeLaunch &direct = fake->launches[i];
    EXPECT_EQ(replayed[i].symbol, direct.symbol);
    EXPECT_EQ(replayed[i].grid, direct.grid);
    EXPECT_EQ(replayed[i].block, direct.block);
    EXPECT_EQ(replayed[i].cluster, direct.cluster);
    EXPECT_EQ(replayed[i].smem, direct.smem);
    EXPECT_EQ(replayed[i].stream, direct.stream);
    EXPECT_EQ(replayed[i].params, direct.params);
    EXPECT_EQ(replayed[i].pdl, direct.pdl);
    EXPECT_EQ(replayed[i].cooperative, direct.cooperative);
  }
  EXPECT_EQ(replayed[1].cluster, (std::array<unsigned, 3>{2, 1, 1}));
}

TEST_F(GraphTest, UpdatesWhatHasChanged) {
  Session session = load().session();
  tensors.bind(session, 100);
  session.prepare();
  session.run();
  fake->calls.clear();
  session.run();
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams"), 0) << "nothing changed";
  EXPECT_EQ(calls("cuTensorMapEncodeTiled"), 0);

  tensors.x[1] = 2;
  tensors.y[1] = 5;
  session.bind("x", Tensor(tensors.y, FUSEC_F32, {100, 4}));
  session.run();
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams"), 2);
  EXPECT_EQ(calls("cuTensorMapEncodeTiled"), 1);
  EXPECT_EQ(tensors.z[1], 10);
  EXPECT_EQ(wordAt<float *>(fake->launches.back(), 192), tensors.y);

  session.bind("x", Tensor(tensors.x, FUSEC_F32, {100, 4}));
  session.run();
  EXPECT_EQ(tensors.z[1], 4);
  // y is in no kernel.
  fake->calls.clear();
  session.bind("y", Tensor(tensors.x, FUSEC_F32, {100, 4}));
  session.run();
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams"), 0);
  EXPECT_TRUE(session.replayed());
}

TEST_F(GraphTest, TensorsMayBeBoundAfterPrepare) {
  Session session = load().session();
  session.prepare({{"batch", 100}, {"n", 4}});
  tensors.bind(session, 100);
  tensors.x[399] = 4;
  session.run();
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");
  EXPECT_EQ(tensors.z[399], 8);
}

TEST_F(GraphTest, OtherAlignmentLaunchesDirectly) {
  Session session = load().session();
  tensors.bind(session, 100);
  session.prepare();
  session.bind("x", Tensor(tensors.x + 1, FUSEC_F32, {100, 4}));
  session.run();
  EXPECT_FALSE(session.replayed());
  EXPECT_EQ(launched(), "fake_double, fake_scalar");
  session.bind("x", Tensor(tensors.x, FUSEC_F32, {100, 4}));
  session.run();
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");

  // Prepared with the other alignment, the graph has the other kernels.
  session.bind("x", Tensor(tensors.x + 1, FUSEC_F32, {100, 4}));
  session.prepare();
  tensors.x[1] = 7;
  session.run();
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_scalar");
  EXPECT_EQ(tensors.z[0], 14);
  EXPECT_EQ(fake->liveGraphExecs, 1);
  EXPECT_EQ(fake->liveGraphs, 1);
}

TEST_F(GraphTest, CapturedRunsLaunchDirectly) {
  Session session = load().session();
  tensors.bind(session, 100);
  prepare(session, FUSEC_GRAPH_ON);
  fake->capturing = reinterpret_cast<void *>(0x88);
  session.run(reinterpret_cast<void *>(0x88));
  EXPECT_FALSE(session.replayed());
  EXPECT_EQ(launched(), "fake_double, fake_vector");
  // Rebound while capturing: the graph learns of it later.
  session.bind("x", Tensor(tensors.y, FUSEC_F32, {100, 4}));
  session.run(reinterpret_cast<void *>(0x88));
  launched();
  tensors.y[0] = 3;
  session.run(reinterpret_cast<void *>(0x99));
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");
  EXPECT_EQ(tensors.z[0], 6);
}

TEST_F(GraphTest, WhichRunsHaveOne) {
  Model one = load(oneLaunch);
  Session single = one.session();
  tensors.bind(single, 100);
  prepare(single, FUSEC_GRAPH_AUTO);
  single.run();
  EXPECT_EQ(launched(), "fake_double");
  prepare(single, FUSEC_GRAPH_ON);
  single.run();
  EXPECT_EQ(launched(), "replayed fake_double");

  Session session = load().session();
  fake->calls.clear();
  tensors.bind(session, 100);
  prepare(session, FUSEC_GRAPH_OFF);
  session.run();
  EXPECT_EQ(launched(), "fake_double, fake_vector");
  EXPECT_EQ(calls("cuGraphCreate"), 0);
  EXPECT_EQ(calls("cuStreamIsCapturing"), 0);
  // Asked for later, for the same dimensions; then refused again.
  prepare(session, FUSEC_GRAPH_AUTO);
  session.run();
  prepare(session, FUSEC_GRAPH_OFF);
  session.run();
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector, "
                        "fake_double, fake_vector");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT, [&] { prepare(session, 3); }),
            "graph: expected 0, 1 or 2, found 3");

  Session empty = load().session();
  for (const char *name : {"x", "y", "z"})
    empty.bind(name, Tensor(nullptr, FUSEC_F32, {0, 4}));
  prepare(empty, FUSEC_GRAPH_ON);
  empty.run();
  EXPECT_EQ(empty.launchCount(), 0u);
  EXPECT_EQ(launched(), "");
}

TEST_F(GraphTest, KeepsTheRunsUsedLast) {
  Session session = load().session();
  session.prepare({{"batch", 256}, {"n", 4}}); // the largest arena
  auto run = [&](int64_t batch) {
    tensors.bind(session, batch);
    session.prepare();
    session.run();
    EXPECT_TRUE(session.replayed());
  };
  fake->calls.clear();
  for (int64_t batch = 65; batch != 65 + 15; ++batch)
    run(batch);
  EXPECT_EQ(calls("cuGraphInstantiate"), 15);
  EXPECT_EQ(fake->liveGraphExecs, 16);
  for (int64_t batch = 65; batch != 65 + 15; ++batch)
    run(batch);
  EXPECT_EQ(calls("cuGraphInstantiate"), 15) << "all are kept";
  run(200); // in the place of 256
  run(201); // in the place of 65
  run(66);
  EXPECT_EQ(calls("cuGraphInstantiate"), 17);
  EXPECT_EQ(fake->liveGraphExecs, 16);
  run(65);
  EXPECT_EQ(calls("cuGraphInstantiate"), 18);
  EXPECT_EQ(fake->liveGraphExecs, 16);
}

TEST_F(GraphTest, GoesWithItsArena) {
  alignas(256) static char arena[4096];
  Session session = load().session();
  for (int64_t batch : {65, 256}) {
    tensors.bind(session, batch);
    session.prepare();
    session.run();
  }
  EXPECT_EQ(fake->liveGraphExecs, 1) << "the smaller arena is gone";
  tensors.bind(session, 65);
  session.prepare({}, arena, sizeof(arena));
  session.run();
  EXPECT_EQ(wordAt<char *>(fake->launches.back(), 0), arena);
  EXPECT_EQ(fake->liveGraphExecs, 2);
  session.prepare();
  session.run();
  EXPECT_NE(wordAt<char *>(fake->launches.back(), 0), arena);
  EXPECT_TRUE(session.replayed());
  EXPECT_EQ(fake->liveGraphExecs, 3);
}

TEST_F(GraphTest, RefusedByTheDriver) {
  Model model = load();
  for (const char *name :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddDependencies",
        "cuGraphKernelNodeSetAttribute", "cuGraphInstantiate", "cuGraphUpload",
        "cuStreamSynchronize"}) {
    SCOPED_TRACE(name);
    Session session = model.session();
    tensors.bind(session, 100);
    failNext(name, 801);
    session.prepare();
    EXPECT_EQ(fake->failAt, 0) << "it was called";
    EXPECT_EQ(fake->liveGraphs + fake->liveGraphExecs, 0);
    session.run();
    EXPECT_EQ(launched(), "fake_double, fake_vector");
    fake->calls.clear();
    session.prepare();
    EXPECT_EQ(calls("cuGraphCreate"), 0) << "not tried again";

    failNext(name, 801);
    std::string message = messageOf(FUSEC_DRIVER_ERROR,
                                    [&] { prepare(session, FUSEC_GRAPH_ON); });
    EXPECT_NE(message.find("CUDA error 801"), std::string::npos) << message;
    session.run();
    EXPECT_EQ(launched(), "fake_double, fake_vector");
    prepare(session, FUSEC_GRAPH_ON);
    session.run();
    EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");
  }
  Session session = model.session();
  tensors.bind(session, 100);
  failNext("cuGraphAddKernelNode", 801, 2);
  EXPECT_EQ(
      messageOf(FUSEC_DRIVER_ERROR, [&] { prepare(session, FUSEC_GRAPH_ON); }),
      "adding kernel 'fake_vector' of step 'mix' with a grid of [8, 1, "
      "1] blocks of [128, 1, 1] threads to a graph: CUDA error 801");
}

// Each failure takes a place among the runs that are kept.
TEST_F(GraphTest, RefusedAgainAndAgain) {
  Session session = load().session();
  session.prepare({{"batch", 200}, {"n", 4}});
  for (int64_t batch = 100; batch != 120; ++batch) {
    failNext("cuGraphInstantiate", 801);
    messageOf(FUSEC_DRIVER_ERROR, [&] {
      session.prepare({{"batch", batch}, {"n", 4}}, nullptr, 0, FUSEC_GRAPH_ON);
    });
  }
  tensors.bind(session, 119);
  session.run();
  EXPECT_EQ(launched(), "fake_double, fake_vector");
}

TEST_F(GraphTest, DriverWithoutGraphs) {
  LoadOptions old;
  old.driver = FUSEC_FAKE_DRIVER_WITHOUT_GRAPHS;
  std::vector<uint8_t> file = makeBundle();
  Session session = Model::loadMemory(file.data(), file.size(), old).session();
  tensors.bind(session, 100);
  tensors.x[0] = 2;
  session.prepare();
  session.run();
  EXPECT_FALSE(session.replayed());
  EXPECT_EQ(tensors.z[0], 4);
  EXPECT_EQ(
      messageOf(FUSEC_UNSUPPORTED, [&] { prepare(session, FUSEC_GRAPH_ON); }),
      "the driver has no CUDA graphs: expected FUSEC_GRAPH_AUTO or "
      "FUSEC_GRAPH_OFF");
}

TEST_F(GraphTest, CallsThatFailInARun) {
  Session session = load().session();
  tensors.bind(session, 100);
  prepare(session, FUSEC_GRAPH_ON);
  for (const char *name : {"cuStreamIsCapturing", "cuGraphLaunch",
                           "cuGraphExecKernelNodeSetParams"}) {
    session.bind("x", Tensor(tensors.y, FUSEC_F32, {100, 4}));
    failNext(name, 719);
    EXPECT_EQ(messageOf(FUSEC_DRIVER_ERROR, [&] { session.run(); }),
              std::string(name) + ": CUDA error 719");
    EXPECT_EQ(launched(), "");
    session.bind("x", Tensor(tensors.x, FUSEC_F32, {100, 4}));
    tensors.x[0] += 1;
    session.run();
    EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");
    EXPECT_EQ(tensors.z[0], 2 * tensors.x[0]);
  }
  // A graph nobody insisted on is given up where it cannot be updated.
  session.prepare();
  session.bind("x", Tensor(tensors.y, FUSEC_F32, {100, 4}));
  failNext("cuGraphExecKernelNodeSetParams", 801, 2);
  session.run();
  EXPECT_EQ(launched(), "fake_double, fake_vector");
  EXPECT_EQ(tensors.z[0], 2 * tensors.y[0]);
  session.run();
  EXPECT_EQ(launched(), "fake_double, fake_vector");
  prepare(session, FUSEC_GRAPH_ON);
  session.run();
  EXPECT_EQ(launched(), "replayed fake_double, replayed fake_vector");
}

// A program of the first version passes a struct without the member.
TEST_F(GraphTest, OlderCaller) {
  Session session = load().session();
  tensors.bind(session, 100);
  fusec_prepare_options options = {};
  options.struct_size = offsetof(fusec_prepare_options, graph);
  options.graph = FUSEC_GRAPH_OFF; // beyond its end
  char message[256];
  EXPECT_EQ(fusec_session_prepare(session.handle(), &options, message,
                                  sizeof(message)),
            FUSEC_OK)
      << message;
  session.run();
  EXPECT_TRUE(session.replayed());
  options.struct_size -= 8;
  EXPECT_EQ(fusec_session_prepare(session.handle(), &options, message,
                                  sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
}
