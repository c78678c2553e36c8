// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `fusec bench` measured, as text or as JSON.

#ifndef FUSEC_TOOLS_FUSEC_BENCHREPORT_H
#define FUSEC_TOOLS_FUSEC_BENCHREPORT_H

#include "runtime/format/Manifest.h"
#include "runtime/src/Model.h"
#include "tools/fusec/Clocks.h"
#include "tools/fusec/RandomIds.h"
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

/// What a session does for a size before its runs, in milliseconds on the
/// host, and the run that follows.
struct SizeTimes {
  double bind = 0, prepare = 0, run = 0;
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
  /// Of named dimensions, where no inputs are given.
  std::map<std::string, int64_t> sizes;
  std::vector<BoundTensor> inputs, outputs;
  /// How ids were drawn, as --ids says it; empty where inputs are given.
  std::string ids;
  TouchedRows touched;
  /// Of tables: all, and those on the device.
  uint64_t tableBytes = 0, deviceTableBytes = 0;
  unsigned launches = 0;
  /// Whether a run replays a CUDA graph, and begins with a flushed cache.
  bool isReplayed = false, isFlushed = true;
  unsigned warmUp = 0;
  Times times;
  StartTimes once;
  /// Of a session that meets these sizes for the first time, and again.
  SizeTimes first, again;
  uint64_t arena = 0; // bytes
  Clocks clocks;

  /// What the process does before it loads a model.
  void setStart(const StartTimes &start) {
    once.driver = start.driver;
    once.context = start.context;
  }
  double getRunsPerSecond() const;
  /// The first size of the first input; nothing where it is a scalar, or there
  /// is no input.
  std::optional<int64_t> getRows() const;
  std::optional<double> getRowsPerSecond() const;
  /// How to get shorter times, or steadier ones, as far as what was measured
  /// shows.
  std::vector<std::string> getAdvice() const;

  void print() const;
  llvm::json::Object toJson() const;
};

/// `part` of 1 is the largest value.
double getPercentile(std::vector<double> values, double part);
/// Times and their statistics.
llvm::json::Object samplesJson(const std::vector<double> &values);
double getMean(const std::vector<double> &values);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHREPORT_H
