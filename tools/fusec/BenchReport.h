// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `fusec bench` measured, as text or as JSON.

#ifndef FUSEC_TOOLS_FUSEC_BENCHREPORT_H
#define FUSEC_TOOLS_FUSEC_BENCHREPORT_H

#include "runtime/format/Manifest.h"
#include "runtime/src/Model.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace fusec {

/// What a process does once, in milliseconds.
struct StartTimes {
  double driver = 0; // loading the library, cuInit
  double context = 0;
  rt::LoadTimes load;
  double prepare = 0, firstRun = 0;

  /// Beyond the driver's own initialisation.
  double getOwn() const;
};

/// Runs' times in milliseconds.
struct Times {
  std::vector<double> device, host;
};

/// A tensor as it was bound.
struct BoundTensor {
  std::string name;
  format::DType dtype;
  std::vector<int64_t> sizes;
};

struct BenchResult {
  std::string device, target;
  /// What the bundle was compiled with.
  std::map<std::string, std::string> options;
  std::vector<BoundTensor> inputs, outputs;
  unsigned launches = 0;
  /// Whether a run replays a CUDA graph, and begins with a flushed cache.
  bool isReplayed = false, isFlushed = true;
  unsigned warmUp = 0;
  Times times;
  StartTimes once;

  double getRunsPerSecond() const;
  /// None where the first input is a scalar, or there is no input.
  std::optional<double> getRowsPerSecond() const;
  std::vector<std::string> getAdvice() const;

  void print() const;
  llvm::json::Object toJson() const;
};

/// `part` of 1 is the largest value.
double getPercentile(std::vector<double> values, double part);
double getMean(const std::vector<double> &values);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHREPORT_H
