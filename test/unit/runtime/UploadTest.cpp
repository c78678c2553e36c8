// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights on their way to the device: few from where they lie, many through
// pinned buffers of several threads, whatever fails meanwhile.

#include "test/unit/runtime/LibraryTest.h"

#include <cstdio>
#include <fstream>
#include <thread>

using namespace fusec;
using namespace fusec::test;

namespace {
// Of a weights section, and of the larger one of two tables in it.
constexpr uint64_t manyBytes = 140 * MiB + 300, tableBytes = 90 * MiB + 12;
constexpr uint64_t firstTable = 4096;
constexpr uint64_t secondTable = firstTable + tableBytes + 244;
static_assert(secondTable % 256 == 0);

// Behind the weights of the test bundle two tables, the second one first, and
// the first one twice.
void addLargeTables(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans) {
    auto add = [&](const char *name, uint64_t offset, uint64_t end) {
      format::Weight table = plan.weights[0];
      table.name = name;
      table.offset = offset;
      table.size = end - offset;
      table.dtype = format::DType::U8;
      table.sizes = {int64_t(table.size)};
      plan.weights.push_back(table);
    };
    add("second", secondTable, manyBytes);
    add("first", firstTable, firstTable + tableBytes);
    add("again", firstTable, firstTable + tableBytes);
  }
}

class UploadTest : public LibraryTest {
protected:
  void SetUp() override {
    LibraryTest::SetUp();
    fake->memoryBytes = 256 * MiB;
    fake->defersCopies = true;
  }
  Model loadMany(const LoadProgress &progress = nullptr) {
    LoadOptions given = options();
    given.hashWeights = FUSEC_HASH_WEIGHTS_NEVER;
    given.progress = progress;
    return Model::loadMemory(many().data(), many().size(), given);
  }
  // A bundle with tables whose words are all different; made once.
  static const std::vector<uint8_t> &many() {
    static const std::vector<uint8_t> file = [] {
      std::vector<uint8_t> made = makeBundle(addLargeTables, manyBytes);
      uint8_t *weights = &lastByteOf(made, 3) + 1 - manyBytes;
      for (uint64_t at = firstTable; at + 4 <= manyBytes; at += 4) {
        uint32_t word = uint32_t(at) * 2654435761u;
        std::memcpy(weights + at, &word, 4);
      }
      return made;
    }();
    return file;
  }
  static const uint8_t *weightsOf(const std::vector<uint8_t> &file) {
    return &lastByteOf(const_cast<std::vector<uint8_t> &>(file), 3) + 1 -
           manyBytes;
  }
};
} // namespace

TEST_F(UploadTest, ManyBytesThroughPinnedBuffers) {
  Model model = loadMany();
  EXPECT_EQ(fake->calls["cuMemAllocHost"], 1);
  EXPECT_EQ(fake->livePinned, 0);
  EXPECT_TRUE(fake->uploads.empty());
  // The map is of the first weight, at whose address all begin.
  const uint8_t *device =
      reinterpret_cast<const uint8_t *>(fake->maps[0].address);
  const uint8_t *host = weightsOf(many());
  EXPECT_EQ(std::memcmp(device, host, 16), 0);
  EXPECT_EQ(std::memcmp(device + 256, host + 256, 8), 0);
  uint64_t secondBytes = manyBytes - secondTable;
  EXPECT_EQ(std::memcmp(device + 512, host + secondTable, secondBytes), 0);
  uint64_t first = (512 + secondBytes + 255) / 256 * 256;
  EXPECT_EQ(std::memcmp(device + first, host + firstTable, tableBytes), 0);
  EXPECT_EQ(device[16], 0) << "between weights";
  EXPECT_EQ(device[first - 1], 0);
}

