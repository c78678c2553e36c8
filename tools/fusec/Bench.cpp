// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec bench: how long a run takes on the device, and on the host, and how
// long it takes to get there.

#include "runtime/src/Handles.h"
#include "runtime/src/Lap.h"
#include "tools/fusec/ProfileJson.h"
#include "tools/fusec/RandomInputs.h"
#include "tools/fusec/TensorOptions.h"
#include "tools/fusec/Trace.h"
#include "tools/fusec/WriteFile.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

using namespace fusec;

namespace {
/// More than the second-level cache of any device so far.
constexpr uint64_t flushBytes = uint64_t(256) << 20;
/// What --profile has without a file: no file can have this path.
const std::string noTrace = "/";
/// Runs between two synchronisations.
constexpr unsigned batchRuns = 50;

struct BenchCommand {
  ModelOptions options;
  TensorOptions tensors;
  double seconds = 2;
  unsigned maxRuns = 100000, warmUp = 20;
  int ordinal = 0;
  int64_t indexLimit = 1000;
  std::string graph, profile, profileBy;
  bool noFlush = false, quiet = false;

  void addTo(CLI::App &app);
  void run();

private:
  std::vector<data::Tensor> makeInputs(const format::Manifest &manifest,
                                       const std::vector<int64_t> &dims) const;
  int32_t getGraphMode() const;
  void printProfile(Session &session, const rt::Device &device) const;
};

/// What a process does once, in milliseconds.
struct StartTimes {
  double driver = 0; // loading the library, cuInit
  double context = 0;
  rt::LoadTimes load;
  double prepare = 0, firstRun = 0;

