// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What NVIDIA's management library says of a device, loaded at run time.

#ifndef FUSEC_TOOLS_FUSEC_NVML_H
#define FUSEC_TOOLS_FUSEC_NVML_H

#include "runtime/src/Device.h"

#include <memory>
#include <optional>

namespace fusec {

struct NvmlFunctions;

class Nvml {
public:
  /// The library is $FUSEC_NVML, else libnvidia-ml.so.1. Null with `reason` set
  /// where there is none, or it does not know the device.
  static std::unique_ptr<Nvml> open(const rt::DeviceIdentity &device,
                                    std::string &reason);
  ~Nvml();
  Nvml(const Nvml &) = delete;

  // Nothing where the device or the driver does not say.
  std::optional<double> getSmClock() const;     // MHz
  std::optional<double> getMemoryClock() const; // MHz
  std::optional<double> getPower() const;       // W
  std::optional<double> getTemperature() const; // degrees Celsius
  /// Why clocks are not higher: bits, see below.
  std::optional<uint64_t> getClockReasons() const;
  /// Processes that compute on the device, this one among them.
  std::optional<unsigned> getProcesses() const;

  enum ClockReason : uint64_t {
    Idle = 0x1,
    ApplicationClocks = 0x2,
    PowerCap = 0x4,
    HardwareSlowdown = 0x8,
    SyncBoost = 0x10,
    ThermalSlowdown = 0x20,
    HardwareThermalSlowdown = 0x40,
    PowerBrake = 0x80,
    DisplayClocks = 0x100
  };

private:
  explicit Nvml(std::unique_ptr<NvmlFunctions> functions);

  std::unique_ptr<NvmlFunctions> functions;
  void *device = nullptr;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_NVML_H
