// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading CUPTI, and reading its buffers of records.

#include "runtime/src/Cupti.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <tuple>

namespace fusec::rt::cupti {

// Declarations and numbers are those of cupti_activity.h, cupti_callbacks.h and
// cupti_result.h of CUDA 12 and 13 (the wheels nvidia-cuda-cupti-cu12 12.8 and
// nvidia-cuda-cupti 13.0), so that no header of CUDA is needed to build.
using Result = int;
using Subscriber = void *;
using Callback = void (*)(void *userdata, int domain, uint32_t callback,
                          const void *data);
using BufferRequested = void (*)(uint8_t **buffer, size_t *size,
                                 size_t *maxRecords);
using BufferCompleted = void (*)(void *context, uint32_t stream,
                                 uint8_t *buffer, size_t size,
                                 size_t validSize);

namespace {
constexpr Result success = 0, limitReached = 12, alreadySubscribed = 39;
constexpr int concurrentKernel = 10;
constexpr uint32_t flushForced = 1;

// What CUpti_ActivityKernel3 to CUpti_ActivityKernel10 begin with.
struct Kernel {
  uint32_t kind;
  uint8_t settings[12];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t staticShared, dynamicShared;
  uint32_t localPerThread, localTotal, correlation;
  int64_t gridId;
  const char *name;
};
static_assert(offsetof(Kernel, start) == 16 && offsetof(Kernel, end) == 24 &&
              offsetof(Kernel, device) == 40 &&
              offsetof(Kernel, stream) == 48 &&
              offsetof(Kernel, correlation) == 92 &&
              offsetof(Kernel, name) == 104);

constexpr size_t bufferBytes = size_t(1) << 20;
} // namespace

// clang-format off
#define FUSEC_CUPTI_FUNCTIONS(X)                                                                   \
  X(resultString, "cuptiGetResultString", (Result result, const char **text))                      \
  X(timestamp, "cuptiGetTimestamp", (uint64_t *nanoseconds))                                       \
  X(subscribe, "cuptiSubscribe", (Subscriber *subscriber, Callback callback, void *userdata))      \
  X(unsubscribe, "cuptiUnsubscribe", (Subscriber subscriber))                                      \
  X(registerCallbacks, "cuptiActivityRegisterCallbacks", (BufferRequested requested,               \
                                                          BufferCompleted completed))              \
  X(enable, "cuptiActivityEnable", (int kind))                                                     \
  X(disable, "cuptiActivityDisable", (int kind))                                                   \
  X(flushAll, "cuptiActivityFlushAll", (uint32_t flags))                                           \
  X(nextRecord, "cuptiActivityGetNextRecord", (uint8_t *buffer, size_t validSize, void **record))
// clang-format on

struct Functions {
#define FUSEC_MEMBER(member, symbol, parameters)                               \
  Result(*member) parameters = nullptr;
  FUSEC_CUPTI_FUNCTIONS(FUSEC_MEMBER)
#undef FUSEC_MEMBER
};

namespace {
// What the callbacks fill, from threads of CUPTI too.
struct Collector {
  std::mutex mutex;
  bool isTaken = false; // by an Activity
  Functions functions;
  std::vector<KernelRecord> records;
  bool ranOut = false; // of host memory
};
Collector &collector() {
  // Never destroyed: CUPTI may return buffers while the process ends.
  static Collector *made = new Collector;
  return *made;
}

void requestBuffer(uint8_t **buffer, size_t *size, size_t *maxRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, bufferBytes));
  *size = *buffer ? bufferBytes : 0;
  *maxRecords = 0; // as many as there is room for
}

void readBuffer(Collector &all, uint8_t *buffer, size_t validSize) {
  void *next = nullptr;
  while (all.functions.nextRecord(buffer, validSize, &next) == success) {
    Kernel kernel;
    std::memcpy(&kernel, next, sizeof(kernel.kind));
    if (kernel.kind != concurrentKernel)
      continue;
    std::memcpy(&kernel, next, sizeof(kernel));
    // One that has not ended.
    if (kernel.start == 0 || kernel.end < kernel.start)
      continue;
    all.records.push_back({kernel.name ? kernel.name : "", kernel.start,
                           kernel.end, kernel.device, kernel.stream,
                           kernel.correlation});
  }
}