// Of a file, whose memory is given back meanwhile: by those that copy, and what
// no weight has by another thread.
TEST_F(UploadTest, ManyBytesAreHashedOnTheWay) {
  std::vector<uint8_t> file = many();
  rehashWeights(file, 3);
  std::string path = testing::TempDir() + "upload-test.fusec";
  LoadOptions given = options();
  given.hashWeights = FUSEC_HASH_WEIGHTS_ALWAYS;
  auto load = [&] {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()),
               std::streamsize(file.size()));
    Model::load(path, given);
  };
  load();
  for (uint64_t at : {uint64_t(0), firstTable - 1, firstTable + tableBytes,
                      secondTable + 3, manyBytes - 1}) {
    uint8_t &byte = const_cast<uint8_t &>(weightsOf(file)[at]);
    byte ^= 16;
    EXPECT_NE(messageOf(FUSEC_MALFORMED, load)
                  .find("section 3 (weights): expected the hash "),
              std::string::npos)
        << at;
    byte ^= 16;
  }
  std::remove(path.c_str());
}

TEST_F(UploadTest, FewBytesFromWhereTheyLie) {
  Model model = load(nullptr, 16 * MiB);
  EXPECT_EQ(fake->calls.count("cuMemAllocHost"), 0u);
  EXPECT_EQ(fake->calls["cuMemcpyHtoDAsync"], 2) << "one a weight";
}

TEST_F(UploadTest, Progress) {
  std::vector<uint64_t> all;
  std::thread::id thread = std::this_thread::get_id();
  uint64_t expected = 0;
  LoadProgress report = [&](uint64_t done, uint64_t total) {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    EXPECT_EQ(total, expected);
    EXPECT_GE(done, all.empty() ? 0 : all.back());
    all.push_back(done);
  };
  expected = (512 + manyBytes - secondTable + 255) / 256 * 256 + tableBytes;
  loadMany(report);
  EXPECT_GT(all.size(), 2u);
  EXPECT_EQ(all.back(), expected);

  all.clear();
  expected = 264;
  LoadOptions given = options();
  given.progress = report;
  std::vector<uint8_t> file = makeBundle();
  Model::loadMemory(file.data(), file.size(), given);
  EXPECT_EQ(all, std::vector<uint64_t>{264});
}

// Options of a program that was compiled before there was progress.
TEST_F(UploadTest, OlderOptions) {
  std::vector<uint8_t> file = makeBundle();
  fusec_load_options old = {};
  old.struct_size = offsetof(fusec_load_options, progress);
  old.driver = FUSEC_FAKE_DRIVER;
  old.progress = [](void *, uint64_t, uint64_t) { FAIL(); };
  fusec_model *model = nullptr;
  EXPECT_EQ(fusec_model_load_memory(file.data(), file.size(), &old, &model,
                                    nullptr, 0),
            FUSEC_OK);
  fusec_model_free(model);
}

TEST_F(UploadTest, WhileAnotherThreadCaptures) {
  fake->capturedElsewhere = true;
  EXPECT_EQ(loadMany().target(), "sm_90a");
  fake->capturedElsewhere = false;
}

// Whichever thread makes the call: the error is reported, and no thread, copy
// or memory is left behind (which TearDown checks).
TEST_F(UploadTest, EveryCallThatFails) {
  auto fail = [&](const std::string &call, int at) {
    bool isMemory = call == "cuMemAllocHost";
    failNext(call, isMemory ? 2 : 999, at);
    try {
      loadMany();
      EXPECT_GT(fake->failAt, 0) << "with few threads there are few calls";
    } catch (const Error &error) {
      EXPECT_EQ(error.status(),
                isMemory ? FUSEC_OUT_OF_MEMORY : FUSEC_DRIVER_ERROR)
          << error.what();
    }
    fake->failAt = 0;
    EXPECT_EQ(fake->livePinned + fake->liveStreams + fake->pushedContexts, 0)
        << call << " " << at;
  };
  for (const char *call : {"cuStreamCreate", "cuMemAllocHost",
                           "cuMemcpyHtoDAsync", "cuStreamSynchronize"})
    for (int at : {1, 2, 3, 7})
      fail(call, at);
  // Later ones are of what frees, which carries on.
  for (const char *call :
       {"cuCtxPushCurrent", "cuThreadExchangeStreamCaptureMode"})
    for (int at : {1, 2})
      fail(call, at);
  failNext("cuMemAllocHost", 2);
  EXPECT_EQ(
      messageOf(FUSEC_OUT_OF_MEMORY, [&] { loadMany(); }),
      "pinning " +
          std::to_string(2 * MiB *
                         std::min(16u, std::thread::hardware_concurrency())) +
          " bytes of host memory to copy weights: "
          "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
}
