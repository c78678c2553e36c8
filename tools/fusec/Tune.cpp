// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec tune: the schedules that are fastest on this device, for files that
// `fusec compile --tuning` reads.

#include "compiler/analysis/StepBytes.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/fusec/TensorOptions.h"
#include "tools/fusec/TuneContest.h"
#include "tools/fusec/TunePrediction.h"
#include "tools/fusec/TuneReport.h"
#include "tools/fusec/WriteFile.h"
#include "tools/support/Progress.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <fmt/core.h>

using namespace fusec;

namespace {
/// What became of all contests.
struct Measurements {
  llvm::json::Array steps;
  std::vector<std::string> failures;
  /// Why the first schedule of those that could not be compared does not run.
  std::string refusal;
  /// Whether the device no longer answers.
  bool isBroken = false;
};

struct TuneCommand {
  ModelOptions options;
  std::string output, probe, costs;
  unsigned limit = 16, rounds = 15, duty = 100;
  int ordinal = 0;
  RandomIds ids;
  bool quiet = false, predicts = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  std::unique_ptr<Compilation> plan(const std::string &target) const;
  /// What the model says of all candidates; measures nothing.
  void predict(Report &report) const;
  TuningFile readOutput(const TuningDevice &device, Report &report) const;
  std::vector<Contest> getContests(Compilation &compilation,
                                   unsigned limit) const;
  /// Leaves the contests that had two schedules to compare.
  Measurements measure(std::vector<Contest> &contests, rt::Device &device,
                       const NvrtcVersion &nvrtc, ProbeFile &probes) const;
  /// Adds what was measured to the file and writes it.
  void keep(llvm::ArrayRef<Contest> contests, const TuningDevice &own,
            TuningFile file) const;
};
} // namespace

void TuneCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  options.addArch(app);
  app.add_option("-o,--output", output,
                 "the tuning file; what it holds of other problems stays")
      ->type_name("FILE");
  app.add_option("--candidates", limit,
                 "schedules to try for a step, the model's best first; 0: all")
      ->type_name("N");
  app.add_option("--rounds", rounds, "how often each is measured")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  app.add_option("--duty", duty,
                 "percent of the time that the device is busy: 100 at its "
                 "power limit, as under full load")
      ->check(CLI::Range(1, 100))
      ->type_name("PERCENT");
  app.add_option("--probe", probe,
                 "also write predicted and measured times of all candidates")
      ->type_name("CSV");
  CLI::Option *predicted = app.add_flag(
      "--predict", predicts,
      "only report, with --json, what the cost model says of all candidates "
      "and how each of its coefficients matters; needs no device");
  app.add_option("--costs", costs,
                 "coefficients to predict with instead of the target's")
      ->needs(predicted)
      ->type_name("JSON");
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  ids.addTo(app);
  app.add_flag("-q,--quiet", quiet, "no progress");
}

std::unique_ptr<Compilation>
TuneCommand::plan(const std::string &target) const {
  CompileOptions compileOptions = options.getOptions();
  compileOptions.targets = {target};
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, std::move(compileOptions));
  advanceModel(options.model, *compilation, Stage::Planned);
  std::vector<std::string> names = getDimNames(compilation->getModel());
  if (!names.empty())
    fail(ExitCode::Usage,
         fmt::format("expected --dim {}=N: times are of given sizes",
                     llvm::join(names, "=N --dim ")));
  return compilation;
}

/// What is there already, or an empty file.
TuningFile TuneCommand::readOutput(const TuningDevice &device,
                                   Report &report) const {
  if (output.empty() || !llvm::sys::fs::exists(output))
    return {};
  TuningFile file = readTuning(output);
  for (const TuningDevice &other : file.devices) {
    if (other.target != device.target)
      continue;
    if (other.name != device.name ||
        other.multiprocessors != device.multiprocessors)
      fail(ExitCode::Input,
           fmt::format("{}: holds times of {} for {}, expected those of {}\n"
                       "note: a device that shares its target with another "
                       "needs a file of its own",
                       output, other.name, other.target, device.name));
    if (other.keyVersion != device.keyVersion)
      report.note(output + ": entries of another key version are replaced");
  }
  llvm::erase_if(file.devices, [&](const TuningDevice &other) {
    return other.target == device.target &&
           other.keyVersion != device.keyVersion;
  });
  return file;
}

/// Some errors stay with the context, which is current here: then every call
/// fails.
static bool answers(const rt::Device &device) {
  return device.driver().streamSynchronize(nullptr) == rt::cuda::success;
}

std::vector<Contest> TuneCommand::getContests(Compilation &compilation,
                                              unsigned limit) const {
  std::vector<Contest> contests;
  PlanOp planned = *compilation.getModule().getOps<PlanOp>().begin();
  for (StepOp step : planned.getOps<StepOp>())
    addContest(step, compilation.getOptions(), limit, contests);
  return contests;
}

