// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that is ready to be measured, and the stopwatch for its runs.

#ifndef FUSEC_TOOLS_FUSEC_BENCHRUN_H
#define FUSEC_TOOLS_FUSEC_BENCHRUN_H

#include "tools/fusec/BenchReport.h"
#include "tools/fusec/TensorOptions.h"

namespace fusec {

/// Sizes of named dimensions.
using NamedSizes = std::map<std::string, int64_t>;

/// Random inputs of a model for the sizes of its named dimensions. Throws
/// Failure where one is missing.
std::vector<data::Tensor> makeInputs(const LoadedModel &loaded,
                                     const NamedSizes &sizes,
                                     const RandomIds &ids);

/// A session of a loaded model, which outlives it: bound to tensors of its own
/// in device memory, prepared, and run twice.
class BenchRun {
public:
  /// `graph` is FUSEC_GRAPH_AUTO, FUSEC_GRAPH_OFF or FUSEC_GRAPH_ON.
  BenchRun(const LoadedModel &loaded, const std::vector<data::Tensor> &inputs,
           const NamedSizes &sizes, int32_t graph);

  const rt::Device &getDevice() const { return loaded.getDevice(); }
  Session &getSession() { return *session; }
  /// The memory of its inputs, then that of its outputs.
  llvm::ArrayRef<FencedMemory> getMemory() const { return memory; }

  /// Runs add their times; those of the process are the caller's.
  BenchResult result;

private:
  void addInputs(const std::vector<data::Tensor> &inputs);
  void addOutputs();
  /// Binds, prepares, and runs once.
  SizeTimes setUp(const NamedSizes &sizes, int32_t graph);

  const LoadedModel &loaded;
  std::vector<FencedMemory> memory;
  std::vector<Tensor> boundInputs, boundOutputs;
  std::optional<Session> session;
};

class Stopwatch {
public:
  Stopwatch(const rt::Device &device, bool flush);
  ~Stopwatch();
  Stopwatch(const Stopwatch &) = delete;

  /// Runs between two synchronisations, at most.
  static constexpr unsigned maxRuns = 50;
  void run(Session &session, unsigned count, Times *times);

private:
  void check(rt::cuda::Result result, const char *what) {
    device.driver().check(result, what);
  }

  const rt::Device &device;
  rt::ContextScope scope;
  rt::DeviceMemory flushed;
  rt::cuda::Stream stream = nullptr;
  std::vector<rt::cuda::Event> events;
};

struct MeasureOptions {
  double seconds = 2;
  unsigned maxRuns = 100000, warmUp = 20;
  bool flush = true;
  /// Those of one before it is the next one's turn, and how many of each there
  /// are at least, however long they take.
  unsigned roundRuns = Stopwatch::maxRuns, leastRuns = 0;
};

/// Rounds of each in turn, whose times are added to the results.
void measure(llvm::ArrayRef<BenchRun *> runs, const MeasureOptions &options);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHRUN_H
