// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preference and fitness of plans.

#include "runtime/src/PlanChoice.h"

#include "runtime/format/Target.h"
#include "runtime/src/Device.h"

#include <algorithm>
#include <map>

namespace fusec::rt {

namespace {
constexpr unsigned clusterCapability = 90;

// Empty where the plan's code runs on the device.
std::string whyNot(const format::Plan &plan, const format::Target &target,
                   const DeviceLimits &limits) {
  bool sameMajor = target.major() == limits.capability / 10;
  if (target.archSpecific && target.capability != limits.capability)
    return "runs on sm_" + std::to_string(target.capability) + " only";
  if (!target.ptx && !sameMajor)
    return "runs on devices of major version " +
           std::to_string(target.major()) + " only";
  if (target.capability > limits.capability)
    return "needs sm_" + std::to_string(target.capability) + " or later";
  if (plan.minDriver > limits.driver)
    return "needs driver " + driverVersionText(plan.minDriver);
  if (plan.smem > limits.maxSharedMemory)
    return "needs " + std::to_string(plan.smem) +
           " bytes of shared memory, the device has " +
           std::to_string(limits.maxSharedMemory);
  if (plan.cluster > 1 && limits.capability < clusterCapability)
    return "needs clusters of blocks";
  return "";
}

// Higher is better.
unsigned preference(const format::Target &target) {
  return target.ptx ? 0 : target.capability + (target.archSpecific ? 1000 : 0);
}
// As a shell reads it.
std::string quoted(const std::string &word) {
  bool isPlain = word.find_first_not_of(
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_-.,=/") == std::string::npos;
  return isPlain ? word : "'" + word + "'";
}
} // namespace

std::optional<size_t> choosePlan(const format::Manifest &manifest,
                                 const DeviceLimits &limits,
                                 std::string &reasons) {
  std::optional<size_t> best;
  unsigned bestPreference = 0;
  reasons.clear();
  for (size_t i = 0; i != manifest.plans.size(); ++i) {
    const format::Plan &plan = manifest.plans[i];
    std::optional<format::Target> target = format::parseTarget(plan.target);
    if (!target)
      continue;
    std::string reason = whyNot(plan, *target, limits);
    if (!reason.empty()) {
      reasons += (reasons.empty() ? "" : "; ") + plan.target + " " + reason;
    } else if (!best || preference(*target) > bestPreference) {
      best = i;
      bestPreference = preference(*target);
    }
  }
  return best;
}

std::string archFor(unsigned capability) {
  // Hopper's tensor cores are reached by its own target only.
  return "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
}

std::string compileCommand(const format::Manifest &manifest,
                           unsigned capability) {
  std::string command =
      "fusec compile MODEL.onnx -o MODEL.fusec --arch=" + archFor(capability);
  const std::map<std::string, std::string> plain = {
      {"gather", "flag"}, {"numerics", "default"}, {"precision", "ieee"}};
  for (const auto &[key, value] : manifest.options) {
    auto is = [&](const char *prefix) { return key.rfind(prefix, 0) == 0; };
    if (auto it = plain.find(key); it != plain.end() && value != it->second)
      command += " --" + key + "=" + value;
    else if (key == "fusion" && value == "off")
      command += " --no-fusion";
    else if (key == "max-rank")
      command += " --max-rank=" + value;
    else if (key == "tuning")
      command += " --tuning=FILE";
    else if (is("dim."))
      command += " --dim " + quoted(key.substr(4) + "=" + value);
    else if (is("adapter."))
      command += " --adapter " + quoted(key.substr(8) + "=" + value);
    else if (key == "replaceable" || key == "updatable")
      for (size_t at = 0, end; at < value.size(); at = end + 1) {
        end = std::min(value.find(',', at), value.size());
        command += " --" + key + " " + quoted(value.substr(at, end - at));
      }
  }
  return command;
}

} // namespace fusec::rt
