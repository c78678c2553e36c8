// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run() allocates no host memory, and whatever runs out of it ends as an error:
// this program's operator new counts what the library asks for, and fails.

#include "runtime/format/ChunkHash.h"
#include "test/unit/runtime/LibraryTest.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
// The failAt-th from now (1: the next) fails, of any thread.
std::atomic<int> failAt{0};
std::atomic<bool> failsInOtherThreads{false};
const std::thread::id mainThread = std::this_thread::get_id();

void *allocate(std::size_t size, std::size_t alignment) {
  allocations += counting ? 1 : 0;
  if ((failAt > 0 && --failAt == 0) ||
      (failsInOtherThreads && std::this_thread::get_id() != mainThread))
    throw std::bad_alloc();
  void *memory = nullptr;
  if (posix_memalign(&memory, alignment, size ? size : 1) != 0)
    throw std::bad_alloc();
  return memory;
}
} // namespace

void *operator new(std::size_t size) { return allocate(size, 16); }
void *operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, std::size_t(alignment));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

using namespace fusec;
using namespace fusec::test;

namespace {
class AllocationTest : public LibraryTest {};

int countIn(const std::function<void()> &work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  return allocations;
}
} // namespace

TEST_F(AllocationTest, RunAllocatesNothing) {
  for (int32_t graph : {FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON}) {
    Session session = load().session();
    auto tensors = std::make_unique<Tensors>();
    auto run = [&] {
      ASSERT_EQ(fusec_session_run(session.handle(), nullptr, nullptr, 0),
                FUSEC_OK);
    };
    tensors->bind(session, 100);
    EXPECT_GT(countIn([&] { session.prepare({}, nullptr, 0, graph); }), 0)
        << "the count works";
    fake->record = false;
    EXPECT_EQ(countIn(run), 0) << "the first run";
    EXPECT_EQ(session.launchCount(), 2u);
    EXPECT_EQ(session.replayed(), graph == FUSEC_GRAPH_ON);
    EXPECT_EQ(countIn(run), 0) << "the same again";
    session.bind("x", Tensor(tensors->y, FUSEC_F32, {100, 4}));
    EXPECT_EQ(countIn(run), 0) << "another address";
    session.bind("x", Tensor(tensors->y + 1, FUSEC_F32, {100, 4}));
    EXPECT_EQ(countIn(run), 0) << "another alignment";
    EXPECT_FALSE(session.replayed());
    fake->record = true;
  }
}

// A file is not malformed for want of memory. The first allocations of a load
// are those of reading the manifest's text; later ones are left out, since the
// JSON library allocates to destroy a value.
TEST_F(AllocationTest, ReadingRunsOutOfMemory) {
  std::vector<uint8_t> file = makeBundle();
  int ended = 0;
  for (int at = 1; at != 500; ++at) {
    failAt = at;
    fusec_model *model = nullptr;
    fusec_status status = fusec_model_load_memory(file.data(), file.size(),
                                                  nullptr, &model, nullptr, 0);
    EXPECT_EQ(failAt, 0);
    failAt = 0;
    EXPECT_NE(status, FUSEC_MALFORMED) << at;
    ended += status == FUSEC_OUT_OF_MEMORY;
  }
  EXPECT_GT(ended, 400);
}

// Hashing takes no memory but for its threads, of which fewer do as well.
TEST_F(AllocationTest, HashingWithoutMemory) {
  std::vector<uint8_t> file = makeBundle(nullptr, 9 * MiB);
  failsInOtherThreads = true;
  Model::loadMemory(file.data(), file.size(), options());
  lastByteOf(file, 3) ^= 1;
  EXPECT_NE(
      messageOf(FUSEC_MALFORMED,
                [&] { Model::loadMemory(file.data(), file.size(), options()); })
          .find("section 3 (weights)"),
      std::string::npos);
  failsInOtherThreads = false;

  auto hash = [&] {
    return format::hashChunks({{0, spanOf(file)}}, file.size(),
                              [](uint64_t, format::ByteSpan) {});
  };
  format::Digest right = hash();
  bool untouched = false;
  for (int at = 1; !untouched; ++at) {
    failAt = at;
    try {
      EXPECT_EQ(hash(), right) << "with fewer threads";
      untouched = failAt > 0;
    } catch (const std::bad_alloc &) {
    }
    failAt = 0;
  }
}

TEST_F(AllocationTest, SetAdapterAllocatesNothing) {
  Model model = load(addAdapter);
  Session session(model);
  Adapter own = Adapter::own(model);
  fake->record = false;
  for (const fusec_adapter *adapter : {own.handle(), (fusec_adapter *)nullptr})
    EXPECT_EQ(countIn([&] {
                ASSERT_EQ(fusec_session_set_adapter(session.handle(), adapter,
                                                    nullptr, nullptr, 0),
                          FUSEC_OK);
              }),
              0);
  fake->record = true;
}
