// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec tune: the schedules that are fastest on this device, for files that
// `fusec compile --tuning` reads. Each step of the plan becomes a model of its
// own, with one variant, whose candidates run against each other.

#include "compiler/schedule/Schedules.h"
#include "compiler/schedule/StepBytes.h"
#include "compiler/transforms/IsolateStep.h"
#include "tools/fusec/StepTimer.h"
#include "tools/fusec/TensorOptions.h"
#include "tools/support/Progress.h"
#include "tools/support/Table.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace fusec;

/// Less is noise, or not worth an entry.
static constexpr double leastGain = 0.02;

namespace {
struct Contender {
  VariantAttr variant; // of the plan in `compilation`
  double predicted = 0, measured = 0;
  std::unique_ptr<Compilation> compilation;
  /// Why it does not run; empty where it does.
  std::string refusal;

  std::string getSchedule() { return getScheduleText(variant.getSchedule()); }
};

/// The steps of one problem. The first contender that runs is what would have
/// been compiled.
struct Contest {
  TuningEntry entry;
  std::vector<Contender> contenders;
  /// After the last rounds, in microseconds.
  double model = 0, tuned = 0;
  std::string modelSchedule, tunedSchedule;
  double predicted = 0;

  double getGain() const { return model / tuned - 1; }
};

struct TuneCommand {
  ModelOptions options;
  std::string output, probe;
  unsigned limit = 16, rounds = 15;
  int ordinal = 0;
  int64_t indexLimit = 1000;
  bool quiet = false;

  void addTo(CLI::App &app);
  void run();

private:
  std::unique_ptr<Compilation> plan(const std::string &target) const;
  void addContest(StepOp step, const CompileOptions &compileOptions,
                  std::vector<Contest> &contests) const;
  void compile(std::vector<Contest> &contests, KernelCompiler &compiler) const;
  bool measure(Contest &contest, StepTimer &timer, const NvrtcVersion &nvrtc,
               llvm::raw_ostream *csv) const;
  TuningFile readOutput(const TuningDevice &device) const;
  void write(const TuningFile &file) const;
  void print(llvm::ArrayRef<Contest> contests) const;
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
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--probe", probe,
                 "also write predicted and measured times of all candidates")
      ->type_name("CSV");
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  app.add_option("--index-limit", indexLimit, "random integers are below it")
      ->type_name("N");
  app.add_flag("-q,--quiet", quiet, "no progress");
}

//===----------------------------------------------------------------------===//
// Contests
//===----------------------------------------------------------------------===//

std::unique_ptr<Compilation>
TuneCommand::plan(const std::string &target) const {
  CompileOptions compileOptions = options.getOptions();
  compileOptions.targets = {target};
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, std::move(compileOptions));
  advanceModel(options.model, *compilation, Stage::Planned);
  std::vector<std::string> names = getDimNames(compilation->getModel());
  if (!names.empty())
    fail(ExitCode::Usage, "expected --dim " + llvm::join(names, "=N --dim ") +
                              "=N: times are of given sizes");
  return compilation;
}

static StepOp getOnlyStep(Compilation &compilation) {
  PlanOp plan = *compilation.getModule().getOps<PlanOp>().begin();
  return *plan.getOps<StepOp>().begin();
}

