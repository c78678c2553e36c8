// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a run as they were measured, by this process or by another whose
// profile a file has; and two such runs step by step.

#ifndef FUSEC_TOOLS_FUSEC_MEASUREDSTEPS_H
#define FUSEC_TOOLS_FUSEC_MEASUREDSTEPS_H

#include "fusec/fusec.hpp"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec {

/// A launch. Names are as JSON has them.
struct MeasuredStep {
  std::string step, kernel;
  /// A step whose result the kernel computes first; empty where it is none.
  std::string lead;
  std::vector<std::string> nodes;
  /// In microseconds; what was predicted is 0 where nothing was.
  double median = 0, predicted = 0;
};

/// `profile` of `fusec bench --json`: the steps of its run, in its order.
bool fromJSON(const llvm::json::Value &value, MeasuredStep &step,
              llvm::json::Path path);

std::vector<MeasuredStep> getSteps(const Profile &profile);

/// Of a file that `fusec bench --profile --json` wrote; throws Failure.
std::vector<MeasuredStep> readMeasuredSteps(const std::string &file);

/// A step of both runs, or of one of them.
struct StepChange {
  const MeasuredStep *before, *now;

  double getDifference() const {
    return (now ? now->median : 0) - (before ? before->median : 0);
  }
};

/// Steps are the same where they have one name, or compute the same nodes;
/// in the order of the second run, then what only the first has.
std::vector<StepChange> matchSteps(llvm::ArrayRef<MeasuredStep> before,
                                   llvm::ArrayRef<MeasuredStep> now);

/// What changed by more than a step's time varies, the largest loss first; one
/// line where nothing did.
void printChanges(llvm::ArrayRef<StepChange> changes);
llvm::json::Array toJson(llvm::ArrayRef<StepChange> changes);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_MEASUREDSTEPS_H
