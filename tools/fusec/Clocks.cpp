// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Clocks.h"
#include "runtime/format/Printable.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/core.h>

using namespace fusec;

/// Often enough for a short measurement, and seldom enough for the driver to
/// have its locks for launches.
static constexpr std::chrono::milliseconds period(20);

static const std::pair<uint64_t, const char *> reasonNames[] = {
    {Nvml::ApplicationClocks, "application clocks"},
    {Nvml::PowerCap, "power cap"},
    {Nvml::HardwareSlowdown, "hardware slowdown"},
    {Nvml::SyncBoost, "sync boost"},
    {Nvml::ThermalSlowdown, "thermal slowdown"},
    {Nvml::HardwareThermalSlowdown, "hardware thermal slowdown"},
    {Nvml::PowerBrake, "power brake"},
    {Nvml::DisplayClocks, "display clocks"}};

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

ClockSampler::ClockSampler(const rt::DeviceIdentity &device)
    : nvml(Nvml::open(device, clocks.reason)) {}

ClockSampler::~ClockSampler() { stop(); }

void ClockSampler::start() {
  if (!nvml)
    return;
  isStopped = false;
  thread = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    do
      sample();
    while (!wake.wait_for(lock, period, [this] { return isStopped; }));
    sample(); // What was short has two.
  });
}

Clocks ClockSampler::stop() {
  if (!thread.joinable())
    return clocks;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopped = true;
  }
  wake.notify_one();
  thread.join();
  return clocks;
}

void ClockSampler::sample() {
  auto add = [](auto &samples, auto value) {
    if (value)
      samples.push_back(*value);
  };
  add(clocks.sm, nvml->getSmClock());
  add(clocks.memory, nvml->getMemoryClock());
  add(clocks.power, nvml->getPower());
  add(clocks.temperature, nvml->getTemperature());
  add(clocks.reasons, nvml->getClockReasons());
  // In a container this process may have another number than NVML's.
  if (std::optional<unsigned> all = nvml->getProcesses())
    clocks.otherProcesses =
        std::max(clocks.otherProcesses.value_or(0), *all ? *all - 1 : 0);
}

//===----------------------------------------------------------------------===//
// Reporting
//===----------------------------------------------------------------------===//

double Clocks::getShare(uint64_t bits) const {
  if (reasons.empty())
    return 0;
  auto count = std::count_if(reasons.begin(), reasons.end(),
                             [&](uint64_t one) { return one & bits; });
  return double(count) / double(reasons.size());
}

static double getMedian(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void Clocks::print() const {
  if (!reason.empty()) {
    llvm::outs() << "clocks: not sampled: "
                 << format::shorten(format::printable(reason), 300) << "\n";
    return;
  }
  using Align = Table::Align;
  Table table({{"while measuring"},
               {"min", Align::Right},
               {"median", Align::Right},
               {"max", Align::Right}});
  auto add = [&](const char *name, const std::vector<double> &values) {
    if (values.empty())
      return;
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    std::vector<std::string> row = {name};
    for (double value : {*least, getMedian(values), *most})
      row.push_back(fmt::format("{:.0f}", value));
    table.row(std::move(row));
  };
  add("SM clock, MHz", sm);
  add("memory clock, MHz", memory);
  add("power, W", power);
  add("temperature, C", temperature);
  llvm::outs() << table.str();
  std::string held;
  for (auto [bit, name] : reasonNames)
    if (double share = getShare(bit))
      held += fmt::format("{}{} ({:.0f}% of the samples)",
                          held.empty() ? "" : ", ", name, 100 * share);
  if (!held.empty())
    llvm::outs() << "clocks were held down by: " << held << "\n";
}

static llvm::json::Value rangeJson(const std::vector<double> &values) {
  if (values.empty())
    return nullptr;
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  return llvm::json::Object{
      {"min", *least}, {"median", getMedian(values)}, {"max", *most}};
}

llvm::json::Object Clocks::toJson() const {
  llvm::json::Array held;
  for (auto [bit, name] : reasonNames)
    if (double share = getShare(bit))
      held.push_back(llvm::json::Object{{"reason", name}, {"share", share}});
  return llvm::json::Object{
      {"reason", jsonText(reason)},
      {"sm_mhz", rangeJson(sm)},
      {"memory_mhz", rangeJson(memory)},
      {"power_w", rangeJson(power)},
      {"temperature_c", rangeJson(temperature)},
      {"held_down_by", std::move(held)},
      {"other_processes", otherProcesses ? llvm::json::Value(*otherProcesses)
                                         : llvm::json::Value(nullptr)}};
}
