// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// run() allocates no host memory: this program's operator new counts what the
// library asks for.

#include "test/unit/runtime/LibraryTest.h"

#include <cstdlib>
#include <new>

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;

void *allocate(std::size_t size, std::size_t alignment) {
  allocations += counting ? 1 : 0;
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
