// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles of runs, by activity records of a fake CUPTI and by events.

#include "test/unit/runtime/FakeCupti.h"
#include "test/unit/runtime/LibraryTest.h"

#include <thread>

using namespace fusec;
using namespace fusec::test;

namespace {
// Runs of batch 100: fake_double of 4 blocks, fake_vector of 8.
class ProfileTest : public LibraryTest {
protected:
  void SetUp() override {
    LibraryTest::SetUp();
    fake->hasClock = true;
    void *library = dlopen(FUSEC_FAKE_CUPTI, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    cupti = reinterpret_cast<FakeCuptiState *(*)()>(
        dlsym(library, "fusecFakeCuptiState"))();
    *cupti = FakeCuptiState();
  }
  void TearDown() override {
    EXPECT_EQ(cupti->enabled, 0);
    EXPECT_EQ(cupti->subscribed, 0);
    LibraryTest::TearDown();
  }

  Session prepared(int32_t graph = FUSEC_GRAPH_AUTO,
                   const Edit &edit = nullptr) {
    Session session = load(edit).session();
    tensors.bind(session, 100);
    session.prepare({}, nullptr, 0, graph);
    return session;
  }
  // The cache of host memory is not flushed, which takes long.
  static ProfileOptions withMethod(int method) {
    ProfileOptions options;
    options.method = method;
    options.runs = 4;
    options.keepCache = true;
    options.cupti = FUSEC_FAKE_CUPTI;
    return options;
  }
  static void expectTimes(const Profile &profile, size_t runs = 4) {
    ASSERT_EQ(profile.steps.size(), 2u);
    EXPECT_NEAR(profile.run, 13, 0.01) << "and an event's own";
    EXPECT_NEAR(profile.steps[0].median, 4, 0.01);
    EXPECT_NEAR(profile.steps[0].min, 4, 0.01);
    EXPECT_NEAR(profile.steps[0].p90, 4, 0.01);
    EXPECT_NEAR(profile.steps[1].median, 8, 0.01);
    EXPECT_NEAR(profile.sum, 12, 0.01);
    EXPECT_EQ(profile.steps[0].start, 0);
    EXPECT_EQ(profile.runs.size(), runs);
    for (const Profile::Run &run : profile.runs) {
      EXPECT_LE(run.enqueueStart, run.enqueueEnd);
      ASSERT_EQ(run.kernels.size(), 2u);
      EXPECT_LE(run.kernels[0].end, run.kernels[1].start + 1);
    }
  }
  // Falls back to events, for this reason.
  void expectEvents(const std::string &reason) {
    Session session = prepared();
    Profile profile = session.profile(withMethod(FUSEC_PROFILE_AUTO));
    EXPECT_EQ(profile.method, FUSEC_PROFILE_EVENTS);
    EXPECT_EQ(profile.reason, reason);
    expectTimes(profile);
    EXPECT_EQ(
        messageOf(FUSEC_UNSUPPORTED,
                  [&] { session.profile(withMethod(FUSEC_PROFILE_ACTIVITY)); }),
        reason);
  }

  FakeCuptiState *cupti = nullptr;
  Tensors tensors;
};

void dropSteps(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans)
    plan.steps.clear();
}
} // namespace

TEST_F(ProfileTest, ByActivity) {
  for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON}) {
    Session session = prepared(graph);
    Profile profile = session.profile(withMethod(FUSEC_PROFILE_AUTO));
    EXPECT_EQ(profile.method, FUSEC_PROFILE_ACTIVITY);
    EXPECT_EQ(profile.reason, "");
    EXPECT_EQ(profile.replayed, graph == FUSEC_GRAPH_ON);
    EXPECT_NEAR(profile.profiled, 13, 0.01);
    expectTimes(profile);
    EXPECT_NEAR(profile.steps[1].start, 4.5, 0.01);
    EXPECT_EQ(profile.runs[0].kernels[0].stream, 7u);
  }
}

TEST_F(ProfileTest, ByEvents) {
  for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON}) {
    Session session = prepared(graph);
    fake->launches.clear();
    Profile profile = session.profile(withMethod(FUSEC_PROFILE_EVENTS));
    EXPECT_EQ(profile.method, FUSEC_PROFILE_EVENTS);
    EXPECT_EQ(profile.reason, "events were asked for");
    EXPECT_NEAR(profile.profiled, 14, 0.01) << "two events more";
    expectTimes(profile);
    EXPECT_FALSE(fake->launches.back().replayed);
    EXPECT_FALSE(fake->launches.back().pdl) << "none starts early";
    // The next run is as it was.
    session.run();
    EXPECT_EQ(session.replayed(), graph == FUSEC_GRAPH_ON);
    EXPECT_EQ(fake->launches.back().pdl, true);
  }
}

