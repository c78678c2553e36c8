// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchRun.h"
#include "runtime/src/Handles.h"
#include "runtime/src/Lap.h"

#include <chrono>
#include <fmt/core.h>

using namespace fusec;

/// More than the second-level cache of any device so far.
static constexpr uint64_t flushBytes = uint64_t(256) << 20;

static void synchronize(const rt::Device &device) {
  rt::ContextScope scope(device);
  device.driver().check(device.driver().streamSynchronize(nullptr),
                        "cuStreamSynchronize");
}

/// In the manifest's order; throws Failure where one is missing.
static std::vector<int64_t> getDimValues(const format::Manifest &manifest,
                                         const NamedSizes &given) {
  std::vector<int64_t> values;
  for (const std::string &name : manifest.dims) {
    auto it = given.find(name);
    if (it == given.end())
      fail(ExitCode::Usage,
           fmt::format("expected --dim {}=N: the model's sizes depend on it",
                       name));
    values.push_back(it->second);
  }
  return values;
}

std::vector<data::Tensor> fusec::makeInputs(const LoadedModel &loaded,
                                            const NamedSizes &given,
                                            const RandomIds &ids) {
  const format::Manifest &manifest =
      loaded.getModel().handle()->model->manifest();
  std::vector<int64_t> dims = getDimValues(manifest, given);
  std::vector<data::Tensor> inputs;
  for (const format::TensorSpec &spec : manifest.inputs) {
    std::vector<int64_t> sizes;
    for (const format::Expr &size : spec.sizes) {
      std::optional<int64_t> value = format::evaluate(size, dims.data());
      if (!value || *value < 0)
        fail(ExitCode::Usage, fmt::format("input '{}' would have the size {}, "
                                          "which these dimensions do not allow",
                                          spec.name, format::toString(size)));
      sizes.push_back(*value);
    }
    inputs.push_back(
        ids.draw(spec.dtype, sizes, inputs.size() + 1, spec.indexRanges));
  }
  return inputs;
}

BenchRun::BenchRun(const LoadedModel &loaded,
                   const std::vector<data::Tensor> &inputs,
                   const NamedSizes &sizes, int32_t graph)
    : loaded(loaded) {
  const Model &model = loaded.getModel();
  rt::Lap lap;
  session.emplace(model);
  double made = lap.next();
  addInputs(inputs);
  for (const TableInfo &table : model.tables()) {
    result.tableBytes += table.bytes;
    result.deviceTableBytes +=
        table.deviceRows == table.rows
            ? table.bytes
            : table.bytes / uint64_t(table.rows) * uint64_t(table.deviceRows);
  }
  result.first = setUp(sizes, graph);
  result.again = setUp(sizes, graph);

  result.once.load = model.handle()->times;
  result.once.prepare = made + result.first.prepare;
  result.once.firstRun = result.first.run;
  result.device = loaded.getDescription();
  result.target = model.target();
  result.options = model.handle()->model->manifest().options;
  result.sizes = sizes;
  result.launches = session->launchCount();
  result.isReplayed = session->replayed();
  result.arena = session->handle()->session.arenaSize();
}

SizeTimes BenchRun::setUp(const NamedSizes &sizes, int32_t graph) {
  Dims dims(sizes.begin(), sizes.end());
  SizeTimes times;
  rt::Lap lap;
  for (uint32_t i = 0; i != boundInputs.size(); ++i)
    session->bindInput(i, boundInputs[i]);
  times.bind = lap.next();
  session->prepare(dims, nullptr, 0, graph);
  times.prepare = lap.next();
  if (boundOutputs.empty())
    addOutputs();
  lap.next();
  for (uint32_t i = 0; i != boundOutputs.size(); ++i)
    session->bindOutput(i, boundOutputs[i]);
  times.bind += lap.next();
  session->run();
  synchronize(loaded.getDevice());
  times.run = lap.next();
  return times;
}

void BenchRun::addInputs(const std::vector<data::Tensor> &inputs) {
  const auto &specs = loaded.getModel().handle()->model->manifest().inputs;
  std::vector<std::vector<format::IndexRange>> ranges;
  for (const format::TensorSpec &spec : specs)
    ranges.push_back(spec.indexRanges);
  result.touched = countTouched(inputs, ranges);
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    const data::Tensor &input = inputs[i];
    memory.emplace_back(loaded.getDevice(), input.bytes.size(), "an input");
    memory.back().upload(input.bytes.data());
    boundInputs.emplace_back(memory.back().data(),
                             static_cast<fusec_dtype>(input.dtype), input.sizes,
                             loaded.getDevice().ordinal());
    result.inputs.push_back({specs[i].name, input.dtype, input.sizes});
  }
}

