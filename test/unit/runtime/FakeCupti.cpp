// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUPTI's activity records of the fake driver's launches.

#include "test/unit/runtime/FakeCupti.h"
#include "test/unit/runtime/FakeDriver.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <dlfcn.h>

namespace {
using Requested = void (*)(uint8_t **, size_t *, size_t *);
using Completed = void (*)(void *, uint32_t, uint8_t *, size_t, size_t);

// Of CUDA 12 and 13, by the offsets of cupti_activity.h.
constexpr size_t recordBytes = 208;
constexpr uint32_t memsetKind = 2, kernelKind = 10;

FakeCuptiState &state() { return *fusecFakeCuptiState(); }
Requested requested = nullptr;
Completed completed = nullptr;
size_t seen = 0; // of the driver's launches
uint64_t clockNow = 1000000;
uint32_t correlation = 0;
int recorded = 0;

FakeState &driver() {
  static FakeState *found = reinterpret_cast<FakeState *(*)()>(dlsym(
      dlopen(FUSEC_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL), "fusecFakeState"))();
  return *found;
}

template <typename T> void put(uint8_t *record, size_t offset, T value) {
  std::memcpy(record + offset, &value, sizeof(value));
}

void fill(uint8_t *record, uint32_t kind, const char *name, uint64_t blocks) {
  std::memset(record, 0, recordBytes);
  put(record, 0, kind);
  put(record, 16, clockNow);
  clockNow += 1000 * blocks;
  put(record, 24, clockNow);
  clockNow += 500;
  put(record, 48, uint32_t(7));
  put(record, 92, correlation);
  put(record, 104, name);
}

int fails(const char *call) {
  return state().failCall == call ? state().failCode : 0;
}
} // namespace

extern "C" {
FakeCuptiState *fusecFakeCuptiState() {
  static FakeCuptiState made;
  return &made;
}

int cuptiGetResultString(int result, const char **text) {
  *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : nullptr;
  return *text ? 0 : 1;
}
int cuptiGetTimestamp(uint64_t *nanoseconds) {
  *nanoseconds = clockNow += 10;
  return 0;
}
int cuptiSubscribe(void **subscriber, void *, void *) {
  if (int failed = fails("cuptiSubscribe"))
    return failed;
  *subscriber = &state();
  ++state().subscribed;
  return 0;
}
int cuptiUnsubscribe(void *) {
  --state().subscribed;
  return 0;
}
int cuptiActivityRegisterCallbacks(Requested request, Completed complete) {
  requested = request;
  completed = complete;
  return fails("cuptiActivityRegisterCallbacks");
}
int cuptiActivityEnable(int) {
  if (int failed = fails("cuptiActivityEnable"))
    return failed;
  ++state().enabled;
  seen = driver().launches.size();
  return 0;
}
int cuptiActivityDisable(int) {
  --state().enabled;
  return 0;
}

// Names live as long as the process, as those of modules that stay loaded.
static const char *keepName(const std::string &name) {
  static std::deque<std::string> names;
  names.push_back(name);
  return names.back().c_str();
}

int cuptiActivityFlushAll(uint32_t) {
  if (int failed = fails("cuptiActivityFlushAll"))
    return failed;
  if (seen == driver().launches.size())
    return 0;
  uint8_t *buffer = nullptr;
  size_t size = 0, most = 0, used = 0;
  requested(&buffer, &size, &most);
  if (!buffer)
    return 0;
  auto add = [&](uint32_t kind, const char *name, uint64_t blocks) {
    fill(buffer + used, kind, name, blocks);
    used += recordBytes;
  };
  for (; seen < driver().launches.size(); ++seen) {
    const FakeLaunch &launch = driver().launches[seen];
    // A graph's kernels share one.
    if (!launch.replayed || seen == 0 || !driver().launches[seen - 1].replayed)
      ++correlation;
    if (state().addsOthers) {
      add(memsetKind, nullptr, 1);
      add(kernelKind, "someone_elses", 1);
    }
    if (state().dropEvery && ++recorded % state().dropEvery == 0)
      continue;
    for (int i = 0; i != 1 + state().doubles; ++i)
      add(kernelKind, keepName(launch.symbol),
          launch.grid[0] * launch.grid[1] * launch.grid[2]);
  }
  if (state().isReversed)
    for (size_t i = 0, j = used; i + recordBytes < j; i += recordBytes)
      std::swap_ranges(buffer + i, buffer + i + recordBytes,
                       buffer + (j -= recordBytes));
  completed(nullptr, 0, buffer, size, used);
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t validSize,
                               void **record) {
  uint8_t *next =
      *record ? static_cast<uint8_t *>(*record) + recordBytes : buffer;
  if (next >= buffer + validSize)
    return 12;
  *record = next;
  return 0;
}
}