/// Contenders of a step whose problem is not among the contests yet.
void TuneCommand::addContest(StepOp step, const CompileOptions &compileOptions,
                             std::vector<Contest> &contests) const {
  Precision precision =
      compileOptions.precision == "tf32" ? Precision::Tf32 : Precision::Ieee;
  std::optional<TuningProblem> problem = getTuningProblem(step, precision);
  if (!problem)
    return;
  Contest contest;
  contest.entry.key = problem->key;
  contest.entry.kernel = step.getName().str();
  for (const auto &[name, size] : problem->sizes) {
    std::optional<int64_t> value = size.getConstant();
    // Nothing is launched for empty tensors.
    if (!value || *value == 0)
      return;
    contest.entry.sizes[name] = *value;
  }
  for (const Contest &other : contests)
    if (other.entry.isSame(contest.entry))
      return;
  mlir::OwningOpRef<mlir::ModuleOp> isolated = isolateStep(step);
  std::string text;
  llvm::raw_string_ostream(text) << *isolated;
  CompileOptions alone = compileOptions;
  alone.dims.clear();
  alone.constants.clear();
  alone.refuseSpills = false;
  alone.candidates = limit;
  for (size_t i = 0, count = 1; i != count; ++i) {
    auto compilation = Compilation::parse(text, alone, Stage::Fused);
    if (!compilation)
      failFor(step.getName().str(), compilation.takeError());
    advanceModel(step.getName().str(), **compilation, Stage::Planned);
    StepOp only = getOnlyStep(**compilation);
    auto variant = llvm::cast<VariantAttr>(only.getVariants()[0]);
    count = 1 + variant.getAlternatives().size();
    for (size_t skipped = 0; skipped != i; ++skipped)
      variant = variant.getNext();
    // Without alternatives, so that what is measured is what was asked for.
    Contender contender;
    contender.variant =
        VariantAttr::get(only.getContext(), variant.getGuards(),
                         variant.getSchedule(), variant.getEstimate(), {});
    if (EstimateAttr estimate = variant.getEstimate())
      contender.predicted = estimate.getNanoseconds() / 1000.0;
    // A bundle's last variant has no guards; operands that are aligned never
    // run it.
    llvm::SmallVector<mlir::Attribute> variants = {contender.variant};
    if (!variant.getGuards().empty())
      variants.push_back(only.getVariants().getValue().back());
    only.setVariantsAttr(mlir::ArrayAttr::get(only.getContext(), variants));
    contender.compilation = std::move(*compilation);
    if (llvm::Error error = contender.compilation->emit())
      failFor(step.getName().str(), std::move(error));
    contest.contenders.push_back(std::move(contender));
  }
  contests.push_back(std::move(contest));
}

/// Why the contender's own kernel should not run, or nothing. Compilation drops
/// a variant whose kernel spills where another stands in.
static std::string getRefusal(Contender &contender) {
  Compilation &compilation = *contender.compilation;
  size_t kernel = compilation.getKernels().getPlans()[0].steps[0][0].kernel;
  const CompiledKernel *image = compilation.getImages()[kernel];
  bool isOwn = getOnlyStep(compilation).getVariants()[0] == contender.variant;
  if (isOwn && !image->spills() && !image->serializedMma)
    return "";
  return llvm::join(compilation.getWarnings(), "; ");
}

