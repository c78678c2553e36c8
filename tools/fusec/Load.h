// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several sessions of one model at once, as a server has them.

#ifndef FUSEC_TOOLS_FUSEC_LOAD_H
#define FUSEC_TOOLS_FUSEC_LOAD_H

#include "tools/fusec/BenchRun.h"

namespace fusec {

/// What clients get, each of which has a session and a stream of its own, and
/// waits for a run to end before it enqueues the next one.
struct Served {
  unsigned streams = 1, threads = 1;
  double seconds = 0;
  /// Of each run, in milliseconds: from when the host begins to enqueue it to
  /// its end on the device.
  std::vector<double> latencies;

  double getRunsPerSecond() const { return latencies.size() / seconds; }
};

struct LoadResult {
  Served one, many;
  /// Of the first input; nothing where it has none.
  std::optional<int64_t> rows;
  /// Of all rounds.
  Clocks clocks;

  void print() const;
  llvm::json::Object toJson() const;
};

/// Rounds of one stream and of `clients` in turn, which `isThreaded` says
/// whether to drive from a thread each. Caches are not flushed.
LoadResult measureLoad(const LoadedModel &loaded,
                       const std::vector<data::Tensor> &inputs,
                       const NamedSizes &sizes, int32_t graph, unsigned clients,
                       bool isThreaded, const MeasureOptions &options);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_LOAD_H
