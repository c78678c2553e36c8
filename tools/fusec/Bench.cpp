// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec bench: how long a run takes on the device, and on the host, and how
// long it takes to get there.

#include "runtime/src/Lap.h"
#include "tools/fusec/BenchAgainst.h"
#include "tools/fusec/BenchFile.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/Load.h"
#include "tools/fusec/ProfileJson.h"
#include "tools/fusec/SweepPlot.h"
#include "tools/fusec/Trace.h"
#include "tools/fusec/Transfers.h"
#include "tools/fusec/WriteFile.h"
#include <fmt/core.h>

using namespace fusec;

namespace {
/// What --profile has without a file: no file can have this path.
const std::string noTrace = "/";

struct BenchCommand {
  ModelOptions options;
  TensorOptions tensors;
  MemoryOptions memory;
  double seconds = 2;
  unsigned maxRuns = 100000, warmUp = 20;
  int ordinal = 0;
  RandomIds ids;
  std::string graph, profile, profileBy, against, plot;
  double tolerance = 3; // percent
  unsigned streams = 0, threads = 0;
  bool transfers = false, noFlush = false, quiet = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  void checkOptions() const;
  int32_t getGraphMode() const;
  MeasureOptions getMeasureOptions() const;
  bool isSweep() const { return !lists.empty() || distributions.size() > 1; }
  std::vector<data::Tensor> getInputs(const LoadedModel &loaded) const;
  BenchRun prepareRun(const LoadedModel &loaded) const;
  /// Adds to the sweep, so that what was measured stays where a size fails.
  void runSweep(const LoadedModel &loaded, const StartTimes &once,
                Sweep &sweep) const;
  void tell(const Sweep &sweep, Report &report) const;
  void runOne(const LoadedModel &loaded, const StartTimes &once,
              BenchFile before, Report &report) const;
  Profile measureProfile(BenchRun &run) const;
  void writeTraceOf(const Profile &measured, const DeviceRates &rates,
                    const std::string &device) const;
  /// Step by step, too, where a profile is asked for or `own` is slower;
  /// `other` is null where `before` is a file's.
  Comparison compare(BenchFile &before, BenchRun *other, BenchRun &own,
                     const std::optional<Profile> &profiled,
                     unsigned roundRuns) const;

  /// What of --dim lists several sizes.
  std::vector<SizeList> lists;
  /// One where --ids lists no more.
  std::vector<RandomIds> distributions;
  /// Whether --against is a bundle.
  bool hasOther = false;
};
} // namespace

void BenchCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  app.get_option("model")->description("a bundle, or an ONNX model");
  app.get_option("--dim")->description(
      "the size of a named dimension; of several sizes (N,N,...) each is "
      "measured, in all combinations of those of several dimensions");
  app.get_option("--dim")->type_name("NAME=N[,N...]");
  options.addTuning(app);
  tensors.addInputs(app);
  app.add_option("--seconds", seconds, "how long to measure (each size)")
      ->type_name("S");
  app.add_option("--runs", maxRuns, "how many runs at most")->type_name("N");
  app.add_option("--warm-up", warmUp, "runs before measuring")->type_name("N");
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  ids.addTo(app, /*mayBeList=*/true);
  memory.addTo(app);
  app.add_option("--graph", graph,
                 "whether runs replay a CUDA graph; default: where a run has "
                 "two launches or more")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--plot", plot,
                 "several sizes as an SVG: the time of a run, and of a row")
      ->type_name("FILE");
  app.add_flag("--profile{/}", profile,
               "each kernel's time beside its prediction and its floor; with "
               "=FILE also a trace of the runs, which ui.perfetto.dev opens")
      ->type_name("FILE");
  app.add_option("--profile-by", profileBy,
                 "how kernels are timed: by CUPTI's activity records or by "
                 "events; default: records where its library is found")
      ->check(CLI::IsMember({"activity", "events"}));
  app.add_option("--streams", streams,
                 "also: so many sessions on a stream each, from one thread; "
                 "their throughput and latency against one stream's")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_option("--threads", threads, "the same from a thread each")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--transfers", transfers,
               "also: with copies of inputs and outputs from and to pinned "
               "memory of the host");
  app.add_option("--against", against,
                 "what is not to be faster: a file that --json wrote, or a "
                 "bundle, measured in turn; exits with 5 where it is")
      ->type_name("FILE");
  app.add_option("--tolerance", tolerance,
                 "how much slower a run may be than --against")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PERCENT");
  app.add_flag("--no-flush", noFlush, "leave the last run's data in the cache");
  app.add_flag("-q,--quiet", quiet, "no progress");
}

int32_t BenchCommand::getGraphMode() const {
  return graph == "on"    ? FUSEC_GRAPH_ON
         : graph == "off" ? FUSEC_GRAPH_OFF
                          : FUSEC_GRAPH_AUTO;
}