  void print() const;
};

/// A run's times in milliseconds.
struct Times {
  std::vector<double> device, host;
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
  app.add_flag("--profile{/}", profile,
               "each kernel's time beside its prediction and its floor; with "
               "=FILE also a trace of the runs, which ui.perfetto.dev opens")
      ->type_name("FILE");
  app.add_option("--profile-by", profileBy,
                 "how kernels are timed: by CUPTI's activity records or by "
                 "events; default: records where its library is found")
      ->check(CLI::IsMember({"activity", "events"}));
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

void BenchCommand::printProfile(Session &session,
                                const rt::Device &device) const {
  ProfileOptions by;
  by.method = profileBy == "activity" ? FUSEC_PROFILE_ACTIVITY
              : profileBy == "events" ? FUSEC_PROFILE_EVENTS
                                      : FUSEC_PROFILE_AUTO;
  by.keepCache = noFlush;
  Profile measured = session.profile(by);
  std::string reason;
  std::optional<DeviceInfo> info = findDevice(ordinal, reason);
  DeviceRates rates = measureRates(device, info ? info->target : "ptx");
  fusec::printProfile(measured, rates);
  if (profile == noTrace)
    return;
  std::string name = info ? info->text : "device";
  llvm::json::Object about = toJson(measured, rates);
  about["model"] = llvm::json::fixUTF8(options.model);
  about["device"] = llvm::json::fixUTF8(name);
  writeFile(profile, [&](llvm::raw_ostream &os) {
    writeTrace(os, measured, name, std::move(about));
  });
}

void StartTimes::print() const {
  Table table({{"once"}, {"ms", Table::Align::Right}});
  auto add = [&](const char *name, double value) {
    table.row({name, llvm::formatv("{0:f2}", value).str()});
  };
  add("driver: its library, cuInit", driver);
  add("context", context);
  add("load: check the bundle", load.check);
  add("load: code", load.code);
  add("load: weights", load.weights);
  add("load: the rest of the weights' hash", load.hash);
  add("session, prepare", prepare);
  add("first run", firstRun);
  llvm::outs() << table.str()
               << llvm::formatv("load and first run beyond the driver's own "
                                "initialisation: {0:f2} ms\n",
                                load.check + load.code + load.weights +
                                    load.hash + prepare + firstRun);
}

static double getPercentile(std::vector<double> values, double part) {
  size_t index =
      std::min<size_t>(values.size() - 1, std::floor(part * values.size()));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[index];
}

static double getMean(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

static void addRow(Table &table, const char *name,
                   const std::vector<double> &values) {
  std::vector<std::string> row = {name};
  for (double value : {*std::min_element(values.begin(), values.end()),
                       getMean(values), getPercentile(values, 0.5),
                       getPercentile(values, 0.9), getPercentile(values, 0.99)})
    row.push_back(llvm::formatv("{0:f4}", value).str());
  table.row(std::move(row));
}

static void printAdvice(const Times &times, const Session &session,
                        const format::Manifest &manifest) {
  unsigned launches = session.launchCount();
  double onDevice = getPercentile(times.device, 0.5),
         onHost = getPercentile(times.host, 0.5);
  if (onHost > onDevice)
    llvm::outs()
        << "advice: the host needs longer to enqueue a run than the device to "
           "execute it; use larger batches"
        << (session.replayed() ? "" : ", or --graph=on") << "\n";
  if (getPercentile(times.device, 0.99) > 1.3 * onDevice)
    llvm::outs() << "advice: times vary by more than 30%; another process may "
                    "use the device, or "
                    "its clocks change (nvidia-smi -lgc fixes them)\n";
  if (launches > 1 && onDevice < 0.005 * launches)
    llvm::outs() << "advice: kernels are short; `fusec explain` says why they "
                    "are not fewer\n";
  auto fusion = manifest.options.find("fusion");
  if (fusion != manifest.options.end() && fusion->second == "off")
    llvm::outs() << "advice: the bundle was compiled with --no-fusion\n";
}

void BenchCommand::run() {
  if (profile.empty() && !profileBy.empty())
    fail(ExitCode::Usage, "--profile-by: expected --profile too");
  if (!profile.empty() && profile != noTrace)
    checkWritable(profile);
  StartTimes once;
  rt::Lap lap;
  std::string reason;
  if (!findDevice(ordinal, reason))
    fail(ExitCode::Toolchain, reason);
  once.driver = lap.next();
  // Kept to the end, so that loading the model finds the context made.
  rt::Device device(nullptr, ordinal);
  once.context = lap.next();
  LoadedModel loaded(options, ordinal, quiet);
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
  }

  lap.next();
  session.run();
  synchronize(loaded.getDevice());
  once.firstRun = lap.next();

  Stopwatch watch(loaded.getDevice(), !noFlush);
  for (unsigned done = 0; done < warmUp; done += batchRuns)
    watch.run(session, std::min(batchRuns, warmUp - done), nullptr);
  Times times;
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed{};
  while (times.device.size() < maxRuns && elapsed.count() < seconds) {
    unsigned count = std::min<size_t>(batchRuns, maxRuns - times.device.size());
    watch.run(session, count, &times);
    elapsed = std::chrono::steady_clock::now() - begin;
  }
  if (times.device.empty())
    fail(ExitCode::Usage, "expected --runs and --seconds above zero");

  llvm::outs() << loaded.getDescription() << ", plan "
               << loaded.getModel().target() << ", " << session.launchCount()
               << " kernels "
               << (session.replayed() ? "in a CUDA graph, "
                                      : "launched one by one, ")
               << times.device.size() << " runs"
               << (noFlush ? "" : ", cache flushed before each") << "\n";
  using Align = Table::Align;
  Table table({{"ms"},
               {"min", Align::Right},
               {"mean", Align::Right},
               {"median", Align::Right},
               {"p90", Align::Right},
               {"p99", Align::Right}});
  addRow(table, "device", times.device);
  addRow(table, "enqueue", times.host);
  llvm::outs() << table.str();
  double perSecond = 1000 / getMean(times.device);
  llvm::outs() << llvm::formatv("throughput: {0:f1} runs/s", perSecond);
  if (!manifest.inputs.empty() && !inputs[0].sizes.empty())
    llvm::outs() << llvm::formatv(", {0:f0} rows/s",
                                  perSecond * inputs[0].sizes[0]);
  llvm::outs() << "\n";
  once.print();
  printAdvice(times, session, manifest);
  if (!profile.empty())
    printProfile(session, loaded.getDevice());
}

void fusec::addBench(CLI::App &tool) {
  addCommand<BenchCommand>(
      tool, "bench", "Measures runs on the device.",
      "  fusec bench model.fusec --dim batch=2048\n"
      "  fusec bench model.fusec --dim batch=1 --graph=off\n"
      "  fusec bench model.onnx --dim batch=2048 --precision=tf32\n"
      "  fusec bench model.fusec --dim batch=2048 --profile=trace.json\n");
}