void BenchRun::addOutputs() {
  const auto &specs = loaded.getModel().handle()->model->manifest().outputs;
  for (uint32_t i = 0; i != specs.size(); ++i) {
    std::vector<int64_t> sizes = session->outputSizes(i, specs[i].sizes.size());
    std::optional<uint64_t> bytes = data::tensorBytes(specs[i].dtype, sizes);
    memory.emplace_back(loaded.getDevice(), bytes.value_or(0), "an output");
    boundOutputs.emplace_back(memory.back().data(),
                              static_cast<fusec_dtype>(specs[i].dtype), sizes,
                              loaded.getDevice().ordinal());
    result.outputs.push_back({specs[i].name, specs[i].dtype, sizes});
  }
}

Stopwatch::Stopwatch(const rt::Device &device, bool flush)
    : device(device), scope(device) {
  const rt::cuda::Driver &driver = device.driver();
  if (flush)
    flushed = rt::DeviceMemory(device, flushBytes, "what flushes the cache");
  check(driver.streamCreate(&stream, 1), "cuStreamCreate");
  events.resize(2 * maxRuns);
  for (rt::cuda::Event &event : events)
    check(driver.eventCreate(&event, 0), "cuEventCreate");
}

Stopwatch::~Stopwatch() {
  for (rt::cuda::Event event : events)
    device.driver().eventDestroy(event);
  device.driver().streamDestroy(stream);
}

void Stopwatch::run(Session &session, unsigned count, Times *times) {
  const rt::cuda::Driver &driver = device.driver();
  for (unsigned i = 0; i != count; ++i) {
    // The flush keeps the device busy while the host enqueues the run, so that
    // what lies between the events is the device's time alone.
    if (flushed.size())
      check(driver.setBytesAsync(flushed.pointer(), 0, flushed.size(), stream),
            "cuMemsetD8Async");
    check(driver.eventRecord(events[2 * i], stream), "cuEventRecord");
    auto start = std::chrono::steady_clock::now();
    session.run(stream);
    std::chrono::duration<double, std::milli> host =
        std::chrono::steady_clock::now() - start;
    check(driver.eventRecord(events[2 * i + 1], stream), "cuEventRecord");
    if (times)
      times->host.push_back(host.count());
  }
  check(driver.streamSynchronize(stream), "cuStreamSynchronize");
  for (unsigned i = 0; times && i != count; ++i) {
    float milliseconds;
    check(driver.eventElapsed(&milliseconds, events[2 * i], events[2 * i + 1]),
          "cuEventElapsedTime");
    times->device.push_back(milliseconds);
  }
}

void fusec::measure(llvm::ArrayRef<BenchRun *> runs,
                    const MeasureOptions &options) {
  const rt::Device &device = runs.front()->getDevice();
  Stopwatch watch(device, options.flush);
  ClockSampler sampler(device);
  unsigned round = options.roundRuns;
  for (BenchRun *run : runs) {
    run->result.isFlushed = options.flush;
    run->result.warmUp = options.warmUp;
    for (unsigned done = 0; done < options.warmUp; done += round)
      watch.run(run->getSession(), std::min(round, options.warmUp - done),
                nullptr);
  }
  sampler.start();
  const std::vector<double> &measured = runs.front()->result.times.device;
  auto begin = std::chrono::steady_clock::now();
  auto isTimeUp = [&] {
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin;
    return elapsed.count() >= options.seconds &&
           measured.size() >= options.leastRuns;
  };
  while (measured.size() < options.maxRuns && !isTimeUp()) {
    unsigned count = std::min<size_t>(round, options.maxRuns - measured.size());
    for (BenchRun *run : runs)
      watch.run(run->getSession(), count, &run->result.times);
  }
  Clocks clocks = sampler.stop();
  for (BenchRun *run : runs)
    run->result.clocks = clocks;
  if (measured.empty())
    fail(ExitCode::Usage, "expected --runs and --seconds above zero");
}
