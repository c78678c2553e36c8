// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver's entry points on host memory.

#include "runtime/format/AlignUp.h"
#include "test/unit/runtime/FakeDriverParts.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <sstream>

using namespace fusec;
using namespace fusec::rt::cuda;

namespace {
constexpr Result invalidContext = 201, invalidImage = 200, notFound = 500,
                 captureUnsupported = 900, captureImplicit = 906;
constexpr int pciBus = 33, pciDevice = 34, pciDomain = 50; // attributes

struct FakeModule {
  FakeKernels kernels;
  std::vector<std::unique_ptr<FakeFunction>> functions;
};

// Functions live as long as the process, as handles that tests may compare.
std::vector<std::unique_ptr<FakeFunction>> &functions() {
  static std::vector<std::unique_ptr<FakeFunction>> all;
  return all;
}

thread_local int depth = 0;
thread_local int captureMode = CaptureModeGlobal;
} // namespace

Result allowAllocating() {
  bool refused = state().capturedElsewhere && captureMode != CaptureModeRelaxed;
  return refused ? captureUnsupported : success;
}

Result allowStream(Stream stream) {
  return state().capturedElsewhere && !stream ? captureImplicit : success;
}

Result enter(const char *name, bool needsContext) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().record)
    ++state().calls[name];
  if (state().failCall == name && state().failAt > 0 && --state().failAt == 0)
    return state().failCode;
  if (needsContext && state().failForEver && state().failAt == 0)
    return state().failCode;
  return needsContext && depth == 0 ? invalidContext : success;
}