Profile BenchCommand::measureProfile(BenchRun &run) const {
  ProfileOptions by;
  by.method = profileBy == "activity" ? FUSEC_PROFILE_ACTIVITY
              : profileBy == "events" ? FUSEC_PROFILE_EVENTS
                                      : FUSEC_PROFILE_AUTO;
  by.keepCache = noFlush;
  return run.getSession().profile(by);
}

void BenchCommand::writeTraceOf(const Profile &measured,
                                const DeviceRates &rates,
                                const std::string &device) const {
  llvm::json::Object about = toJson(measured, rates);
  about["model"] = jsonText(options.model);
  about["device"] = jsonText(device);
  writeFile(profile, [&](llvm::raw_ostream &os) {
    writeTrace(os, measured, device, std::move(about));
  });
}

Comparison BenchCommand::compare(BenchFile &before, BenchRun *other,
                                 BenchRun &own,
                                 const std::optional<Profile> &profiled,
                                 unsigned roundRuns) const {
  Comparison comparison =
      compareTimes(before.result.times.device, own.result.times.device,
                   other != nullptr, roundRuns);
  if (!profiled && !comparison.isSlower(tolerance / 100))
    return comparison;
  if (other)
    before.steps = getSteps(measureProfile(*other));
  if (before.steps)
    comparison.steps = {std::move(*before.steps),
                        getSteps(profiled ? *profiled : measureProfile(own))};
  return comparison;
}

/// With --against rounds matter: of so few runs that clocks hardly change
/// within one, and enough of them, since fewer compare nothing.
MeasureOptions BenchCommand::getMeasureOptions() const {
  MeasureOptions measured;
  measured.seconds = seconds;
  measured.maxRuns = maxRuns;
  measured.warmUp = warmUp;
  measured.flush = !noFlush;
  if (against.empty())
    return measured;
  measured.roundRuns = 10;
  if (seconds > 0)
    measured.leastRuns = leastRounds * measured.roundRuns;
  return measured;
}

void BenchCommand::checkOptions() const {
  if (profile.empty() && !profileBy.empty())
    fail(ExitCode::Usage, "--profile-by: expected --profile too");
  if (streams != 0 && threads != 0)
    fail(ExitCode::Usage, "expected --streams or --threads, got both\nnote: "
                          "each of the threads has a stream");
  if (!plot.empty() && distributions.size() > 1)
    fail(ExitCode::Usage, "--plot: expected one distribution of ids with it, "
                          "got a list (--ids)");
  if (lists.empty() && !plot.empty())
    fail(ExitCode::Usage, "--plot: expected several sizes with it, as in --dim "
                          "batch=1,8,64");
  if (!isSweep())
    return;
  if (!plot.empty() && llvm::is_contained(lists.front().sizes, 0))
    fail(ExitCode::Usage,
         fmt::format(
             "--plot: expected sizes of '{}' above 0: scales are logarithmic",
             lists.front().name));
  const std::pair<const char *, bool> others[] = {
      {"--input", tensors.any()},  {"--profile", !profile.empty()},
      {"--streams", streams != 0}, {"--threads", threads != 0},
      {"--transfers", transfers},  {"--against", !against.empty()}};
  for (auto [option, isGiven] : others)
    if (isGiven)
      fail(
          ExitCode::Usage,
          lists.empty()
              ? fmt::format("{}: expected one distribution of ids with it, "
                            "got a list (--ids)",
                            option)
              : fmt::format(
                    "{}: expected one size of '{}' with it, got a list (--dim)",
                    option, lists.front().name));
}

/// Sizes that compiling has fixed are no named dimensions any more.
static NamedSizes getNamedSizes(const LoadedModel &loaded,
                                const ModelOptions &options) {
  return loaded.getCompilation() ? NamedSizes() : options.getDims();
}

/// Inputs that are given have sizes of their own, which tell the others.
std::vector<data::Tensor>
BenchCommand::getInputs(const LoadedModel &loaded) const {
  return tensors.any()
             ? tensors.read(loaded.getInterface())
             : makeInputs(loaded, getNamedSizes(loaded, options), ids);
}

BenchRun BenchCommand::prepareRun(const LoadedModel &loaded) const {
  BenchRun run(loaded, getInputs(loaded), getNamedSizes(loaded, options),
               getGraphMode());
  run.result.ids = tensors.any() ? "" : ids.getText();
  return run;
}

void BenchCommand::runSweep(const LoadedModel &loaded, const StartTimes &once,
                            Sweep &sweep) const {
  for (const SizeList &list : lists) {
    loaded.checkDims({{list.name, list.sizes.front()}});
    sweep.names.push_back(list.name);
  }
  for (const NamedSizes &sizes : combine(lists, getNamedSizes(loaded, options)))
    for (const RandomIds &drawn : distributions) {
      BenchRun run(loaded, makeInputs(loaded, sizes, drawn), sizes,
                   getGraphMode());
      run.result.ids = drawn.getText();
      run.result.setStart(once);
      measure(&run, getMeasureOptions());
      sweep.results.push_back(std::move(run.result));
    }
}