void TuneCommand::predict(Report &report) const {
  if (options.arch.size() != 1 || !report.isJson())
    fail(ExitCode::Usage, "--predict: expected --json and --arch=TARGET");
  std::unique_ptr<Compilation> compilation = plan(options.arch[0]);
  const Target target = readCosts(*findTarget(options.arch[0]), costs);
  llvm::json::Array steps;
  for (const Contest &contest : getContests(*compilation, 0)) {
    llvm::json::Object step = toJson(contest, ids, /*isCompared=*/false);
    step["candidates"] = predictContest(
        contest, target, compilation->getOptions().getProducts());
    steps.push_back(std::move(step));
  }
  report.setResult(
      llvm::json::Object{{"device", ""},
                         {"target", options.arch[0]},
                         {"multiprocessors", target.multiprocessors},
                         {"output", nullptr},
                         {"steps", std::move(steps)}});
}

Measurements TuneCommand::measure(std::vector<Contest> &contests,
                                  rt::Device &device, const NvrtcVersion &nvrtc,
                                  ProbeFile &probes) const {
  StepTimer timer(device, ids, duty);
  Measurements result;
  Progress progress("measuring", contests.size(), quiet);
  llvm::erase_if(contests, [&](Contest &contest) {
    // What was measured before the device broke is as good as ever.
    if (result.isBroken)
      return true;
    bool isCompared = measureContest(contest, timer, nvrtc, ordinal, rounds);
    if (!contest.failure.empty()) {
      result.failures.push_back(contest.entry.kernel + ": " + contest.failure);
      result.isBroken = !answers(device);
    }
    probes.add(contest);
    result.steps.push_back(toJson(contest, ids, isCompared));
    for (const Contender &contender : contest.contenders)
      if (result.refusal.empty() && !isCompared)
        result.refusal = contender.refusal;
    progress.step(contest.entry.kernel);
    contest.contenders.clear();
    return !isCompared;
  });
  return result;
}

void TuneCommand::run(Report &report) {
  if (predicts)
    return predict(report);
  if (output.empty() && probe.empty())
    fail(ExitCode::Usage, "expected --output or --probe");
  if (options.arch.size() > 1)
    fail(ExitCode::Usage, "--arch: expected one target");
  std::string reason;
  std::optional<DeviceInfo> info = findDevice(ordinal, reason);
  if (!info)
    fail(ExitCode::Toolchain,
         reason + "\nnote: schedules are measured on the device they are for");
  rt::Device device(nullptr, ordinal);
  TuningDevice own;
  own.target = options.hasArch() ? options.arch[0] : info->target;
  own.name = device.name();
  own.multiprocessors = device.multiprocessors();
  TuningFile file = readOutput(own, report);
  if (!output.empty())
    checkWritable(output);
  if (isBundle(options.model))
    fail(ExitCode::Usage, options.model + ": expected an ONNX model");

  std::unique_ptr<Compilation> compilation = plan(own.target);
  std::vector<Contest> contests = getContests(*compilation, limit);
  KernelCompiler compiler(options.getCompilerOptions());
  const NvrtcIdentity &nvrtc = getNvrtc(compiler);
  if (llvm::Error error = checkTarget(own.target, nvrtc))
    failFor(options.model, fromNvrtcError(std::move(error)));
  compileContests(contests, compiler, options.model, quiet);
  reportWarnings(compiler, report);

  ProbeFile probes(probe);
  Measurements measured = measure(contests, device, nvrtc.version, probes);
  for (const std::string &failure : measured.failures)
    report.warn("not measured: " + failure);
  report.setResult(
      llvm::json::Object{{"device", jsonText(own.name)},
                         {"target", own.target},
                         {"multiprocessors", own.multiprocessors},
                         {"output", output.empty() ? llvm::json::Value(nullptr)
                                                   : jsonText(output)},
                         {"steps", std::move(measured.steps)}});
  if (contests.empty() && !measured.refusal.empty())
    fail(ExitCode::Toolchain,
         fmt::format("{} runs no schedule for {}: {}", own.name, own.target,
                     measured.refusal));
  if (!report.isJson())
    llvm::outs() << getTable(contests, ids);
  if (!output.empty())
    keep(contests, own, std::move(file));
  probes.finish();
  if (measured.isBroken)
    fail(ExitCode::Toolchain, own.name + " runs nothing more after that; what "
                                         "was measured before is kept");
}

void TuneCommand::keep(llvm::ArrayRef<Contest> contests,
                       const TuningDevice &own, TuningFile file) const {
  auto it = llvm::find_if(file.devices, [&](const TuningDevice &other) {
    return other.target == own.target;
  });
  TuningDevice &measured =
      it == file.devices.end() ? file.devices.emplace_back(own) : *it;
  for (const Contest &contest : contests) {
    TuningEntry entry = contest.entry;
    entry.model = {contest.modelSchedule, std::llround(contest.model * 1000)};
    entry.tuned = {contest.tunedSchedule, std::llround(contest.tuned * 1000)};
    if (contest.isKept())
      setEntry(measured, entry);
    else
      dropEntry(measured, entry);
  }
  writeFile(output, file.print());
}

void fusec::addTune(CLI::App &tool, Report &report) {
  addCommand<TuneCommand>(
      tool, report, "tune",
      "Measures schedules on the device, and keeps the fastest.",
      "  fusec tune model.onnx --dim batch=2048 -o tuning.json\n"
      "  fusec compile model.onnx --tuning=tuning.json\n"
      "  fusec tune model.onnx --dim batch=2048 --candidates=0 "
      "--probe=times.csv\n");
}