TEST_F(ProfileTest, RoundsTakeTurns) {
  Session session = prepared(FUSEC_GRAPH_ON);
  ProfileOptions options = withMethod(FUSEC_PROFILE_EVENTS);
  options.runs = 22;
  fake->launches.clear();
  Profile profile = session.profile(options);
  expectTimes(profile, 22);
  // Launches timed by events replay no graph.
  int turns = 1;
  for (size_t i = 1; i != fake->launches.size(); ++i)
    turns += fake->launches[i].replayed != fake->launches[i - 1].replayed;
  EXPECT_EQ(turns, 2 * 4);
  options.method = FUSEC_PROFILE_ACTIVITY;
  EXPECT_EQ(session.profile(options).runs.size(), 22u);
  EXPECT_EQ(cupti->subscribed, 0);
}

TEST_F(ProfileTest, WhatLaunchesDo) {
  Session session = prepared();
  Profile profile = session.profile(withMethod(FUSEC_PROFILE_EVENTS));
  const Profile::Step &scale = profile.steps[0], &mix = profile.steps[1];
  EXPECT_EQ(scale.step, "scale");
  EXPECT_EQ(scale.kernel, "fake_double");
  EXPECT_EQ(scale.sources, (std::vector<std::string>{"node_a", "node_b"}));
  EXPECT_EQ(scale.lead, "");
  EXPECT_EQ(scale.grid[0], 4u);
  EXPECT_EQ(scale.block[0], 128u);
  EXPECT_EQ(scale.bytesRead, 1600);
  EXPECT_EQ(scale.bytesWritten, 1600);
  EXPECT_EQ(scale.operations, 400);
  EXPECT_EQ(scale.unit, "fma");
  EXPECT_EQ(scale.predicted, 5);
  EXPECT_EQ(scale.predictedDim, 1024);
  EXPECT_EQ(mix.lead, "scale");
  EXPECT_EQ(mix.sources, scale.sources) << "those of the step that it leads";
  EXPECT_EQ(mix.unit, "tf32");
  EXPECT_EQ(mix.predicted, 0);

  // A bundle of format 0.6 says nothing of that; neither does one of sizes that
  // overflow.
  tensors.bind(session, 20);
  session.prepare();
  profile = session.profile(withMethod(FUSEC_PROFILE_EVENTS));
  EXPECT_EQ(profile.steps[0].kernel, "fake_small");
  EXPECT_EQ(profile.steps[0].bytesRead, -1);
  EXPECT_EQ(profile.steps[0].operations, -1);
  EXPECT_EQ(profile.steps[0].unit, "");
  Session huge = prepared(FUSEC_GRAPH_AUTO, [](format::Manifest &m) {
    for (format::Plan &plan : m.plans)
      plan.steps[0].variants[0].launches[0].work->read = format::Expr::mul(
          format::Expr::dim("batch"), format::Expr(INT64_MAX / 2));
  });
  profile = huge.profile(withMethod(FUSEC_PROFILE_EVENTS));
  EXPECT_EQ(profile.steps[0].bytesRead, -1);
  EXPECT_EQ(profile.steps[0].bytesWritten, 1600);
}

TEST_F(ProfileTest, RecordsOfOthersAndInAnyOrder) {
  cupti->isReversed = cupti->addsOthers = true;
  for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON}) {
    Profile profile =
        prepared(graph).profile(withMethod(FUSEC_PROFILE_ACTIVITY));
    expectTimes(profile);
  }
}

TEST_F(ProfileTest, KernelsThatStartEarly) {
  cupti->early = 2500;
  Profile profile = prepared().profile(withMethod(FUSEC_PROFILE_ACTIVITY));
  EXPECT_NEAR(profile.steps[0].median, 6.5, 0.01) << "nothing is ahead of it";
  EXPECT_NEAR(profile.steps[1].median, 8.5, 0.01)
      << "of 10.5 what lies behind its predecessor";
  EXPECT_NEAR(profile.steps[1].start, 4.5, 0.01);
  const std::vector<Profile::Kernel> &kernels = profile.runs[0].kernels;
  EXPECT_EQ(kernels[1].end - kernels[1].start, 10500u) << "as recorded";
  cupti->early = 20000;
  profile = prepared().profile(withMethod(FUSEC_PROFILE_ACTIVITY));
  EXPECT_NEAR(profile.steps[1].median, 8.5, 0.01);
}

