// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describing launches, and medians of what was measured of them.

#include "runtime/src/Profile.h"

#include <algorithm>

namespace fusec::rt {

namespace {
// More than the second-level cache of any device so far.
constexpr uint64_t flushBytes = uint64_t(256) << 20;

LaunchProfile describeLaunch(const Model &model, const DimValues &dims,
                             const ReadyLaunch &ready) {
  LaunchProfile profile;
  profile.step = ready.step->name;
  profile.kernel = ready.launch->symbol;
  profile.sources = ready.step->sources;
  profile.grid = ready.grid;
  profile.block = ready.launch->block;
  const std::optional<format::Work> &work = ready.launch->work;
  if (!work)
    return profile;
  if (work->lead) {
    const format::Step &lead = model.plan().steps[*work->lead];
    profile.lead = lead.name;
    profile.sources.insert(profile.sources.begin(), lead.sources.begin(),
                           lead.sources.end());
  }
  profile.read = format::evaluate(work->read, dims.data());
  profile.written = format::evaluate(work->written, dims.data());
  profile.operations = format::evaluate(work->operations, dims.data());
  profile.unit = work->unit;
  profile.predicted = double(work->nanoseconds) / 1000;
  if (!model.manifest().dims.empty())
    profile.predictedDim =
        int64_t(std::min<uint64_t>(work->predictedDim, INT64_MAX));
  return profile;
}
} // namespace

void Profile::describe(const Model &model, const DimValues &dims,
                       const std::vector<ReadyLaunch *> &ready) {
  for (const ReadyLaunch *launch : ready)
    launches.push_back(describeLaunch(model, dims, *launch));
}

void Profile::summarize() {
  sum = 0;
  for (size_t i = 0; i != launches.size(); ++i) {
    std::vector<double> times, starts;
    for (const RunProfile &run : runs) {
      const KernelTime &kernel = run.kernels[i];
      times.push_back(double(kernel.end - kernel.start) / 1000);
      starts.push_back((double(kernel.start) - double(run.kernels[0].start)) /
                       1000);
    }
    LaunchProfile &launch = launches[i];
    launch.median = percentile(times, 0.5);
    launch.least = percentile(times, 0);
    launch.p90 = percentile(times, 0.9);
    launch.start = percentile(starts, 0.5);
    sum += launch.median;
  }
}

double percentile(std::vector<double> values, double part) {
  if (values.empty())
    return 0;
  size_t index =
      std::min(values.size() - 1, size_t(part * double(values.size())));
  std::nth_element(values.begin(), values.begin() + long(index), values.end());
  return values[index];
}

MeasuredStream::MeasuredStream(const Device &device, bool flushes,
                               size_t events)
    : device(device), own(device) {
  if (flushes)
    flushed = DeviceMemory(device, flushBytes, "what flushes the cache");
  try {
    while (this->events.size() != events) {
      cuda::Event event = nullptr;
      device.driver().check(device.driver().eventCreate(&event, 0),
                            "cuEventCreate");
      this->events.push_back(event);
    }
  } catch (...) {
    for (cuda::Event event : this->events)
      device.driver().eventDestroy(event);
    throw;
  }
}

MeasuredStream::~MeasuredStream() {
  // What a failure left on it uses tensors that may go next.
  device.driver().streamSynchronize(own.stream());
  for (cuda::Event event : events)
    device.driver().eventDestroy(event);
}

void MeasuredStream::flush(size_t times) {
  for (size_t i = 0; flushed.size() && i != times; ++i)
    device.driver().check(device.driver().setBytesAsync(flushed.pointer(), 0,
                                                        flushed.size(),
                                                        own.stream()),
                          "cuMemsetD8Async");
}

void MeasuredStream::record(size_t event) {
  device.driver().check(
      device.driver().eventRecord(events[event], own.stream()),
      "cuEventRecord");
}

double MeasuredStream::microseconds(size_t from, size_t to) const {
  float milliseconds = 0;
  device.driver().check(
      device.driver().eventElapsed(&milliseconds, events[from], events[to]),
      "cuEventElapsedTime");
  return 1000 * double(milliseconds);
}

} // namespace fusec::rt
