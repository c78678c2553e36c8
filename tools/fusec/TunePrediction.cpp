// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/TunePrediction.h"
#include "compiler/kernels/Family.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/core.h>

using namespace fusec;

/// By how much a coefficient is changed to see what follows. Times are whole
/// nanoseconds, so that less would show their rounding.
static constexpr double change = 1.05;
/// Effects below it are rounding, too.
static constexpr double leastEffect = 0.002;

Target fusec::readCosts(const Target &target, const std::string &path) {
  Target changed = target;
  if (path.empty())
    return changed;
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    failUnreadable(path + ": cannot be read: " + text.getError().message());
  llvm::Expected<llvm::json::Value> json =
      llvm::json::parse((*text)->getBuffer());
  if (!json)
    failUnreadable(path + ": " + llvm::toString(json.takeError()));
  const llvm::json::Object *values = json->getAsObject();
  if (!values)
    failUnreadable(path + ": expected an object of coefficients");
  for (const auto &[name, value] : *values) {
    auto known = llvm::find_if(getCoefficients(), [&](const Coefficient &each) {
      return each.name == llvm::StringRef(name);
    });
    std::optional<double> number = value.getAsNumber();
    if (known == getCoefficients().end() || !number || !(*number > 0))
      failUnreadable(
          fmt::format("{}: {}: expected a COST or REACHED of "
                      "compiler/schedule/devices/, and a number above 0",
                      path, name.str()));
    known->get(changed) = *number;
  }
  return changed;
}

namespace {
struct Predicted {
  double microseconds;
  llvm::StringRef bound;
};
} // namespace

/// By the text of a schedule. Of a schedule under several guards, the first.
static std::map<std::string, Predicted>
predict(StepOp step, const Target &target, Products products) {
  std::map<std::string, Predicted> times;
  for (VariantAttr variant :
       getKernelFamily(step.getFamily()).chooseVariants(step, target, products))
    for (; variant; variant = variant.getNext())
      if (EstimateAttr estimate = variant.getEstimate())
        times.insert({getScheduleText(variant.getSchedule()),
                      {estimate.getNanoseconds() / 1000.0,
                       stringifyTimeBound(estimate.getBound())}});
  return times;
}

llvm::json::Array fusec::predictContest(const Contest &contest,
                                        const Target &target,
                                        Products products) {
  PlanOp plan =
      *contest.contenders[0].compilation->getModule().getOps<PlanOp>().begin();
  StepOp step = *plan.getOps<StepOp>().begin();
  std::map<std::string, Predicted> times = predict(step, target, products);
  std::map<std::string, llvm::json::Object> effects;
  for (const Coefficient &coefficient : getCoefficients()) {
    Target changed = target;
    coefficient.get(changed) *= change;
    for (const auto &[schedule, time] : predict(step, changed, products)) {
      auto it = times.find(schedule);
      if (it == times.end())
        continue;
      double effect = std::log(time.microseconds / it->second.microseconds) /
                      std::log(change);
      if (std::abs(effect) >= leastEffect)
        effects[schedule][coefficient.name] = effect;
    }
  }
  llvm::json::Array candidates;
  for (auto &[schedule, time] : times)
    candidates.push_back(
        llvm::json::Object{{"schedule", schedule},
                           {"bound", time.bound},
                           {"predicted_us", jsonNumber(time.microseconds)},
                           {"measured_us", nullptr},
                           {"refused", ""},
                           {"effects", std::move(effects[schedule])}});
  return candidates;
}
