// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec bench: how long a run takes on the device, and on the host, and how
// long it takes to get there.

#include "runtime/src/Lap.h"
#include "tools/fusec/BenchAgainst.h"
#include "tools/fusec/BenchFile.h"
#include "tools/fusec/BenchRun.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/ProfileJson.h"
#include "tools/fusec/Trace.h"
#include "tools/fusec/WriteFile.h"

#include <chrono>

using namespace fusec;

namespace {
/// What --profile has without a file: no file can have this path.
const std::string noTrace = "/";

struct BenchCommand {
  ModelOptions options;
  TensorOptions tensors;
  double seconds = 2;
  unsigned maxRuns = 100000, warmUp = 20;
  int ordinal = 0;
  int64_t indexLimit = 1000;
  std::string graph, profile, profileBy, against;
  double tolerance = 3; // percent
  bool noFlush = false, quiet = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  int32_t getGraphMode() const;
  unsigned getRoundRuns() const;
  void measure(llvm::ArrayRef<BenchRun *> runs) const;
  /// Writes the trace, too.
  Profile measureProfile(BenchRun &run, const DeviceRates &rates) const;
};
} // namespace

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

/// And writes the trace, where one is asked for.
Profile BenchCommand::measureProfile(BenchRun &run,
                                     const DeviceRates &rates) const {
  ProfileOptions by;
  by.method = profileBy == "activity" ? FUSEC_PROFILE_ACTIVITY
              : profileBy == "events" ? FUSEC_PROFILE_EVENTS
                                      : FUSEC_PROFILE_AUTO;
  by.keepCache = noFlush;
  Profile measured = run.getSession().profile(by);
  if (profile != noTrace) {
    llvm::json::Object about = toJson(measured, rates);
    about["model"] = jsonText(options.model);
    about["device"] = jsonText(run.result.device);
    writeFile(profile, [&](llvm::raw_ostream &os) {
      writeTrace(os, measured, run.result.device, std::move(about));
    });
  }
  return measured;
}

/// So few that clocks hardly change within a round, where rounds matter.
unsigned BenchCommand::getRoundRuns() const {
  return against.empty() ? Stopwatch::maxRuns : 10;
}

/// Rounds of each in turn.
void BenchCommand::measure(llvm::ArrayRef<BenchRun *> runs) const {
  Stopwatch watch(runs.front()->getDevice(), !noFlush);
  unsigned roundRuns = getRoundRuns();
  for (BenchRun *run : runs)
    for (unsigned done = 0; done < warmUp; done += roundRuns)
      watch.run(run->getSession(), std::min(roundRuns, warmUp - done), nullptr);
  const std::vector<double> &measured = runs.front()->result.times.device;
  auto begin = std::chrono::steady_clock::now();
  auto isTimeUp = [&] {
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin;
    // Long runs take longer than asked for: fewer rounds compare nothing.
    return elapsed.count() >= seconds &&
           (against.empty() || seconds <= 0 ||
            measured.size() >= leastRounds * roundRuns);
  };
  while (measured.size() < maxRuns && !isTimeUp()) {
    unsigned count = std::min<size_t>(roundRuns, maxRuns - measured.size());
    for (BenchRun *run : runs)
      watch.run(run->getSession(), count, &run->result.times);
  }
  if (measured.empty())
    fail(ExitCode::Usage, "expected --runs and --seconds above zero");
}

void BenchCommand::run(Report &report) {
  if (profile.empty() && !profileBy.empty())
    fail(ExitCode::Usage, "--profile-by: expected --profile too");
  if (!profile.empty() && profile != noTrace)
    checkWritable(profile);
  std::optional<BenchRun> other;
  BenchResult before;
  bool hasOther = !against.empty() && isBundle(against);
  if (!against.empty() && !hasOther)
    before = readBenchFile(against).result;
  StartTimes once;
  rt::Lap lap;
  std::string reason;
  std::optional<DeviceInfo> info = findDevice(ordinal, reason);
  if (!info)
    fail(ExitCode::Toolchain, reason);
  once.driver = lap.next();
  // Kept to the end, so that loading the model finds the context made.
  rt::Device device(nullptr, ordinal);
  once.context = lap.next();
  BenchRun::Settings settings{tensors, ordinal, indexLimit, getGraphMode(),
                              quiet};
  BenchRun own(options, settings, report);
  BenchResult &result = own.result;
  result.once.driver = once.driver;
  result.once.context = once.context;
  result.isFlushed = !noFlush;
  result.warmUp = warmUp;

  llvm::SmallVector<BenchRun *> runs = {&own};
  if (hasOther) {
    other.emplace(options.forBundle(against), settings, report);
    other->result.isFlushed = !noFlush;
    runs.push_back(&*other);
  }
  if (!against.empty())
    checkComparable(hasOther ? other->result : before, result, against);
  measure(runs);
  if (hasOther)
    before = other->result;

  std::optional<Profile> profiled;
  DeviceRates rates;
  if (!profile.empty()) {
    rates = measureRates(own.getDevice(), info->target);
    profiled = measureProfile(own, rates);
  }
  std::optional<Comparison> comparison;
  if (!against.empty())
    comparison = compareTimes(before.times.device, result.times.device,
                              hasOther, getRoundRuns());
  if (report.isJson()) {
    llvm::json::Object object = result.toJson();
    if (profiled)
      object["profile"] = toJson(*profiled, rates);
    if (comparison)
      object["against"] = comparison->toJson(against, tolerance / 100, before);
    report.setResult(std::move(object));
  } else {
    result.print();
    if (comparison)
      comparison->print(against);
    if (profiled)
      printProfile(*profiled, rates);
  }
  if (comparison && comparison->isSlower(tolerance / 100))
    fail(ExitCode::VerificationFailed,
         llvm::formatv("{0}: a run takes {1:f1}% longer than that of {2}, "
                       "expected at most {3:f1}% (--tolerance)",
                       options.model, 100 * (comparison->ratio - 1), against,
                       tolerance),
         "slower");
}

void fusec::addBench(CLI::App &tool, Report &report) {
  addCommand<BenchCommand>(
      tool, report, "bench", "Measures runs on the device.",
      "  fusec bench model.fusec --dim batch=2048\n"
      "  fusec bench model.fusec --dim batch=1 --graph=off\n"
      "  fusec bench model.onnx --dim batch=2048 --precision=tf32\n"
      "  fusec bench model.fusec --dim batch=2048 --against=before.json\n"
      "  fusec bench model.fusec --dim batch=2048 --profile=trace.json\n");
}
