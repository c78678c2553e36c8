// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ProfileJson.h"
#include "tools/fusec/Json.h"

using namespace fusec;

static llvm::json::Object toJson(const Profile::Step &step,
                                 const DeviceRates &rates) {
  auto known = [](bool isKnown, llvm::json::Value value) {
    return isKnown ? std::move(value) : llvm::json::Value(nullptr);
  };
  auto sizes = [](const uint32_t(&of)[3]) {
    return llvm::json::Array({of[0], of[1], of[2]});
  };
  return llvm::json::Object{
      {"step", jsonText(step.step)},
      {"kernel", jsonText(step.kernel)},
      {"lead", known(!step.lead.empty(), jsonText(step.lead))},
      {"nodes", jsonTexts(step.sources)},
      {"grid", sizes(step.grid)},
      {"block", sizes(step.block)},
      {"median_us", jsonNumber(step.median)},
      {"min_us", jsonNumber(step.min)},
      {"p90_us", jsonNumber(step.p90)},
      {"start_us", jsonNumber(step.start)},
      {"bytes_read", known(step.bytesRead >= 0, step.bytesRead)},
      {"bytes_written", known(step.bytesWritten >= 0, step.bytesWritten)},
      {"operations", known(step.operations >= 0, step.operations)},
      {"unit", known(!step.unit.empty(), jsonText(step.unit))},
      {"predicted_us", known(step.predicted > 0, jsonNumber(step.predicted))},
      {"predicted_dim", known(step.predictedDim > 0, step.predictedDim)},
      {"floor_us", jsonNumber(getFloor(step, rates))}};
}

llvm::json::Object fusec::toJson(const Profile &profile,
                                 const DeviceRates &rates) {
  return llvm::json::Object{
      {"method",
       profile.method == FUSEC_PROFILE_ACTIVITY ? "activity" : "events"},
      {"reason", jsonText(profile.reason)},
      {"graph", profile.replayed},
      {"runs", profile.runs.size()},
      {"run_us", jsonNumber(profile.run)},
      {"profiled_us", jsonNumber(profile.profiled)},
      {"sum_us", jsonNumber(profile.sum)},
      {"rates", llvm::json::Object{{"gb_per_s", jsonNumber(rates.memory)},
                                   {"is_measured", rates.isCopy},
                                   {"fma_tflops", jsonNumber(rates.fma)},
                                   {"half_tflops", jsonNumber(rates.half)},
                                   {"launch_us", jsonNumber(rates.launch)}}},
      {"steps", jsonArray(profile.steps, [&](const Profile::Step &step) {
         return ::toJson(step, rates);
       })}};
}
