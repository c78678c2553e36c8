// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of a run take, one by one: plain values that outlive the
// session, and the stream on which runs are measured.

#ifndef FUSEC_RUNTIME_SRC_PROFILE_H
#define FUSEC_RUNTIME_SRC_PROFILE_H

#include "runtime/src/Launches.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::rt {

struct ProfileOptions {
  int32_t method = FUSEC_PROFILE_AUTO;
  unsigned runs = 20;
  bool keepCache = false;
  std::string cupti; // empty: looked for
};

// Nanoseconds of one clock.
struct KernelTime {
  uint64_t start = 0, end = 0;
  uint32_t stream = 0;
};

struct LaunchProfile {
  std::string step, kernel;
  std::optional<std::string> lead;
  std::vector<std::string> sources;
  std::vector<const char *> sourcePointers;
  std::array<unsigned, 3> grid, block;
  // Nothing where the bundle does not say, or it overflows.
  std::optional<int64_t> read, written, operations;
  std::optional<format::MathUnit> unit;
  double predicted = 0;
  int64_t predictedDim = 0;
  double median = 0, least = 0, p90 = 0, start = 0; // microseconds
};

struct RunProfile {
  uint64_t enqueueStart = 0, enqueueEnd = 0;
  std::vector<KernelTime> kernels; // one a launch
};

struct Profile {
  int32_t method = FUSEC_PROFILE_EVENTS;
  bool replayed = false;
  std::string reason; // why not by activity records
  double runMicroseconds = 0, profiledMicroseconds = 0, sum = 0;
  std::vector<LaunchProfile> launches;
  std::vector<RunProfile> runs;

  // What is known of launches before they run.
  void describe(const Model &model, const DimValues &dims,
                const std::vector<ReadyLaunch *> &ready);
  // The times of launches from those of runs.
  void summarize();
};

// The value that `part` of them are below; 0 of none.
double percentile(std::vector<double> values, double part);

// A stream with events and with memory that flushes the second-level cache.
// Needs a SetUpScope.
class MeasuredStream {
public:
  MeasuredStream(const Device &device, bool flushes, size_t events);
  ~MeasuredStream();
  MeasuredStream(const MeasuredStream &) = delete;
  MeasuredStream &operator=(const MeasuredStream &) = delete;

  cuda::Stream stream() const { return own.stream(); }
  // Also keeps the device busy while the host enqueues a run, so that what lies
  // between two events is the device's time alone.
  void flush(size_t times = 1);
  void record(size_t event);
  void synchronize() { own.synchronize("waiting for runs that are measured"); }
  double microseconds(size_t from, size_t to) const;

private:
  const Device &device;
  OwnStream own;
  DeviceMemory flushed;
  std::vector<cuda::Event> events;
};

} // namespace fusec::rt

#endif