Result readLaunch(const unsigned *grid, const unsigned *block,
                  unsigned sharedBytes, Function function, void **params,
                  void **extra, FakeLaunch &launch) {
  bool packed = !params && extra && extra[0] == paramBufferPointer() &&
                extra[2] == paramBufferSize() && extra[4] == paramEnd();
  const auto &[symbol, sizes, blockBytes] =
      *reinterpret_cast<FakeFunction *>(function);
  bool oneByOne = params && !extra;
  if ((!packed && !oneByOne) || grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return invalidValue;
  if (packed && *static_cast<size_t *>(extra[3]) != blockBytes)
    return invalidValue;
  if (!state().record)
    return success;
  launch.params.clear();
  if (packed) {
    const uint8_t *bytes = static_cast<const uint8_t *>(extra[1]);
    launch.params.assign(bytes, bytes + blockBytes);
  }
  // Copied at once, so that a sanitizer of the program sees where they end.
  std::vector<void *> all(oneByOne ? sizes.size() : 0);
  if (!all.empty())
    std::memcpy(all.data(), params, all.size() * sizeof(void *));
  for (size_t i = 0; i != all.size(); ++i) {
    size_t size = sizes[i], alignment = std::clamp<size_t>(size, 1, 64);
    const uint8_t *bytes = static_cast<const uint8_t *>(all[i]);
    if (reinterpret_cast<uintptr_t>(bytes) % alignment != 0)
      return invalidValue;
    size_t at = format::alignUp(launch.params.size(), alignment);
    launch.params.resize(at + size);
    std::memcpy(launch.params.data() + at, bytes, size);
  }
  launch.oneByOne = oneByOne;
  launch.symbol = symbol;
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.block = {block[0], block[1], block[2]};
  launch.cluster = {1, 1, 1};
  launch.smem = sharedBytes;
  launch.pdl = launch.cooperative = false;
  return success;
}

void execute(FakeLaunch launch) {
  if (!state().record)
    return;
  if (state().isTrusted && launch.symbol == "fake_double" &&
      launch.params.size() == 24) {
    uint64_t words[3];
    std::memcpy(words, launch.params.data(), sizeof(words));
    for (uint64_t i = 0; i != words[2]; ++i)
      reinterpret_cast<float *>(words[1])[i] =
          2 * reinterpret_cast<float *>(words[0])[i];
  }
  std::lock_guard<std::mutex> lock(state().mutex);
  double slowness = 1;
  if (!state().slowness.empty())
    slowness =
        state().slowness[state().launches.size() % state().slowness.size()];
  state().clock += slowness * launch.grid[0] * launch.grid[1] * launch.grid[2];
  state().launches.push_back(std::move(launch));
}

extern "C" {
FakeState *fusecFakeState() {
  static FakeState *state = [] {
    static FakeState made;
    if (const char *bytes = std::getenv("FUSEC_FAKE_MEMORY"))
      made.memoryBytes = std::strtoull(bytes, nullptr, 10);
    if (const char *clock = std::getenv("FUSEC_FAKE_CLOCK")) {
      made.hasClock = true;
      std::istringstream factors(clock);
      made.slowness = {std::istream_iterator<double>(factors), {}};
    }
    if (const char *fault = std::getenv("FUSEC_FAKE_FAIL")) {
      std::istringstream(fault) >> made.failCall >> made.failAt >>
          made.failCode;
      made.failForEver = made.failCode >= 700;
    }
    return &made;
  }();
  return state;
}

Result cuInit(unsigned) {
  ENTER("cuInit", false)
  return success;
}
Result cuDriverGetVersion(int *version) {
  ENTER("cuDriverGetVersion", false)
  *version = state().driverVersion;
  return success;
}
Result cuGetErrorName(Result error, const char **name) {
  *name = error == outOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == invalidImage ? "CUDA_ERROR_INVALID_IMAGE"
          : error == notFound     ? "CUDA_ERROR_NOT_FOUND"
                                  : nullptr;
  return *name ? success : invalidValue;
}
Result cuGetErrorString(Result error, const char **text) {
  *text = error == outOfMemory ? "out of memory" : nullptr;
  return *text ? success : invalidValue;
}
Result cuDeviceGetCount(int *count) {
  ENTER("cuDeviceGetCount", false)
  *count = 1;
  return success;
}
Result cuDeviceGet(Device *device, int ordinal) {
  ENTER("cuDeviceGet", false)
  *device = 100 + ordinal;
  return success;
}
Result cuDeviceGetName(char *name, int size, Device) {
  ENTER("cuDeviceGetName", false)
  std::strncpy(name, "Fake device", size_t(size));
  return success;
}
Result cuDeviceGetAttribute(int *value, int attribute, Device) {
  ENTER("cuDeviceGetAttribute", false)
  *value = attribute == AttributeCapabilityMajor   ? state().capabilityMajor
           : attribute == AttributeCapabilityMinor ? state().capabilityMinor
           : attribute == AttributeConcurrentManagedAccess
               ? int(state().sharesMemory)
           : attribute == pciBus ? 0x1a
           : attribute == pciDevice || attribute == pciDomain
               ? 0
               : state().maxSharedMemory;
  return success;
}
Result cuDevicePrimaryCtxRetain(Context *context, Device) {
  ENTER("cuDevicePrimaryCtxRetain", false)
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveContexts;
  *context = reinterpret_cast<Context>(0x1000);
  return success;
}
Result cuDevicePrimaryCtxRelease_v2(Device) {
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveContexts;
  return success;
}
Result cuCtxPushCurrent_v2(Context) {
  ENTER("cuCtxPushCurrent", false)
  std::lock_guard<std::mutex> lock(state().mutex);
  ++depth;
  ++state().pushedContexts;
  return success;
}
Result cuCtxPopCurrent_v2(Context *) {
  std::lock_guard<std::mutex> lock(state().mutex);
  --depth;
  --state().pushedContexts;
  return success;
}
Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count,
                          int *, void **values) {
  ENTER("cuModuleLoadDataEx", true)
  if (Result refused = allowAllocating())
    return refused;
  const char *text = static_cast<const char *>(image);
  bool isElf = std::memcmp(text, "\177ELF", 4) == 0;
  if (!isElf && std::strncmp(text, ".version", 8) != 0) {
    if (count != 0)
      std::strcpy(static_cast<char *>(values[0]), "no kernel image");
    return invalidImage;
  }
  FakeKernels kernels = readImage(text, isElf);
  *module = reinterpret_cast<Module>(new FakeModule{std::move(kernels), {}});
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveModules;
  return success;
}
Result cuModuleUnload(Module module) {
  delete reinterpret_cast<FakeModule *>(module);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveModules;
  return success;
}
Result cuModuleGetFunction(Function *function, Module module,
                           const char *name) {
  ENTER("cuModuleGetFunction", true)
  auto &[kernels, own] = *reinterpret_cast<FakeModule *>(module);
  auto kernel = kernels.find(name);
  if (kernel == kernels.end())
    return notFound;
  std::lock_guard<std::mutex> lock(state().mutex);
  auto &all = state().isTrusted ? functions() : own;
  all.push_back(std::make_unique<FakeFunction>(
      FakeFunction{name, kernel->second.sizes, kernel->second.bytes}));
  *function = reinterpret_cast<Function>(all.back().get());
  return success;
}
Result cuFuncGetParamInfo(Function function, size_t index, size_t *offset,
                          size_t *size) {
  ENTER("cuFuncGetParamInfo", true)
  const auto &sizes = reinterpret_cast<FakeFunction *>(function)->params;
  if (index >= sizes.size())
    return invalidValue;
  *offset = 0;
  *size = sizes[index];
  return success;
}
Result cuFuncSetAttribute(Function, int, int value) {
  ENTER("cuFuncSetAttribute", true)
  return value > state().maxSharedMemory ? invalidValue : success;
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int,
                                                   size_t) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor", true)
  *blocks = state().activeClusters;
  return success;
}
Result cuOccupancyMaxActiveClusters(int *clusters, Function,
                                    const LaunchConfig *) {
  ENTER("cuOccupancyMaxActiveClusters", true)
  *clusters = state().activeClusters;
  return success;
}
Result cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTER("cuThreadExchangeStreamCaptureMode", false)
  std::swap(*mode, captureMode);
  return success;
}
Result cuEventCreate(Event *event, unsigned) {
  ENTER("cuEventCreate", true)
  *event = reinterpret_cast<Event>(new double(0));
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveEvents;
  return success;
}
Result cuEventRecord(Event event, Stream) {
  ENTER("cuEventRecord", true)
  std::lock_guard<std::mutex> lock(state().mutex);
  *reinterpret_cast<double *>(event) = state().clock += 1;
  return success;
}
Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  ENTER("cuEventElapsedTime", true)
  *milliseconds = 1;
  if (state().hasClock)
    *milliseconds = float((*reinterpret_cast<double *>(end) -
                           *reinterpret_cast<double *>(start)) /
                          1000);
  return success;
}
Result cuEventDestroy_v2(Event event) {
  delete reinterpret_cast<double *>(event);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveEvents;
  return success;
}

