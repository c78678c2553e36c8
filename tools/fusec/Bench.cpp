// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec bench: how long a run takes on the device, and on the host, and how
// long it takes to get there.

#include "runtime/src/Handles.h"
#include "runtime/src/Lap.h"
#include "tools/fusec/BenchReport.h"
#include "tools/fusec/RandomInputs.h"
#include "tools/fusec/TensorOptions.h"

#include <chrono>

using namespace fusec;

namespace {
/// More than the second-level cache of any device so far.
constexpr uint64_t flushBytes = uint64_t(256) << 20;
/// Runs between two synchronisations.
constexpr unsigned batchRuns = 50;

struct BenchCommand {
  ModelOptions options;
  TensorOptions tensors;
  double seconds = 2;
  unsigned maxRuns = 100000, warmUp = 20;
  int ordinal = 0;
  int64_t indexLimit = 1000;
  std::string graph;
  bool noFlush = false, quiet = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  std::vector<data::Tensor> makeInputs(const format::Manifest &manifest,
                                       const std::vector<int64_t> &dims) const;
  int32_t getGraphMode() const;
};

class Stopwatch {
public:
  Stopwatch(const rt::Device &device, bool flush);
  ~Stopwatch();
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
} // namespace

Stopwatch::Stopwatch(const rt::Device &device, bool flush)
    : device(device), scope(device) {
  const rt::cuda::Driver &driver = device.driver();
  if (flush)
    flushed = rt::DeviceMemory(device, flushBytes, "what flushes the cache");
  check(driver.streamCreate(&stream, 1), "cuStreamCreate");
  events.resize(2 * batchRuns);
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

void BenchCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  app.get_option("model")->description("a bundle, or an ONNX model");
  app.get_option("--dim")->description("the size of a named dimension");
  options.addTuning(app);
  tensors.addInputs(app);
  app.add_option("--seconds", seconds, "how long to measure")->type_name("S");
  app.add_option("--runs", maxRuns, "how many runs at most")->type_name("N");
  app.add_option("--warm-up", warmUp, "runs before measuring")->type_name("N");
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  app.add_option("--index-limit", indexLimit, "random integers are below it")
      ->type_name("N");
  app.add_option("--graph", graph,
                 "whether runs replay a CUDA graph; default: where a run has "
                 "two launches or more")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_flag("--no-flush", noFlush, "leave the last run's data in the cache");
  app.add_flag("-q,--quiet", quiet, "no progress");
}

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

std::vector<data::Tensor>
BenchCommand::makeInputs(const format::Manifest &manifest,
                         const std::vector<int64_t> &dims) const {
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

int32_t BenchCommand::getGraphMode() const {
  return graph == "on"    ? FUSEC_GRAPH_ON
         : graph == "off" ? FUSEC_GRAPH_OFF
                          : FUSEC_GRAPH_AUTO;
}

void BenchCommand::run(Report &report) {
  BenchResult result;
  StartTimes &once = result.once;
  rt::Lap lap;
  std::string reason;
  if (!findDevice(ordinal, reason))
    fail(ExitCode::Toolchain, reason);
  once.driver = lap.next();
  // Kept to the end, so that loading the model finds the context made.
  rt::Device device(nullptr, ordinal);
  once.context = lap.next();
  LoadedModel loaded(options, ordinal, quiet, report);
  const format::Manifest &manifest =
      loaded.getModel().handle()->model->manifest();
  std::map<std::string, int64_t> given;
  if (!loaded.getCompilation())
    given = options.getDims();
  Dims dims(given.begin(), given.end());
  // Inputs have sizes of their own, which tell the others.
  std::vector<data::Tensor> inputs =
      tensors.any() ? tensors.read(getInterface(manifest))
                    : makeInputs(manifest, getDimValues(manifest, given));

  once.load = loaded.getModel().handle()->times;
  lap.next();
  Session session(loaded.getModel());
  once.prepare = lap.next();
  std::vector<FencedMemory> memory;
  auto bind = [&](auto bindTo, uint32_t index, format::DType dtype,
                  std::vector<int64_t> sizes) {
    (session.*bindTo)(index, Tensor(memory.back().data(),
                                    static_cast<fusec_dtype>(dtype),
                                    std::move(sizes), ordinal));
  };
  using Bind = void (Session::*)(uint32_t, const Tensor &);
  for (uint32_t i = 0; i != inputs.size(); ++i) {
    memory.emplace_back(loaded.getDevice(), inputs[i].bytes.size(), "an input");
    memory.back().upload(inputs[i].bytes.data());
    bind(static_cast<Bind>(&Session::bindInput), i, inputs[i].dtype,
         inputs[i].sizes);
    result.inputs.push_back(
        {manifest.inputs[i].name, inputs[i].dtype, inputs[i].sizes});
  }
  lap.next();
  session.prepare(dims, nullptr, 0, getGraphMode());
  once.prepare += lap.next();
  for (uint32_t i = 0; i != manifest.outputs.size(); ++i) {
    const format::TensorSpec &spec = manifest.outputs[i];
    std::vector<int64_t> sizes = session.outputSizes(i, spec.sizes.size());
    std::optional<uint64_t> bytes = data::tensorBytes(spec.dtype, sizes);
    memory.emplace_back(loaded.getDevice(), bytes.value_or(0), "an output");
    bind(static_cast<Bind>(&Session::bindOutput), i, spec.dtype, sizes);
    result.outputs.push_back({spec.name, spec.dtype, sizes});
  }

  lap.next();
  session.run();
  synchronize(loaded.getDevice());
  once.firstRun = lap.next();

  Stopwatch watch(loaded.getDevice(), !noFlush);
  for (unsigned done = 0; done < warmUp; done += batchRuns)
    watch.run(session, std::min(batchRuns, warmUp - done), nullptr);
  Times &times = result.times;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed{};
  while (times.device.size() < maxRuns && elapsed.count() < seconds) {
    unsigned count = std::min<size_t>(batchRuns, maxRuns - times.device.size());
    watch.run(session, count, &times);
    elapsed = std::chrono::steady_clock::now() - begin;
  }
  if (times.device.empty())
    fail(ExitCode::Usage, "expected --runs and --seconds above zero");

  result.device = loaded.getDescription();
  result.target = loaded.getModel().target();
  result.options = manifest.options;
  result.launches = session.launchCount();
  result.isReplayed = session.replayed();
  result.isFlushed = !noFlush;
  result.warmUp = warmUp;
  if (report.isJson())
    report.setResult(result.toJson());
  else
    result.print();
}

void fusec::addBench(CLI::App &tool, Report &report) {
  addCommand<BenchCommand>(
      tool, report, "bench", "Measures runs on the device.",
      "  fusec bench model.fusec --dim batch=2048\n"
      "  fusec bench model.fusec --dim batch=1 --graph=off\n"
      "  fusec bench model.onnx --dim batch=2048 --precision=tf32\n");
}
