// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchRun.h"
#include "runtime/src/Handles.h"
#include "runtime/src/Lap.h"
#include "tools/fusec/RandomInputs.h"

#include <chrono>

using namespace fusec;

/// More than the second-level cache of any device so far.
static constexpr uint64_t flushBytes = uint64_t(256) << 20;

static void synchronize(const rt::Device &device) {
  rt::ContextScope scope(device);
  device.driver().check(device.driver().streamSynchronize(nullptr),
                        "cuStreamSynchronize");
}

/// In the manifest's order; throws Failure where one is missing.
static std::vector<int64_t>
getDimValues(const format::Manifest &manifest,
             const std::map<std::string, int64_t> &given) {
  std::vector<int64_t> values;
  for (const std::string &name : manifest.dims) {
    auto it = given.find(name);
    if (it == given.end())
      fail(ExitCode::Usage,
           "expected --dim " + name + "=N: the model's sizes depend on it");
    values.push_back(it->second);
  }
  return values;
}

static std::vector<data::Tensor> makeInputs(const format::Manifest &manifest,
                                            const std::vector<int64_t> &dims,
                                            int64_t indexLimit) {
  std::vector<data::Tensor> inputs;
  for (const format::TensorSpec &spec : manifest.inputs) {
    std::vector<int64_t> sizes;
    for (const format::Expr &size : spec.sizes) {
      std::optional<int64_t> value = format::evaluate(size, dims.data());
      if (!value || *value < 0)
        fail(ExitCode::Usage, "input '" + spec.name + "' would have the size " +
                                  format::toString(size) +
                                  ", which these dimensions do not allow");
      sizes.push_back(*value);
    }
    inputs.push_back(
        makeRandomTensor(spec.dtype, sizes, inputs.size() + 1, indexLimit));
  }
  return inputs;
}

BenchRun::BenchRun(const ModelOptions &options, const Settings &settings,
                   Report &report)
    : loaded(options, settings.ordinal, settings.quiet, report) {
  const Model &model = loaded.getModel();
  const format::Manifest &manifest = model.handle()->model->manifest();
  std::map<std::string, int64_t> given;
  if (!loaded.getCompilation())
    given = options.getDims();
  Dims dims(given.begin(), given.end());
  // Inputs have sizes of their own, which tell the others.
  std::vector<data::Tensor> inputs =
      settings.tensors.any()
          ? settings.tensors.read(getInterface(manifest))
          : makeInputs(manifest, getDimValues(manifest, given),
                       settings.indexLimit);

  StartTimes &once = result.once;
  once.load = model.handle()->times;
  rt::Lap lap;
  session.emplace(model);
  once.prepare = lap.next();
  bindInputs(std::move(inputs), settings.ordinal);
  lap.next();
  session->prepare(dims, nullptr, 0, settings.graph);
  once.prepare += lap.next();
  bindOutputs(settings.ordinal);
  lap.next();
  session->run();
  synchronize(loaded.getDevice());
  once.firstRun = lap.next();

  result.device = loaded.getDescription();
  result.target = model.target();
  result.options = manifest.options;
  result.launches = session->launchCount();
  result.isReplayed = session->replayed();
}

void BenchRun::bindInputs(std::vector<data::Tensor> inputs, int ordinal) {
  const auto &specs = loaded.getModel().handle()->model->manifest().inputs;
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    const data::Tensor &input = inputs[i];
    memory.emplace_back(loaded.getDevice(), input.bytes.size(), "an input");
    memory.back().upload(input.bytes.data());
    session->bindInput(i, Tensor(memory.back().data(),
                                 static_cast<fusec_dtype>(input.dtype),
                                 input.sizes, ordinal));
    result.inputs.push_back({specs[i].name, input.dtype, input.sizes});
  }
}

void BenchRun::bindOutputs(int ordinal) {
  const auto &specs = loaded.getModel().handle()->model->manifest().outputs;
  for (uint32_t i = 0; i != specs.size(); ++i) {
    std::vector<int64_t> sizes = session->outputSizes(i, specs[i].sizes.size());
    std::optional<uint64_t> bytes = data::tensorBytes(specs[i].dtype, sizes);
    memory.emplace_back(loaded.getDevice(), bytes.value_or(0), "an output");
    session->bindOutput(i, Tensor(memory.back().data(),
                                  static_cast<fusec_dtype>(specs[i].dtype),
                                  sizes, ordinal));
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
