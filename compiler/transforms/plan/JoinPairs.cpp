// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/JoinPairs.h"
#include "compiler/schedule/Schedules.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

std::string fusec::nameReduced(StepOp producer, StepOp reduction) {
  std::string name = (producer.getName() + "_" + reduction.getName()).str();
  return name.size() < 48 ? name : (producer.getName() + "_reduce").str();
}

const Estimates &PairJoiner::getTimes(StepOp step) {
  auto [it, isNew] = times.try_emplace(step);
  if (isNew)
    it->second = estimateStep(step, target, products, sampledDims);
  return it->second;
}

/// Why one kernel is slower than two, or nothing.
std::string PairJoiner::checkTime(const Estimates &together, StepOp first,
                                  StepOp second) {
  // Looking up the second one's may move the first one's.
  Estimates ofFirst = getTimes(first);
  const Estimates &ofSecond = getTimes(second);
  bool isFolded = joiner.isOfWeights(first);
  const JoinTolerance &tolerance = isFolded ? weightTolerance : rule.tolerance;
  double hidden = tolerance.overlaps ? estimateOverlap(target) : 0;
  double gained = 0;
  for (auto [dim, one, a, b] :
       llvm::zip_equal(sampledDims, together, ofFirst, ofSecond)) {
    if (!a || !b)
      return "one of them is not of its family's form";
    double apart = (isFolded ? 0 : a->microseconds) + b->microseconds - hidden;
    if (one->microseconds > tolerance.atOneSize * apart)
      return fmt::format("one kernel takes {:.1f} us where {} {:.1f} us, at "
                         "dimensions of {}",
                         one->microseconds,
                         isFolded ? "the product of weights takes"
                                  : "the two take",
                         apart, dim);
    gained += std::log(apart / one->microseconds);
  }
  return gained >= 0 ? ""
         : isFolded  ? "one kernel takes longer than the product of weights"
                     : "one kernel takes longer than the two";
}

StepOp PairJoiner::tryJoin(StepOp first, StepOp second, std::string &reason) {
  Estimates together;
  auto check = [&](StepOp joined) -> std::string {
    if (rule.check)
      if (std::string illegal = rule.check(joined); !illegal.empty())
        return illegal;
    together = estimateStep(joined, target, products, sampledDims);
    if (!llvm::all_of(together, [](auto &time) { return time.has_value(); }))
      return rule.noKernel.str();
    return rule.always ? "" : checkTime(together, first, second);
  };
  Operation *parts[] = {first, second};
  StepOp joined = joiner.join(
      first, second,
      {rule.remark, rule.family, rule.name(first, second), check}, reason);
  if (joined) {
    for (Operation *part : parts)
      times.erase(part);
    times[joined] = std::move(together);
    changed = true;
  }
  return joined;
}

StepOp PairJoiner::join(ArrayRef<StepOp> firsts, StepOp second) {
  SmallVector<std::pair<StepOp, std::string>> refused;
  for (StepOp first : firsts) {
    std::string reason;
    if (StepOp joined = tryJoin(first, second, reason))
      return joined;
    refused.push_back({first, reason});
  }
  for (auto &[first, reason] : refused)
    remarkMissed(rule.remark, second.getLoc())
        << nameBoth(first, second) << ": " << reason;
  return {};
}
