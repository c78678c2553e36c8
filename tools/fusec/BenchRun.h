// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that is ready to be measured, and the stopwatch for its runs.

#ifndef FUSEC_TOOLS_FUSEC_BENCHRUN_H
#define FUSEC_TOOLS_FUSEC_BENCHRUN_H

#include "tools/fusec/BenchReport.h"
#include "tools/fusec/TensorOptions.h"

namespace fusec {

/// Loaded, bound to inputs in device memory, prepared, and run once.
class BenchRun {
public:
  struct Settings {
    const TensorOptions &tensors;
    int ordinal;
    int64_t indexLimit; // of random integers
    int32_t graph;      // of FUSEC_GRAPH_AUTO, FUSEC_GRAPH_OFF, FUSEC_GRAPH_ON
    bool quiet;
  };
  BenchRun(const ModelOptions &options, const Settings &settings,
           Report &report);

  const rt::Device &getDevice() const { return loaded.getDevice(); }
  Session &getSession() { return *session; }

  /// Runs add their times; those of the process are the caller's.
  BenchResult result;

private:
  void bindInputs(std::vector<data::Tensor> inputs, int ordinal);
  void bindOutputs(int ordinal);

  LoadedModel loaded;
  std::vector<FencedMemory> memory;
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

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHRUN_H
