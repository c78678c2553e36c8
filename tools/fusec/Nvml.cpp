// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Nvml.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/core.h>
#include <vector>

namespace fusec {

// Declarations and numbers are those of nvml.h of CUDA 12 and 13, as the wheel
// nvidia-ml-py 13 has them too, so that no header of CUDA is needed to build.
using Result = int;
namespace {
constexpr Result success = 0, insufficientSize = 7;
constexpr int smClock = 1, memoryClock = 2, onChip = 0;

// nvmlProcessInfo_t of the second version on.
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpuInstance, computeInstance;
};
static_assert(sizeof(Process) == 24);

enum PciAttribute : int { PciBus = 33, PciDevice = 34, PciDomain = 50 };
} // namespace

// clang-format off
#define FUSEC_NVML_FUNCTIONS(X)                                                                    \
  X(init, "nvmlInit_v2", (void))                                                                   \
  X(shutdown, "nvmlShutdown", (void))                                                              \
  X(deviceByBus, "nvmlDeviceGetHandleByPciBusId_v2", (const char *bus, void **device))             \
  X(clock, "nvmlDeviceGetClockInfo", (void *device, int type, unsigned *megahertz))                \
  X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned *milliwatts))                        \
  X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned *degrees))

// A driver has one of the first two: the second is the name until 12.1.
#define FUSEC_NVML_OPTIONAL_FUNCTIONS(X)                                                           \
  X(eventReasons, "nvmlDeviceGetCurrentClocksEventReasons", (void *device,                         \
                                                             unsigned long long *reasons))         \
  X(throttleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (void *device,                   \
                                                                   unsigned long long *reasons))   \
  X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", (void *device, unsigned *count,          \
                                                           Process *processes))
// clang-format on

struct NvmlFunctions {
#define FUSEC_MEMBER(member, symbol, parameters)                               \
  Result(*member) parameters = nullptr;
  FUSEC_NVML_FUNCTIONS(FUSEC_MEMBER)
  FUSEC_NVML_OPTIONAL_FUNCTIONS(FUSEC_MEMBER)
#undef FUSEC_MEMBER
  const char *(*errorString)(Result result) = nullptr;
};

template <typename T> static void find(void *library, const char *name, T &to) {
  to = reinterpret_cast<T>(dlsym(library, name));
}

static bool load(NvmlFunctions &functions, std::string &reason) {
  const char *variable = secure_getenv("FUSEC_NVML");
  const char *name = variable && *variable ? variable : "libnvidia-ml.so.1";
  // Never unloaded, as the driver itself.
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *text = dlerror();
    reason =
        fmt::format("NVML cannot be loaded: {}; name its library in FUSEC_NVML",
                    text ? text : name);
    return false;
  }
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  find(library, symbol, functions.member);                                     \
  if (!functions.member) {                                                     \
    reason = "NVML's library has no " symbol;                                  \
    return false;                                                              \
  }
  FUSEC_NVML_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
#define FUSEC_LOAD(member, symbol, parameters)                                 \
  find(library, symbol, functions.member);
  FUSEC_NVML_OPTIONAL_FUNCTIONS(FUSEC_LOAD)
#undef FUSEC_LOAD
  find(library, "nvmlErrorString", functions.errorString);
  return true;
}

/// As "00000000:01:00.0": ordinals of NVML are not those of the driver, which
/// sees what CUDA_VISIBLE_DEVICES leaves. Empty where the driver does not say.
static std::string getBus(const rt::DeviceIdentity &identity) {
  const rt::cuda::Driver &driver = identity.driver();
  rt::cuda::Device device = 0;
  int domain = 0, bus = 0, slot = 0;
  if (driver.deviceGet(&device, identity.ordinal()) != rt::cuda::success ||
      driver.deviceAttribute(&domain, PciDomain, device) != 0 ||
      driver.deviceAttribute(&bus, PciBus, device) != 0 ||
      driver.deviceAttribute(&slot, PciDevice, device) != 0)
    return "";
  return fmt::format("{:08x}:{:02x}:{:02x}.0", unsigned(domain),
                     unsigned(bus) & 0xff, unsigned(slot) & 0xff);
}

Nvml::Nvml(std::unique_ptr<NvmlFunctions> functions)
    : functions(std::move(functions)) {}

Nvml::~Nvml() { functions->shutdown(); }

std::unique_ptr<Nvml> Nvml::open(const rt::DeviceIdentity &device,
                                 std::string &reason) {
  auto functions = std::make_unique<NvmlFunctions>();
  if (!load(*functions, reason))
    return nullptr;
  auto describe = [text = functions->errorString](const char *call,
                                                  Result result) {
    const char *known = text ? text(result) : nullptr;
    return fmt::format("{}: {}", call,
                       known ? known : fmt::format("NVML error {}", result));
  };
  if (Result result = functions->init()) {
    reason = describe("nvmlInit", result);
    return nullptr;
  }
  std::unique_ptr<Nvml> nvml(new Nvml(std::move(functions)));
  std::string bus = getBus(device);
  if (Result result =
          nvml->functions->deviceByBus(bus.c_str(), &nvml->device)) {
    reason = fmt::format(
        "{} ({})", describe("nvmlDeviceGetHandleByPciBusId", result), bus);
    return nullptr;
  }
  return nvml;
}

static std::optional<double> scaleIf(Result result, unsigned value,
                                     double scale = 1) {
  return result == success ? std::optional<double>(value * scale)
                           : std::nullopt;
}

std::optional<double> Nvml::getSmClock() const {
  unsigned value = 0;
  Result result = functions->clock(device, smClock, &value);
  return scaleIf(result, value);
}

std::optional<double> Nvml::getMemoryClock() const {
  unsigned value = 0;
  Result result = functions->clock(device, memoryClock, &value);
  return scaleIf(result, value);
}

std::optional<double> Nvml::getPower() const {
  unsigned value = 0;
  Result result = functions->power(device, &value);
  return scaleIf(result, value, 1e-3);
}

std::optional<double> Nvml::getTemperature() const {
  unsigned value = 0;
  Result result = functions->temperature(device, onChip, &value);
  return scaleIf(result, value);
}

std::optional<uint64_t> Nvml::getClockReasons() const {
  auto *ask = functions->eventReasons ? functions->eventReasons
                                      : functions->throttleReasons;
  unsigned long long reasons = 0;
  if (!ask || ask(device, &reasons) != success)
    return std::nullopt;
  return reasons;
}

std::optional<unsigned> Nvml::getProcesses() const {
  if (!functions->processes)
    return std::nullopt;
  std::vector<Process> processes(64);
  unsigned count = unsigned(processes.size());
  Result result = functions->processes(device, &count, processes.data());
  if (result != success && result != insufficientSize)
    return std::nullopt;
  return count;
}

} // namespace fusec
