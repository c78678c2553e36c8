// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a measurement says beyond its times: each piece of advice only where
// there is evidence for it.

#include "tools/fusec/BenchReport.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

using namespace fusec;

/// Of (p90 - p10) / median: two rounds of one model differ by less.
static constexpr double wideSpread = 0.05;

namespace {
/// Times that lie around two values.
struct Modes {
  double low, high;  // medians
  double partOfHigh; // of the samples
  double separation; // of the means, in standard deviations within the modes
};
} // namespace

/// The split with the least squares within both parts (Otsu's).
static Modes splitModes(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double count = double(values.size()), least = HUGE_VAL;
  double all = std::accumulate(values.begin(), values.end(), 0.0), sum = 0;
  double squares =
      std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  Modes modes = {values.front(), values.back(), 0, 0};
  for (size_t i = 1; i != values.size(); ++i) {
    sum += values[i - 1];
    double low = sum / double(i), high = (all - sum) / (count - double(i));
    double within = std::max(0.0, squares - sum * low - (all - sum) * high);
    if (within >= least)
      continue;
    least = within;
    modes = {values[i / 2], values[i + (values.size() - i) / 2],
             (count - double(i)) / count,
             (high - low) / std::max(std::sqrt(within / count), 1e-6 * low)};
  }
  return modes;
}

static void adviseOnClocks(const Clocks &clocks,
                           std::vector<std::string> &evidence) {
  if (!clocks.sm.empty()) {
    auto [least, most] =
        std::minmax_element(clocks.sm.begin(), clocks.sm.end());
    if (*most > 1.03 * *least)
      evidence.push_back(
          fmt::format("the SM clock was between {0:.0f} and {1:.0f} MHz: "
                      "`nvidia-smi -lgc {0:.0f}` fixes it",
                      *least, *most));
  }
  double byPower = clocks.getShare(Nvml::PowerCap | Nvml::PowerBrake),
         byHeat = clocks.getShare(Nvml::ThermalSlowdown |
                                  Nvml::HardwareThermalSlowdown);
  if (byPower >= 0.1)
    evidence.push_back(
        fmt::format("in {:.0f}% of the samples its power held the clocks down: "
                    "a lower clock (nvidia-smi -lgc) is a steady one",
                    100 * byPower));
  if (byHeat >= 0.1)
    evidence.push_back(
        fmt::format("in {:.0f}% of the samples heat held the clocks down: see "
                    "to its cooling, or fix a lower clock (nvidia-smi -lgc)",
                    100 * byHeat));
  if (clocks.otherProcesses.value_or(0) > 0)
    evidence.push_back(fmt::format(
        "{} more process{} used the device: measure when it is free",
        *clocks.otherProcesses, *clocks.otherProcesses == 1 ? "" : "es"));
}

/// Why times on the device spread.
static void adviseOnSpread(const BenchResult &result, double spread,
                           std::vector<std::string> &advice) {
  std::vector<std::string> evidence;
  adviseOnClocks(result.clocks, evidence);
  Modes modes = splitModes(result.times.device);
  // That of an even spread is 3.5, of a normal one 2.6.
  if (modes.separation > 5 && modes.partOfHigh >= 0.1 &&
      modes.partOfHigh <= 0.9)
    evidence.push_back(
        fmt::format("runs take either {:.4f} or {:.4f} ms ({:.0f}% of them): "
                    "one median says little, --against=BUNDLE compares in turn",
                    modes.low, modes.high, 100 * modes.partOfHigh));
  if (evidence.empty())
    evidence.push_back("what was sampled does not say why" +
                       std::string(result.clocks.reason.empty()
                                       ? ""
                                       : ", and clocks could not be"));
  for (const std::string &text : evidence)
    advice.push_back(fmt::format("times spread by {:.0f}% (p10 to p90); {}",
                                 100 * spread, text));
}

std::vector<std::string> BenchResult::getAdvice() const {
  std::vector<std::string> advice;
  double onDevice = getPercentile(times.device, 0.5),
         onHost = getPercentile(times.host, 0.5);
  if (onHost > onDevice)
    advice.push_back(
        std::string("the host needs longer to enqueue a run than the device to "
                    "execute it; use larger batches") +
        (isReplayed ? "" : ", or --graph=on"));
  double spread =
      (getPercentile(times.device, 0.9) - getPercentile(times.device, 0.1)) /
      onDevice;
  if (spread > wideSpread)
    adviseOnSpread(*this, spread, advice);
  if (launches > 1 && onDevice < 0.005 * launches)
    advice.push_back(
        "kernels are short; `fusec explain` says why they are not fewer");
  auto fusion = options.find("fusion");
  if (fusion != options.end() && fusion->second == "off")
    advice.push_back("the bundle was compiled with --no-fusion");
  return advice;
}
