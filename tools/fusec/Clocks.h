// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clocks, power and temperature of a device while it is measured.

#ifndef FUSEC_TOOLS_FUSEC_CLOCKS_H
#define FUSEC_TOOLS_FUSEC_CLOCKS_H

#include "tools/fusec/Nvml.h"
#include "llvm/Support/JSON.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace fusec {

/// Samples, none of what the device does not say.
struct Clocks {
  /// Why there are none; empty where there are.
  std::string reason;
  std::vector<double> sm, memory; // MHz
  std::vector<double> power;      // W
  std::vector<double> temperature;
  std::vector<uint64_t> reasons; // bits of Nvml::ClockReason
  /// The most that used the device beside this process.
  std::optional<unsigned> otherProcesses;

  /// The share of samples with one of these bits.
  double getShare(uint64_t bits) const;

  /// On the standard output.
  void print() const;
  llvm::json::Object toJson() const;
};

/// A thread that takes samples from its start to its stop.
class ClockSampler {
public:
  /// Loads NVML, which takes some 10 ms.
  explicit ClockSampler(const rt::DeviceIdentity &device);
  ~ClockSampler();
  ClockSampler(const ClockSampler &) = delete;

  void start();
  Clocks stop();

private:
  void sample();

  Clocks clocks;
  std::unique_ptr<Nvml> nvml; // says in `clocks` why it is null
  std::mutex mutex;
  std::condition_variable wake;
  bool isStopped = false;
  std::thread thread;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_CLOCKS_H
