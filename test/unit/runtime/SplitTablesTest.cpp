// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables whose first rows lie on the device and the others in memory of the
// host: what goes where, and that it is read and changed as one.

#include "test/unit/runtime/LibraryTest.h"

using namespace fusec;
using namespace fusec::test;

namespace {
// Two tables behind the other weights: rows of 1 KiB, and a last page that is
// not full.
constexpr uint64_t rowBytes = 1024, largeRows = 21000, smallRows = 3000;
constexpr uint64_t largeAt = 4096, smallAt = largeAt + largeRows * rowBytes;
constexpr uint64_t allBytes = smallAt + smallRows * rowBytes;
// What the weights that are no tables take.
constexpr uint64_t fixedBytes = 512;

// fake_small reads the address 4 bytes into the large table.
void addTables(format::Manifest &manifest) {
  for (format::Plan &plan : manifest.plans) {
    auto add = [&](const char *name, uint64_t offset, uint64_t rows) {
      format::Weight table = plan.weights[0];
      table.name = name;
      table.offset = offset;
      table.size = rows * rowBytes;
      table.sizes = {int64_t(rows), int64_t(rowBytes / 4)};
      table.table = table.updatable = true;
      plan.weights.push_back(table);
    };
    add("small", smallAt, smallRows);
    add("large", largeAt, largeRows);
    for (format::Step &step : plan.steps)
      for (format::Variant &variant : step.variants)
        for (format::Launch &launch : variant.launches)
          if (launch.symbol == "fake_small")
            std::get<format::Pointer>(launch.params[1]).index = 3;
  }
}

class SplitTablesTest : public OwnWeightTest {
protected:
  void SetUp() override {
    OwnWeightTest::SetUp();
    fake->memoryBytes = 40 * MiB;
  }
  static const std::vector<uint8_t> &file() {
    static const std::vector<uint8_t> file = [] {
      std::vector<uint8_t> made = makeBundle(addTables, allBytes);
      uint8_t *weights = &lastByteOf(made, 3) + 1 - allBytes;
      for (uint64_t at = largeAt; at + 4 <= allBytes; at += 4) {
        uint32_t word = uint32_t(at) * 2654435761u;
        std::memcpy(weights + at, &word, 4);
      }
      return made;
    }();
    return file;
  }
  Model loadWith(uint64_t deviceMemory,
                 std::vector<std::pair<std::string, int64_t>> deviceRows = {}) {
    LoadOptions given = options();
    given.hashWeights = FUSEC_HASH_WEIGHTS_NEVER;
    given.deviceMemory = deviceMemory;
    given.deviceRows = std::move(deviceRows);
    return Model::loadMemory(file().data(), file().size(), given);
  }
  // Rows on the device of the tables, by name: large, then small.
  static std::pair<int64_t, int64_t> deviceRows(const Model &model) {
    std::vector<TableInfo> tables = model.tables();
    EXPECT_EQ(tables.size(), 2u);
    EXPECT_EQ(tables[0].name, "large");
    EXPECT_EQ(tables[0].rows, int64_t(largeRows));
    EXPECT_EQ(tables[1].bytes, smallRows * rowBytes);
    return {tables[0].deviceRows, tables[1].deviceRows};
  }
  uint8_t *largeOf(Session &session) {
    return reinterpret_cast<uint8_t *>(weightOf(session));
  }
  void expectLarge(const Model &model) {
    Session session = prepared(model);
    const uint8_t *bytes =
        &lastByteOf(const_cast<std::vector<uint8_t> &>(file()), 3) + 1 -
        allBytes + largeAt;
    EXPECT_EQ(std::memcmp(largeOf(session), bytes, largeRows * rowBytes), 0);
  }
};
} // namespace

TEST_F(SplitTablesTest, WhatFitsLiesOnTheDevice) {
  for (uint64_t budget : {uint64_t(0), fixedBytes + allBytes}) {
    fake->calls.clear();
    Model model = loadWith(budget);
    EXPECT_EQ(deviceRows(model),
              std::pair(int64_t(largeRows), int64_t(smallRows)));
    EXPECT_EQ(fake->calls["cuMemAlloc"], 1);
    EXPECT_EQ(fake->calls.count("cuMemAllocManaged"), 0u);
    expectLarge(model);
  }
}