TEST_F(ProfileTest, LostRecords) {
  // Of runs of two kernels every fourth lacks one.
  cupti->dropEvery = 8;
  Profile profile = prepared().profile(withMethod(FUSEC_PROFILE_ACTIVITY));
  EXPECT_EQ(profile.method, FUSEC_PROFILE_ACTIVITY);
  EXPECT_EQ(profile.runs.size(), 3u);
  EXPECT_NEAR(profile.sum, 12, 0.01);

  cupti->dropEvery = 2;
  expectEvents("of 4 runs 0 had one activity record for each of their kernels");
  cupti->dropEvery = 0;
  cupti->doubles = true;
  expectEvents("of 4 runs 0 had one activity record for each of their kernels");
}

TEST_F(ProfileTest, Refused) {
  auto fails = [&](const char *call, int code) {
    cupti->failCall = call;
    cupti->failCode = code;
  };
  fails("cuptiSubscribe", 39);
  expectEvents("cuptiSubscribe: CUPTI error 39: another profiler is attached "
               "to the process");
  fails("cuptiActivityRegisterCallbacks", 1);
  expectEvents("cuptiActivityRegisterCallbacks: CUPTI error 1");
  fails("cuptiActivityEnable", 35);
  expectEvents("cuptiActivityEnable: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
  fails("cuptiActivityFlushAll", 1);
  expectEvents("cuptiActivityFlushAll: CUPTI error 1");
}

TEST_F(ProfileTest, NoLibrary) {
  Session session = prepared();
  ProfileOptions options = withMethod(FUSEC_PROFILE_ACTIVITY);
  options.cupti = "no-such-cupti.so";
  std::string message =
      messageOf(FUSEC_UNSUPPORTED, [&] { session.profile(options); });
  EXPECT_EQ(message.find("CUPTI cannot be loaded: no-such-cupti.so"), 0u)
      << message;
  EXPECT_NE(message.find("FUSEC_CUPTI"), std::string::npos) << message;
  options.cupti = FUSEC_FAKE_DRIVER;
  EXPECT_EQ(messageOf(FUSEC_UNSUPPORTED, [&] { session.profile(options); }),
            "CUPTI's library has no cuptiGetResultString");
}

TEST_F(ProfileTest, ZeroLaunches) {
  Session session = prepared(FUSEC_GRAPH_AUTO, dropSteps);
  Profile profile = session.profile(withMethod(FUSEC_PROFILE_AUTO));
  EXPECT_TRUE(profile.steps.empty());
  EXPECT_EQ(profile.reason, "the run launches nothing");
  EXPECT_EQ(profile.sum, 0);
  EXPECT_NEAR(profile.run, 1, 0.01);
  Session empty = load().session();
  tensors.bind(empty, 0);
  empty.prepare();
  EXPECT_TRUE(empty.profile(withMethod(FUSEC_PROFILE_ACTIVITY)).steps.empty());
}

TEST_F(ProfileTest, FlushesTheCache) {
  Session session = prepared();
  ProfileOptions options = withMethod(FUSEC_PROFILE_EVENTS);
  options.keepCache = false;
  options.runs = 1;
  EXPECT_NE(messageOf(FUSEC_OUT_OF_MEMORY, [&] { session.profile(options); })
                .find("268435456 bytes for what flushes the cache"),
            std::string::npos);
  fake->memoryBytes = size_t(300) << 20;
  fake->copies.clear();
  session.profile(options);
  fake->memoryBytes = size_t(16) << 20;
  // Three runs to warm up and one, twice.
  EXPECT_EQ(fake->copies.size(), 8u);
  EXPECT_EQ(fake->copies[0].size, size_t(256) << 20);
}

TEST_F(ProfileTest, Failures) {
  Session session = load().session();
  EXPECT_NE(messageOf(FUSEC_NOT_READY,
                      [&] { session.profile(withMethod(FUSEC_PROFILE_AUTO)); })
                .find("prepare()"),
            std::string::npos);
  session = prepared(FUSEC_GRAPH_OFF);
  for (const char *call : {"cuEventCreate", "cuEventRecord", "cuLaunchKernelEx",
                           "cuEventElapsedTime", "cuStreamSynchronize"})
    for (int at = 1; at != 30; ++at) {
      failNext(call, 1, at);
      fusec_profile *made = nullptr;
      fusec_profile_options options = {
          sizeof(options), FUSEC_PROFILE_AUTO, 2, 1, 0, FUSEC_FAKE_CUPTI};
      if (fusec_session_profile(session.handle(), &options, &made, nullptr,
                                0) == FUSEC_OK)
        fusec_profile_free(made);
      else
        EXPECT_EQ(made, nullptr);
    }
  reset();
}

TEST_F(ProfileTest, Arguments) {
  Session session = prepared();
  char message[200];
  fusec_profile *made = nullptr;
  auto measure = [&](fusec_profile_options options) {
    options.keep_cache = 1;
    return fusec_session_profile(session.handle(), &options, &made, message,
                                 sizeof(message));
  };
  fusec_profile_options options = {};
  EXPECT_EQ(measure(options), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "fusec_profile_options: expected a struct_size of at "
                        "least 32, found 0");
  options.struct_size = sizeof(options);
  options.method = 3;
  EXPECT_EQ(measure(options), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "method: expected 0, 1 or 2, found 3");
  options.method = FUSEC_PROFILE_EVENTS;
  options.runs = -1;
  EXPECT_EQ(measure(options), FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "runs: expected 0 to 10000, found -1");
  EXPECT_EQ(fusec_session_profile(nullptr, nullptr, &made, nullptr, 0),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_EQ(
      fusec_session_profile(session.handle(), nullptr, nullptr, nullptr, 0),
      FUSEC_INVALID_ARGUMENT);

  options.runs = 0;
  ASSERT_EQ(measure(options), FUSEC_OK) << message;
  fusec_profile_summary summary = {};
  EXPECT_EQ(fusec_profile_info(made, &summary, message, sizeof(message)),
            FUSEC_INVALID_ARGUMENT);
  summary.struct_size = sizeof(summary);
  EXPECT_EQ(fusec_profile_info(made, &summary, nullptr, 0), FUSEC_OK);
  EXPECT_EQ(summary.runs, 20u) << "those of 0";
  // The struct of a later header has more.
  struct {
    fusec_step_profile known;
    int64_t later;
  } step = {};
  step.known.struct_size = sizeof(step);
  step.later = 5;
  EXPECT_EQ(fusec_profile_step_info(made, 1, &step.known, nullptr, 0),
            FUSEC_OK);
  EXPECT_STREQ(step.known.step, "mix");
  EXPECT_EQ(step.later, 5);
  EXPECT_EQ(
      fusec_profile_step_info(made, 2, &step.known, message, sizeof(message)),
      FUSEC_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "expected an index below 2, found 2");
  fusec_run_profile run = {sizeof(run), 0, 0};
  EXPECT_EQ(fusec_profile_run_info(made, 20, &run, nullptr, 0),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_EQ(fusec_profile_run_info(made, 0, nullptr, nullptr, 0),
            FUSEC_INVALID_ARGUMENT);
  fusec_kernel_time time = {sizeof(time), 0, 0, 0, 0};
  EXPECT_EQ(fusec_profile_kernel_time(made, 0, 2, &time, nullptr, 0),
            FUSEC_INVALID_ARGUMENT);
  EXPECT_EQ(fusec_profile_kernel_time(nullptr, 0, 0, &time, nullptr, 0),
            FUSEC_INVALID_ARGUMENT);
  fusec_profile_free(made);
  fusec_profile_free(nullptr);
}

TEST_F(ProfileTest, OutlivesItsSession) {
  fusec_profile *made = nullptr;
  {
    Session session = prepared();
    fusec_profile_options options = {
        sizeof(options), FUSEC_PROFILE_EVENTS, 1, 1, 0, nullptr};
    ASSERT_EQ(
        fusec_session_profile(session.handle(), &options, &made, nullptr, 0),
        FUSEC_OK);
  }
  fusec_step_profile step = {};
  step.struct_size = sizeof(step);
  EXPECT_EQ(fusec_profile_step_info(made, 0, &step, nullptr, 0), FUSEC_OK);
  ASSERT_EQ(step.source_count, 2u);
  EXPECT_STREQ(step.sources[1], "node_b");
  fusec_profile_free(made);
}
