// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of the library share: the fake driver in a known state, the test
// bundle loaded through the public interface, and tensors in fake memory.

#ifndef FUSEC_TEST_UNIT_RUNTIME_LIBRARYTEST_H
#define FUSEC_TEST_UNIT_RUNTIME_LIBRARYTEST_H

#include "fusec/fusec.hpp"
#include "test/unit/runtime/FakeDriver.h"
#include "test/unit/runtime/TestBundle.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace fusec::test {

class LibraryTest : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen(FUSEC_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    auto get =
        reinterpret_cast<FakeState *(*)()>(dlsym(library, "fusecFakeState"));
    ASSERT_TRUE(get);
    fake = get();
    reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake->liveAllocations, 0);
    EXPECT_EQ(fake->livePinned, 0);
    EXPECT_TRUE(fake->managed.empty());
    EXPECT_EQ(fake->lostCopies, 0);
    EXPECT_EQ(fake->liveModules, 0);
    EXPECT_EQ(fake->liveContexts, 0);
    EXPECT_EQ(fake->pushedContexts, 0);
    EXPECT_EQ(fake->liveStreams, 0);
    EXPECT_EQ(fake->liveEvents, 0);
    EXPECT_EQ(fake->liveGraphs, 0);
    EXPECT_EQ(fake->liveGraphExecs, 0);
  }
  void reset() {
    fake->driverVersion = 13000;
    fake->capabilityMajor = 9;
    fake->capabilityMinor = 0;
    fake->maxSharedMemory = 232448;
    fake->activeClusters = 1000;
    fake->failCall.clear();
    fake->failAt = 0;
    fake->defersCopies = false;
    fake->lostCopies = 0;
    fake->memoryBytes = size_t(16) << 20;
    fake->sharesMemory = true;
    fake->hasClock = false;
    fake->capturing = nullptr;
    fake->capturedElsewhere = false;
    fake->calls.clear();
    fake->launches.clear();
    fake->maps.clear();
    fake->copies.clear();
  }
  void failNext(const std::string &call, int code, int at = 1) {
    fake->failCall = call;
    fake->failAt = at;
    fake->failCode = code;
  }

  static LoadOptions options() {
    LoadOptions options;
    options.driver = FUSEC_FAKE_DRIVER;
    return options;
  }
  static Model load(const Edit &edit = nullptr, uint64_t weightsSize = 264) {
    std::vector<uint8_t> file = makeBundle(edit, weightsSize);
    return Model::loadMemory(file.data(), file.size(), options());
  }

  // The status and message of a call that must fail.
  template <typename Function>
  static std::string messageOf(fusec_status status, Function function) {
    try {
      function();
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), status) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "expected a failure";
    return "";
  }

  // x, y and z of the test model in host memory, for any batch up to 256.
  struct Tensors {
    alignas(256) float x[256 * 4 + 4] = {};
    alignas(256) float y[256 * 4] = {};
    alignas(256) float z[512 * 4] = {};

    void bind(Session &session, int64_t batch) {
      session.bind("x", Tensor(x, FUSEC_F32, {batch, 4}));
      session.bind("y", Tensor(y, FUSEC_F32, {batch, 4}));
      session.bind("z", Tensor(z, FUSEC_F32, {2 * batch, 4}));
    }
  };

  FakeState *fake = nullptr;
};

template <typename T> T wordAt(const FakeLaunch &launch, size_t offset) {
  T value;
  EXPECT_LE(offset + sizeof(T), launch.params.size());
  std::memcpy(&value, launch.params.data() + offset, sizeof(T));
  return value;
}

// Sessions of batch 10, whose launches read the first weight that a session has
// of its own: fake_small the address 4 bytes into it, fake_vector its map.
class OwnWeightTest : public LibraryTest {
protected:
  Session prepared(const Model &model, int32_t graph = FUSEC_GRAPH_OFF) {
    Session session(model);
    tensors.bind(session, 10);
    session.prepare({}, nullptr, 0, graph);
    return session;
  }
  float *weightOf(Session &session) {
    session.run();
    return wordAt<float *>(fake->launches[fake->launches.size() - 2], 8) - 1;
  }
  std::vector<float> valuesOf(Session &session) {
    float *weight = weightOf(session);
    return {weight, weight + 4};
  }

  Tensors tensors;
};

} // namespace fusec::test

#endif