/// All kernels together, which keeps all cores busy, and again those that stand
/// in for others.
void TuneCommand::compile(std::vector<Contest> &contests,
                          KernelCompiler &compiler) const {
  std::vector<CompileRequest> requests;
  for (Contest &contest : contests)
    for (Contender &contender : contest.contenders)
      llvm::append_range(requests, contender.compilation->getRequests());
  if (requests.empty()) {
    for (Contest &contest : contests)
      for (Contender &contender : contest.contenders)
        contender.refusal = getRefusal(contender);
    return;
  }
  Progress progress("compiling kernels", requests.size(), quiet);
  llvm::Expected<std::vector<CompiledKernel>> answers = compiler.compileAll(
      requests, [&](size_t, size_t, const CompiledKernel &kernel) {
        progress.step(kernel.name);
      });
  if (!answers)
    failFor(options.model, fromNvrtcError(answers.takeError()));
  size_t at = 0;
  for (Contest &contest : contests)
    for (Contender &contender : contest.contenders) {
      size_t count = contender.compilation->getRequests().size();
      std::vector<CompiledKernel> own(
          std::make_move_iterator(answers->begin() + at),
          std::make_move_iterator(answers->begin() + at + count));
      at += count;
      if (llvm::Error error = contender.compilation->addImages(std::move(own)))
        failFor(contest.entry.kernel, std::move(error));
    }
  compile(contests, compiler);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

static std::string getSizesText(const std::map<std::string, int64_t> &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

/// A row each; a refused schedule has no time.
static void writeProbes(const Contest &contest, llvm::raw_ostream &csv) {
  const TuningEntry &entry = contest.entry;
  for (const Contender &contender : contest.contenders) {
    EstimateAttr estimate = contender.variant.getEstimate();
    csv << entry.kernel << "," << entry.key.family << "," << entry.key.precision
        << "," << entry.key.operands << "," << entry.key.region << ","
        << getSizesText(entry.sizes) << ",\""
        << getScheduleText(contender.variant.getSchedule()) << "\","
        << (estimate ? stringifyTimeBound(estimate.getBound()) : "") << ","
        << llvm::formatv("{0:f3},", contender.predicted);
    if (contender.measured > 0)
      csv << llvm::formatv("{0:f3}", contender.measured);
    csv << ",\"" << contender.refusal << "\"\n";
  }
  csv.flush();
}

/// Whether there were two schedules to compare.
bool TuneCommand::measure(Contest &contest, StepTimer &timer,
                          const NvrtcVersion &nvrtc,
                          llvm::raw_ostream *csv) const {
  std::vector<Contender *> running;
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Session *> pointers;
  for (Contender &contender : contest.contenders) {
    if (!contender.refusal.empty())
      continue;
    llvm::Expected<std::string> bundle =
        contender.compilation->getBundle(nvrtc);
    if (!bundle)
      failFor(contest.entry.kernel, bundle.takeError());
    try {
      Model model = DeviceRun::loadBytes(*bundle, ordinal);
      if (sessions.empty())
        timer.setOperands(model);
      sessions.push_back(std::make_unique<Session>(model));
    } catch (const Error &error) {
      contender.refusal = error.what();
      continue;
    }
    pointers.push_back(sessions.back().get());
    running.push_back(&contender);
  }
  if (running.size() >= 2) {
    std::vector<double> times = timer.measure(pointers, rounds);
    size_t best = 0;
    for (size_t i = 0; i != times.size(); ++i) {
      running[i]->measured = times[i];
      if (times[i] < times[best])
        best = i;
    }
    // The least of many medians is lucky: the two that matter run again.
    contest.model = contest.tuned = times[0];
    if (best != 0) {
      times = timer.measure({pointers[0], pointers[best]}, 2 * rounds);
      contest.model = times[0];
      contest.tuned = std::min(times[0], times[1]);
      if (times[0] < times[1])
        best = 0;
    }
    contest.predicted = running[0]->predicted;
    contest.modelSchedule = running[0]->getSchedule();
    contest.tunedSchedule = running[best]->getSchedule();
  }
  timer.clear();
  if (csv)
    writeProbes(contest, *csv);
  return running.size() >= 2;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What is there already, or an empty file.
TuningFile TuneCommand::readOutput(const TuningDevice &device) const {
  if (output.empty() || !llvm::sys::fs::exists(output))
    return {};
  TuningFile file = readTuning(output);
  for (const TuningDevice &other : file.devices) {
    if (other.target != device.target)
      continue;
    if (other.name != device.name ||
        other.multiprocessors != device.multiprocessors)
      fail(ExitCode::Input, output + ": holds times of " + other.name +
                                " for " + other.target +
                                ", expected those of " + device.name +
                                "\nnote: a device that shares its target with "
                                "another needs a file of its own");
    if (other.keyVersion != device.keyVersion)
      llvm::errs() << "note: " << output
                   << ": entries of another key version are replaced\n";
  }
  llvm::erase_if(file.devices, [&](const TuningDevice &other) {
    return other.target == device.target &&
           other.keyVersion != device.keyVersion;
  });
  return file;
}

void TuneCommand::write(const TuningFile &file) const {
  std::error_code code;
  llvm::raw_fd_ostream os(output, code);
  if (!code) {
    os << file.print();
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    fail(ExitCode::Input, output + ": cannot be written: " + code.message());
}

void TuneCommand::print(llvm::ArrayRef<Contest> contests) const {
  using Align = Table::Align;
  Table table({{"kernel"},
               {"sizes"},
               {"predicted us", Align::Right},
               {"measured us", Align::Right},
               {"best us", Align::Right},
               {"gain", Align::Right},
               {"best schedule, where it is not the model's"}});
  double sum = 0, worst = 0;
  unsigned kept = 0;
  for (const Contest &contest : contests) {
    bool isKept = contest.getGain() >= leastGain;
    kept += isKept;
    sum += contest.getGain();
    worst = std::max(worst, contest.getGain());
    table.row({contest.entry.kernel, getSizesText(contest.entry.sizes),
               llvm::formatv("{0:f1}", contest.predicted),
               llvm::formatv("{0:f1}", contest.model),
               llvm::formatv("{0:f1}", contest.tuned),
               llvm::formatv("{0:f1}%", contest.getGain() * 100),
               isKept ? contest.tunedSchedule : ""});
  }
  llvm::outs() << table.str();
  if (contests.empty()) {
    llvm::outs() << "no kernel has more than one schedule\n";
    return;
  }
  llvm::outs() << llvm::formatv(
      "the model's pick is within {0:f1}% of the tuned one on average, {1:f1}% "
      "at worst; {2} of {3} schedules tuned\n",
      100 * sum / contests.size(), 100 * worst, kept, contests.size());
}

void TuneCommand::run() {
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
  TuningFile file = readOutput(own);
  if (isBundle(options.model))
    fail(ExitCode::Usage, options.model + ": expected an ONNX model");

  std::unique_ptr<Compilation> compilation = plan(own.target);
  std::vector<Contest> contests;
  PlanOp planned = *compilation->getModule().getOps<PlanOp>().begin();
  for (StepOp step : planned.getOps<StepOp>())
    addContest(step, compilation->getOptions(), contests);
  KernelCompiler compiler(options.getCompilerOptions());
  const NvrtcIdentity &nvrtc = getNvrtc(compiler);
  if (llvm::Error error = checkTarget(own.target, nvrtc))
    failFor(options.model, fromNvrtcError(std::move(error)));
  compile(contests, compiler);

  std::unique_ptr<llvm::raw_fd_ostream> csv;
  if (!probe.empty()) {
    std::error_code code;
    csv = std::make_unique<llvm::raw_fd_ostream>(probe, code);
    if (code)
      fail(ExitCode::Input, probe + ": cannot be written: " + code.message());
    *csv << "kernel,family,precision,operands,region,sizes,schedule,bound,"
            "predicted_us,measured_us,refused\n";
  }
  StepTimer timer(device, indexLimit);
  {
    Progress progress("measuring", contests.size(), quiet);
    llvm::erase_if(contests, [&](Contest &contest) {
      bool isCompared = measure(contest, timer, nvrtc.version, csv.get());
      progress.step(contest.entry.kernel);
      contest.contenders.clear();
      return !isCompared;
    });
  }
  print(contests);
  if (output.empty())
    return;
  auto it = llvm::find_if(file.devices, [&](const TuningDevice &other) {
    return other.target == own.target;
  });
  TuningDevice &measured =
      it == file.devices.end() ? file.devices.emplace_back(own) : *it;
  for (Contest &contest : contests) {
    contest.entry.model = {contest.modelSchedule,
                           std::llround(contest.model * 1000)};
    contest.entry.tuned = {contest.tunedSchedule,
                           std::llround(contest.tuned * 1000)};
    if (contest.getGain() >= leastGain)
      setEntry(measured, contest.entry);
    else
      dropEntry(measured, contest.entry);
  }
  write(file);
}

void fusec::addTune(CLI::App &tool) {
  addCommand<TuneCommand>(
      tool, "tune", "Measures schedules on the device, and keeps the fastest.",
      "  fusec tune model.onnx --dim batch=2048 -o tuning.json\n"
      "  fusec compile model.onnx --tuning=tuning.json\n"
      "  fusec tune model.onnx --dim batch=2048 --candidates=0 "
      "--probe=times.csv\n");
}
