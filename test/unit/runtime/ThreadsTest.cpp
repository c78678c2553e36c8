// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that share models and adapters, for ThreadSanitizer: each has
// sessions of its own, while calls of the driver fail now and then.

#include "test/unit/runtime/LibraryTest.h"

#include <atomic>
#include <random>
#include <thread>

using namespace fusec;
using namespace fusec::test;

namespace {
constexpr int threadCount = 6, roundCount = 60;

void markW(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans)
    plan.weights[0].replaceable = true;
}

class ThreadsTest : public LibraryTest {
protected:
  // Each has a number, and random numbers of its own.
  template <typename Work> static void onThreads(Work work) {
    std::vector<std::thread> threads;
    for (int number = 0; number != threadCount; ++number)
      threads.emplace_back([=] {
        std::mt19937 random{unsigned(number)};
        work(number, random);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  // Makes calls fail as long as it lives.
  class Failing {
  public:
    explicit Failing(FakeState *fake)
        : fake(fake), thread([this] { failCalls(); }) {}
    ~Failing() {
      isEnding = true;
      thread.join();
      std::lock_guard<std::mutex> lock(this->fake->mutex);
      this->fake->failAt = 0;
    }

  private:
    // Not of cuCtxPushCurrent, without which nothing can be freed.
    void failCalls() {
      const char *const calls[] = {
          "cuMemAlloc",           "cuLaunchKernelEx",
          "cuGraphAddKernelNode", "cuGraphInstantiate",
          "cuGraphLaunch",        "cuMemcpyDtoDAsync",
          "cuMemcpyHtoDAsync",    "cuStreamSynchronize",
          "cuModuleLoadDataEx",   "cuTensorMapEncodeTiled"};
      std::mt19937 random(77);
      while (!isEnding) {
        {
          std::lock_guard<std::mutex> lock(fake->mutex);
          fake->failCall = calls[random() % std::size(calls)];
          fake->failAt = 1 + int(random() % 8);
          fake->failCode = fake->failCall == "cuMemAlloc" ? 2 : 719;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }

    FakeState *fake;
    std::atomic<bool> isEnding = false;
    std::thread thread;
  };

  // Runs what may fail as the driver does.
  template <typename Function> static bool attempt(Function function) {
    try {
      function();
      return true;
    } catch (const Error &error) {
      EXPECT_TRUE(error.status() == FUSEC_DRIVER_ERROR ||
                  error.status() == FUSEC_OUT_OF_MEMORY)
          << error.what();
      return false;
    }
  }

  // Prepares for some batch and runs, with and without a graph.
  static void useOnce(Session &session, Tensors &tensors,
                      std::mt19937 &random) {
    int64_t batch = 1 + int64_t(random() % 200);
    tensors.bind(session, batch);
    int32_t graph = random() % 2 ? FUSEC_GRAPH_ON : FUSEC_GRAPH_OFF;
    tensors.x[0] = float(batch);
    session.prepare({}, nullptr, 0, graph);
    session.run();
    session.run();
    EXPECT_EQ(session.faults(), 0u);
    if (batch > 64) { // else fake_double is not what runs
      EXPECT_EQ(tensors.z[0], 2 * float(batch));
    }
  }
};
} // namespace

TEST_F(ThreadsTest, ShareAModelWhileCallsFail) {
  Model model = load(addAdapter), other = load(markW);
  Failing failing(fake);
  std::atomic<int> ran = 0;
  onThreads([&](int number, std::mt19937 &random) {
    auto tensors = std::make_unique<Tensors>();
    std::unique_ptr<Session> session;
    for (int round = 0; round != roundCount; ++round) {
      if (round % 8 == 0) // so that some have ends beside others' work
        session.reset();
      bool hasAdapter = (number + round / 8) % 2 == 0;
      attempt([&] {
        if (!session)
          session = std::make_unique<Session>(hasAdapter ? model : other);
        EXPECT_EQ((hasAdapter ? model : other).inputs().size(), 2u);
        float values[4] = {1, 2, 3, 4};
        if (hasAdapter)
          session->setAdapter(
              Adapter::create(model, {{"up", Tensor(values, FUSEC_F32, {2, 2}),
                                       Tensor(values, FUSEC_F32, {2, 1})}}));
        else
          session->setWeight("w", Tensor(values, FUSEC_F32, {4}));
        useOnce(*session, *tensors, random);
        if (hasAdapter)
          session->clearAdapter();
        else
          session->resetWeight("w");
        ++ran;
      });
    }
  });
  EXPECT_GT(ran, threadCount);
}

TEST_F(ThreadsTest, ShareAnAdapter) {
  Model model = load(addAdapter);
  Adapter own = Adapter::own(model);
  onThreads([&](int, std::mt19937 &random) {
    Session session(model);
    auto tensors = std::make_unique<Tensors>();
    for (int round = 0; round != roundCount; ++round) {
      session.setAdapter(own);
      useOnce(session, *tensors, random);
    }
  });
}

TEST_F(ThreadsTest, LoadWhileOthersEnd) {
  Failing failing(fake);
  // Sessions keep a model alive that its threads have let go.
  onThreads([&](int, std::mt19937 &random) {
    auto tensors = std::make_unique<Tensors>();
    for (int round = 0; round != roundCount / 3; ++round)
      attempt([&] {
        auto own = std::make_unique<Model>(load(nullptr, 2 << 20));
        Session session(*own);
        own.reset();
        useOnce(session, *tensors, random);
      });
  });
}
