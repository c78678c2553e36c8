// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/TuneContest.h"
#include "compiler/transforms/plan/IsolateStep.h"
#include "runtime/src/Failure.h"
#include "tools/fusec/DeviceRun.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/support/Progress.h"

using namespace fusec;

static StepOp getOnlyStep(Compilation &compilation) {
  PlanOp plan = *compilation.getModule().getOps<PlanOp>().begin();
  return *plan.getOps<StepOp>().begin();
}

void fusec::addContest(StepOp step, const CompileOptions &compileOptions,
                       unsigned limit, std::vector<Contest> &contests) {
  std::optional<TuningProblem> problem =
      getTuningProblem(step, compileOptions.getProducts());
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
  // The step stays what it is: nothing is joined or split anew.
  alone.fuse = false;
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
/// a variant whose kernel has a fault where another stands in.
static std::string getRefusal(Contender &contender) {
  Compilation &compilation = *contender.compilation;
  size_t kernel = compilation.getKernels().getPlans()[0].steps[0][0].kernel;
  // By now it has a launch.
  auto first =
      llvm::cast<VariantAttr>(getOnlyStep(compilation).getVariants()[0]);
  bool isOwn = first.getGuards() == contender.variant.getGuards() &&
               first.getSchedule() == contender.variant.getSchedule();
  if (isOwn && compilation.getFault(kernel).empty())
    return "";
  return llvm::join(compilation.getWarnings(), "; ");
}

void fusec::compileContests(llvm::MutableArrayRef<Contest> contests,
                            KernelCompiler &compiler, const std::string &model,
                            bool quiet) {
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
    failFor(model, fromNvrtcError(answers.takeError()));
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
  compileContests(contests, compiler, model, quiet);
}

/// Whether two ran.
static bool runRounds(Contest &contest, StepTimer &timer,
                      const NvrtcVersion &nvrtc, int ordinal, unsigned rounds) {
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
      if (sessions.empty()) {
        timer.setOperands(model);
        contest.touched = timer.getTouched();
      }
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
  return running.size() >= 2;
}

bool fusec::measureContest(Contest &contest, StepTimer &timer,
                           const NvrtcVersion &nvrtc, int ordinal,
                           unsigned rounds) {
  bool isCompared = false;
  try {
    isCompared = runRounds(contest, timer, nvrtc, ordinal, rounds);
  } catch (const rt::Failure &failure) {
    contest.failure = failure.message;
  } catch (const Error &error) {
    contest.failure = error.what();
  }
  for (Contender &contender : contest.contenders)
    if (contender.refusal.empty() && !contender.measured)
      contender.refusal = contest.failure;
  timer.clear();
  return isCompared;
}