Result cuLaunchKernelEx(const LaunchConfig *config, Function function,
                        void **params, void **extra) {
  ENTER("cuLaunchKernelEx", true)
  FakeLaunch launch;
  if (Result bad = readLaunch(config->grid, config->block, config->sharedBytes,
                              function, params, extra, launch))
    return bad;
  launch.stream = config->stream;
  for (unsigned i = 0; i != config->numAttributes; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == LaunchClusterDimension)
      std::memcpy(launch.cluster.data(), attribute.value.clusterDim,
                  sizeof(launch.cluster));
    if (attribute.id == LaunchCooperative)
      launch.cooperative = attribute.value.cooperative != 0;
    if (attribute.id == LaunchProgrammaticSerialization)
      launch.pdl = attribute.value.programmaticSerializationAllowed != 0;
  }
  execute(std::move(launch));
  return success;
}

Result cuTensorMapEncodeTiled(TensorMap *map, int dtype, unsigned rank,
                              void *address, const uint64_t *sizes,
                              const uint64_t *strides, const unsigned *box,
                              const unsigned *, int interleave, int swizzle,
                              int promotion, int) {
  ENTER("cuTensorMapEncodeTiled", false)
  uint64_t start = reinterpret_cast<uint64_t>(address);
  if (start % 16 != 0 || rank < 1 || rank > 5 || interleave != 0)
    return invalidValue;
  if (!state().record)
    return success;
  FakeMap made = {dtype,
                  rank,
                  start,
                  {sizes, sizes + rank},
                  {strides, strides + rank - 1},
                  {box, box + rank},
                  swizzle,
                  promotion};
  std::memset(map, 0xee, sizeof(*map));
  map->opaque[0] = start;
  std::lock_guard<std::mutex> lock(state().mutex);
  state().maps.push_back(std::move(made));
  return success;
}
}
