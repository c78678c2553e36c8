// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ProfileJson.h"

using namespace fusec;
namespace json = llvm::json;

static json::Value known(int64_t value) {
  return value < 0 ? json::Value(nullptr) : json::Value(value);
}

static json::Value text(llvm::StringRef name) { return json::fixUTF8(name); }

static json::Object toJson(const Profile::Step &step,
                           const DeviceRates &rates) {
  json::Array nodes;
  for (const std::string &source : step.sources)
    nodes.push_back(text(source));
  bool isPredicted = step.predicted != 0;
  return json::Object{
      {"step", text(step.step)},
      {"lead", step.lead.empty() ? json::Value(nullptr) : text(step.lead)},
      {"kernel", text(step.kernel)},
      {"nodes", std::move(nodes)},
      {"grid", json::Array(step.grid)},
      {"block", json::Array(step.block)},
      {"median_us", step.median},
      {"min_us", step.min},
      {"p90_us", step.p90},
      {"start_us", step.start},
      {"bytes_read", known(step.bytesRead)},
      {"bytes_written", known(step.bytesWritten)},
      {"operations", known(step.operations)},
      {"unit", step.unit.empty() ? json::Value(nullptr) : text(step.unit)},
      {"predicted_us",
       isPredicted ? json::Value(step.predicted) : json::Value(nullptr)},
      {"predicted_dim", isPredicted && step.predictedDim
                            ? json::Value(step.predictedDim)
                            : json::Value(nullptr)},
      {"floor_us", getFloor(step, rates)}};
}

json::Object fusec::toJson(const Profile &profile, const DeviceRates &rates) {
  json::Array steps;
  for (const Profile::Step &step : profile.steps)
    steps.push_back(::toJson(step, rates));
  return json::Object{
      {"method",
       profile.method == FUSEC_PROFILE_ACTIVITY ? "activity" : "events"},
      {"reason", text(profile.reason)},
      {"graph", profile.replayed},
      {"runs", int64_t(profile.runs.size())},
      {"run_us", profile.run},
      {"profiled_us", profile.profiled},
      {"sum_us", profile.sum},
      {"rates", json::Object{{"memory_gbps", rates.memory},
                             {"memory_is_measured", rates.isCopy},
                             {"fma_tflops", rates.fma},
                             {"half_tflops", rates.half},
                             {"launch_us", rates.launch}}},
      {"steps", std::move(steps)}};
}