void BenchCommand::tell(const Sweep &sweep, Report &report) const {
  if (!plot.empty())
    writeFile(plot, [&](llvm::raw_ostream &os) {
      writePlot(os, sweep, options.model);
    });
  if (report.isJson())
    report.setResult(sweep.toJson());
  else
    sweep.print();
}

void BenchCommand::runOne(const LoadedModel &loaded, const StartTimes &once,
                          BenchFile before, Report &report) const {
  std::optional<LoadedModel> otherModel;
  std::optional<BenchRun> other;
  BenchRun own = prepareRun(loaded);
  BenchResult &result = own.result;
  result.setStart(once);
  result.isFlushed = !noFlush;
  llvm::SmallVector<BenchRun *> runs = {&own};
  if (hasOther) {
    otherModel.emplace(options.forBundle(against), memory, ordinal, quiet,
                       report);
    other.emplace(prepareRun(*otherModel));
    other->result.isFlushed = !noFlush;
    runs.push_back(&*other);
  }
  if (!against.empty())
    checkComparable(hasOther ? other->result : before.result, result, against);
  MeasureOptions measured = getMeasureOptions();
  measure(runs, measured);
  if (hasOther)
    before.result = other->result;

  std::optional<LoadResult> served;
  if (unsigned clients = std::max(streams, threads))
    served = measureLoad(loaded, getInputs(loaded),
                         getNamedSizes(loaded, options), getGraphMode(),
                         clients, /*isThreaded=*/threads != 0, measured);
  std::optional<TransferResult> transferred;
  if (transfers)
    transferred = measureTransfers(own, measured);
  std::optional<Profile> profiled;
  DeviceRates rates;
  if (!profile.empty()) {
    rates = measureRates(own.getDevice(), loaded.getTarget());
    profiled = measureProfile(own);
    if (profile != noTrace)
      writeTraceOf(*profiled, rates, result.device);
  }
  std::optional<Comparison> comparison;
  if (!against.empty())
    comparison = compare(before, other ? &*other : nullptr, own, profiled,
                         measured.roundRuns);
  if (report.isJson()) {
    llvm::json::Object object = result.toJson();
    if (served)
      object["load"] = served->toJson();
    if (transferred)
      object["transfers"] = transferred->toJson();
    if (profiled)
      object["profile"] = toJson(*profiled, rates);
    if (comparison)
      object["against"] =
          comparison->toJson(against, tolerance / 100, before.result);
    report.setResult(std::move(object));
  } else {
    result.print();
    if (served)
      served->print();
    if (transferred)
      transferred->print();
    if (comparison)
      comparison->print(against);
    if (profiled)
      printProfile(*profiled, rates);
  }
  if (comparison && comparison->isSlower(tolerance / 100))
    fail(ExitCode::VerificationFailed,
         fmt::format("{}: a run takes {:.1f}% longer than that of {}, expected "
                     "at most {:.1f}% (--tolerance)",
                     options.model, 100 * (comparison->ratio - 1), against,
                     tolerance),
         "slower");
}

void BenchCommand::run(Report &report) {
  lists = options.takeSizeLists();
  distributions = ids.split();
  checkOptions();
  if (!profile.empty() && profile != noTrace)
    checkWritable(profile);
  if (!plot.empty())
    checkWritable(plot);
  // Before long work.
  hasOther = !against.empty() && isBundle(against);
  BenchFile before;
  if (!against.empty() && !hasOther)
    before = readBenchFile(against);
  StartTimes once;
  rt::Lap lap;
  std::string reason;
  if (!findDevice(ordinal, reason))
    fail(ExitCode::Toolchain, reason);
  once.driver = lap.next();
  // Kept to the end, so that loading the model finds the context made.
  rt::Device device(nullptr, ordinal);
  once.context = lap.next();
  LoadedModel loaded(options, memory, ordinal, quiet, report);
  if (!isSweep())
    return runOne(loaded, once, std::move(before), report);
  Sweep sweep;
  try {
    runSweep(loaded, once, sweep);
  } catch (...) {
    // Large sizes run out of memory.
    if (!sweep.results.empty())
      tell(sweep, report);
    throw;
  }
  tell(sweep, report);
}

void fusec::addBench(CLI::App &tool, Report &report) {
  addCommand<BenchCommand>(
      tool, report, "bench", "Measures runs on the device.",
      "  fusec bench model.fusec --dim batch=2048\n"
      "  fusec bench model.fusec --dim batch=1 --graph=off\n"
      "  fusec bench model.onnx --dim batch=2048 --precision=tf32\n"
      "  fusec bench model.fusec --dim batch=2048 --ids=zipf:1.05 "
      "--device-memory=15G\n"
      "  fusec bench model.fusec --dim batch=1,8,64,4096 --plot=sweep.svg\n"
      "  fusec bench model.fusec --dim batch=8 --threads=4 --transfers\n"
      "  fusec bench model.fusec --dim batch=2048 --against=before.json\n"
      "  fusec bench model.fusec --dim batch=2048 --profile=trace.json\n");
}