void completeBuffer(void *, uint32_t, uint8_t *buffer, size_t,
                    size_t validSize) {
  Collector &all = collector();
  std::lock_guard<std::mutex> lock(all.mutex);
  // No exception may pass CUPTI's frames.
  try {
    if (all.isTaken && buffer && validSize != 0)
      readBuffer(all, buffer, validSize);
  } catch (...) {
    all.ranOut = true;
  }
  std::free(buffer);
}

void ignoreCallback(void *, int, uint32_t, const void *) {}

std::string describe(const Functions &functions, const char *call,
                     Result result) {
  const char *text = nullptr;
  if (functions.resultString(result, &text) != success || !text)
    return std::string(call) + ": CUPTI error " + std::to_string(result);
  return std::string(call) + ": " + text;
}

std::vector<std::string> candidates(const std::string &path) {
  if (!path.empty())
    return {path};
  const char *variable = secure_getenv("FUSEC_CUPTI");
  if (variable && *variable)
    return {variable};
  std::vector<std::string> all;
  for (const char *folder :
       {"", "/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"})
    for (const char *name : {"libcupti.so.13", "libcupti.so.12"})
      all.push_back(std::string(folder) + name);
  return all;
}

bool load(const std::string &path, Functions &functions, std::string &reason) {
  void *library = nullptr;
  std::vector<std::string> names = candidates(path);
  for (const std::string &name : names) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
      break;
    // That of the first name says most.
    const char *text = dlerror();
    if (reason.empty())
      reason = "CUPTI cannot be loaded: " + std::string(text ? text : name) +
               "; name its library in FUSEC_CUPTI";
  }
  if (!library)
    return false;
  reason.clear();
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  functions.member =                                                           \
      reinterpret_cast<decltype(functions.member)>(dlsym(library, symbol));    \
  if (!functions.member) {                                                     \
    reason = "CUPTI's library has no " symbol;                                 \
    return false;                                                              \
  }
  FUSEC_CUPTI_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
  return true;
}
} // namespace

std::unique_ptr<Activity> Activity::start(const std::string &path,
                                          std::string &reason) {
  Collector &all = collector();
  std::unique_ptr<Activity> activity(new Activity);
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.isTaken) {
      reason = "another profile of this process takes activity records";
      return nullptr;
    }
    Functions loaded;
    if (!load(path, loaded, reason))
      return nullptr;
    all.functions = loaded;
    all.records.clear();
    all.ranOut = false;
    all.isTaken = true;
    activity->functions = &all.functions;
  }
  const Functions &functions = *activity->functions;
  auto refuse = [&](const char *call, Result result) {
    reason = describe(functions, call, result);
    return nullptr;
  };
  // Who subscribes is the only one: callbacks of another profiler stay.
  if (Result result =
          functions.subscribe(&activity->subscriber, ignoreCallback, nullptr)) {
    activity->subscriber = nullptr;
    refuse("cuptiSubscribe", result);
    if (result == alreadySubscribed || result == limitReached)
      reason += ": another profiler is attached to the process";
    return nullptr;
  }
  if (Result result =
          functions.registerCallbacks(requestBuffer, completeBuffer))
    return refuse("cuptiActivityRegisterCallbacks", result);
  if (Result result = functions.enable(concurrentKernel))
    return refuse("cuptiActivityEnable", result);
  activity->isEnabled = true;
  return activity;
}

Activity::~Activity() {
  Collector &all = collector();
  // Calls back, which takes the mutex.
  if (isEnabled) {
    functions->disable(concurrentKernel);
    functions->flushAll(flushForced);
  }
  if (subscriber)
    functions->unsubscribe(subscriber);
  std::lock_guard<std::mutex> lock(all.mutex);
  if (functions) {
    all.isTaken = false;
    all.records = {};
  }
}

uint64_t Activity::now() const {
  uint64_t nanoseconds = 0;
  functions->timestamp(&nanoseconds);
  return nanoseconds;
}

bool Activity::take(std::vector<KernelRecord> &records, std::string &reason) {
  if (Result result = functions->flushAll(flushForced)) {
    reason = describe(*functions, "cuptiActivityFlushAll", result);
    return false;
  }
  Collector &all = collector();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (all.ranOut) {
    reason = "out of host memory for activity records";
    return false;
  }
  records = std::move(all.records);
  all.records.clear();
  // A graph's kernels have the correlation of its one launch.
  std::stable_sort(records.begin(), records.end(),
                   [](const KernelRecord &a, const KernelRecord &b) {
                     return std::tie(a.correlation, a.start) <
                            std::tie(b.correlation, b.start);
                   });
  return true;
}

} // namespace fusec::rt::cupti