TEST_F(SplitTablesTest, TheSmallTableFirst) {
  Model model = loadWith(fixedBytes + 10 * MiB);
  // Of what the small table leaves, whole pages.
  EXPECT_EQ(deviceRows(model),
            std::pair(int64_t(6 * MiB / rowBytes), int64_t(smallRows)));
  ASSERT_EQ(fake->managed.size(), 1u);
  const FakeManaged &memory = fake->managed.begin()->second;
  EXPECT_EQ(memory.size, largeRows * rowBytes);
  EXPECT_EQ(memory.device, 6 * MiB);
  EXPECT_EQ(memory.prefetched, 6 * MiB);
  EXPECT_EQ(memory.host, largeRows * rowBytes - 6 * MiB);
  EXPECT_EQ(memory.mapped, memory.host);
  expectLarge(model);
}

TEST_F(SplitTablesTest, EqualShares) {
  Model model = loadWith(fixedBytes + 5 * MiB);
  EXPECT_EQ(deviceRows(model), std::pair(int64_t(2 * MiB / rowBytes),
                                         int64_t(2 * MiB / rowBytes)));
  expectLarge(model);
}

TEST_F(SplitTablesTest, RowsThatAreAskedFor) {
  Model model = loadWith(fixedBytes + 9 * MiB, {{"small", 1}, {"large", 0}});
  EXPECT_EQ(deviceRows(model), std::pair(int64_t(0), int64_t(2048)));
  expectLarge(model);
  // Without a budget the others lie on the device.
  Model other = loadWith(0, {{"large", 3000}});
  EXPECT_EQ(deviceRows(other), std::pair(int64_t(4096), int64_t(smallRows)));
}

TEST_F(SplitTablesTest, WhatIsRefused) {
  EXPECT_EQ(messageOf(FUSEC_OUT_OF_MEMORY, [&] { loadWith(100); }),
            "the weights need at least 512 bytes of device memory, those that "
            "are no tables and the rows asked for; the budget is 100");
  EXPECT_EQ(messageOf(FUSEC_OUT_OF_MEMORY,
                      [&] {
                        loadWith(4 * MiB, {{"large", 4097}});
                      }),
            "the weights need at least 6291968 bytes of device memory, those "
            "that are no tables and the rows asked for; the budget is 4194304");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        loadWith(4 * MiB, {{"w", 1}});
                      }),
            "the model has no table weight 'w'; it has 'large', 'small'");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        loadWith(0, {{"large", 21001}});
                      }),
            "table 'large': expected 0 to 21000 rows on the device, found "
            "21001");
  EXPECT_EQ(messageOf(FUSEC_INVALID_ARGUMENT,
                      [&] {
                        loadWith(0, {{"large", 1}, {"large", 2}});
                      }),
            "device_rows: table 'large' occurs twice");
}

TEST_F(SplitTablesTest, WhereTheDriverCannotSplit) {
  fake->sharesMemory = false;
  Model model = loadWith(fixedBytes + 10 * MiB);
  EXPECT_EQ(deviceRows(model), std::pair(int64_t(0), int64_t(smallRows)));
  EXPECT_EQ(fake->livePinned, 1);
  expectLarge(model);
}

TEST_F(SplitTablesTest, UpdatesReachBothParts) {
  Model model = loadWith(fixedBytes + 10 * MiB);
  Session session = prepared(model);
  int64_t split = deviceRows(model).first;
  std::vector<float> rows(4 * rowBytes / 4);
  for (size_t i = 0; i != rows.size(); ++i)
    rows[i] = float(i + 1);
  // Two rows across the boundary, then one of each part.
  std::vector<int64_t> ids = {split - 1, split, 0, int64_t(largeRows) - 1};
  model.updateRows("large", ids,
                   Tensor(rows.data(), FUSEC_F32, {4, rowBytes / 4}));
  for (size_t i = 0; i != ids.size(); ++i)
    EXPECT_EQ(std::memcmp(largeOf(session) + uint64_t(ids[i]) * rowBytes,
                          rows.data() + i * rowBytes / 4, rowBytes),
              0)
        << ids[i];
}

// Nothing is left behind, which TearDown checks.
TEST_F(SplitTablesTest, EveryCallThatFails) {
  for (const char *call :
       {"cuMemAllocManaged", "cuMemAdvise", "cuMemPrefetchAsync", "cuMemAlloc"})
    for (int at : {1, 2, 3}) {
      failNext(call, 2, at);
      try {
        expectLarge(loadWith(fixedBytes + 5 * MiB));
      } catch (const Error &error) {
        EXPECT_EQ(error.status(), FUSEC_OUT_OF_MEMORY) << error.what();
      }
      fake->failAt = 0;
      EXPECT_TRUE(fake->managed.empty()) << call << " " << at;
    }
}
