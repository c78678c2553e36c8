// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ProfileReport.h"
#include "compiler/schedule/Targets.h"
#include "runtime/format/Printable.h"
#include "runtime/src/Profile.h"
#include "tools/support/Table.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/core.h>

using namespace fusec;

/// More than the second-level cache of any device so far.
static constexpr uint64_t copiedBytes = uint64_t(256) << 20;
static constexpr unsigned copies = 10;

/// In GB/s; 0 where there is no memory for it.
static double measureCopy(const rt::Device &device) {
  try {
    rt::SetUpScope scope(device);
    rt::DeviceMemory from(device, copiedBytes, "a copy"),
        to(device, copiedBytes, "a copy");
    rt::MeasuredStream stream(device, /*flushes=*/false, 2);
    std::vector<double> times;
    for (unsigned i = 0; i != copies; ++i) {
      stream.record(0);
      device.driver().check(
          device.driver().copyOnDeviceAsync(to.pointer(), from.pointer(),
                                            copiedBytes, stream.stream()),
          "cuMemcpyDtoDAsync");
      stream.record(1);
      stream.synchronize();
      times.push_back(stream.microseconds(0, 1));
    }
    return 2 * copiedBytes / rt::percentile(times, 0.5) / 1000;
  } catch (const rt::Failure &) {
    return 0;
  }
}

DeviceRates fusec::measureRates(const rt::Device &device,
                                llvm::StringRef target) {
  const Target *known = findTarget(target);
  if (!known)
    known = findTarget("ptx");
  double clocks = known->rates.clock * known->multiprocessors / 1000;
  double copy = measureCopy(device);
  return {copy != 0 ? copy : known->rates.memory, copy != 0,
          known->rates.fma * clocks, known->rates.tensor * clocks,
          known->rates.launch};
}

/// TFLOP/s of the operations that are counted.
static double getMathRate(llvm::StringRef unit, const DeviceRates &rates) {
  return unit == "half"     ? rates.half
         : unit == "tf32"   ? rates.half / 2
         : unit == "tf32x3" ? rates.half / 6
                            : rates.fma;
}

static double getBytes(const Profile::Step &step) {
  return double(std::max<int64_t>(step.bytesRead, 0)) +
         double(std::max<int64_t>(step.bytesWritten, 0));
}

double fusec::getFloor(const Profile::Step &step, const DeviceRates &rates) {
  double memory = getBytes(step) / rates.memory / 1000;
  double math = double(std::max<int64_t>(step.operations, 0)) /
                getMathRate(step.unit, rates) / 1e6;
  return std::max({memory, math, rates.launch});
}

/// As text that a terminal takes.
static std::string shorten(llvm::StringRef text, size_t most) {
  return format::shorten(format::printable(text), most);
}

static std::string number(double value, bool isKnown = true) {
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return isKnown ? fmt::format("{:.{}f}", value, decimals) : "-";
}

static std::string predictedText(const Profile::Step &step) {
  if (step.predicted == 0)
    return "-";
  std::string text = fmt::format("{:.2f}", step.predicted);
  if (step.predictedDim != 0)
    text += fmt::format(" at {}", step.predictedDim);
  return text;
}

static void printSums(const Profile &profile, const DeviceRates &rates) {
  auto &os = llvm::outs();
  os << fmt::format("sum of {} kernels {:.2f} us: {:.1f}% of a run without "
                    "profiling, {:.2f} us; with, {:.2f} us\n",
                    profile.steps.size(), profile.sum,
                    100 * profile.sum / profile.run, profile.run,
                    profile.profiled);
  if (profile.method == FUSEC_PROFILE_ACTIVITY)
    os << "times by CUPTI's activity records of " << profile.runs.size()
       << " runs " << (profile.replayed ? "of a CUDA graph" : "as launched")
       << "\n";
  else
    os << "times by events around each kernel of " << profile.runs.size()
       << " runs, launched one by one, less those of an empty pair ("
       << shorten(profile.reason, 300) << ")\n";
  os << fmt::format(
      "floor: the largest of bytes at {:.0f} GB/s ({}), operations at {:.0f} "
      "TFLOP/s (fp32 units), {:.0f} (16 bits), {:.0f} (tf32) or {:.0f} (fp32 "
      "by three of tf32), and {:.1f} us a launch\n",
      rates.memory, rates.isCopy ? "a copy, measured" : "a typical device's",
      rates.fma, rates.half, rates.half / 2, rates.half / 6, rates.launch);
}

void fusec::printProfile(const Profile &profile, const DeviceRates &rates) {
  using Align = Table::Align;
  Table table({{"", Align::Right},
               {"step"},
               {"kernel"},
               {"us", Align::Right},
               {"share", Align::Right},
               {"predicted", Align::Right},
               {"GB/s", Align::Right},
               {"TFLOP/s", Align::Right},
               {"floor", Align::Right},
               {"x floor", Align::Right},
               {"nodes"}});
  for (size_t i = 0; i != profile.steps.size(); ++i) {
    const Profile::Step &step = profile.steps[i];
    double floor = getFloor(step, rates);
    bool isTimed = step.median > 0;
    std::string name = step.step;
    if (!step.lead.empty())
      name = step.lead + " + " + name;
    table.row({std::to_string(i + 1), shorten(name, 40),
               shorten(step.kernel, 40), fmt::format("{:.2f}", step.median),
               fmt::format("{:.1f}%",
                           profile.sum ? 100 * step.median / profile.sum : 0),
               predictedText(step),
               number(getBytes(step) / step.median / 1000,
                      isTimed && step.bytesRead >= 0 && step.bytesWritten >= 0),
               number(double(step.operations) / step.median / 1e6,
                      isTimed && step.operations >= 0),
               fmt::format("{:.2f}", floor),
               number(step.median / floor, isTimed),
               shorten(llvm::join(step.sources, " "), 60)});
  }
  llvm::outs() << "\nkernels of a run, in its order:\n" << table.str();
  printSums(profile, rates);
}
