// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-host-suite: executes every emitted kernel on the CPU.
//
//   fusec-host-suite CASES... [--mode=static|symbolic|both]
//   [--fusion=on|off|both]
//                    [--filter=REGEX] [--arch=TARGET] [--compiler=C++]
//                    [--work=DIR]
//                    [--jobs=N] [--schedule=N] [--unused]
//
// Cases are those of the node suite. The kernels of all variants of all steps
// are compiled for the host and run in the memory that the plan describes: once
// for each variant that may run, then with the user's tensors placed so that
// wide accesses are not allowed, and so that reading past an end traps. With
// --schedule=1 they have not the schedules that the model finds fastest but
// those it finds second. Results are compared with those of the case and with
// the reference's of the plan. Where fusion changes nothing, as of most single
// operators, the plan runs once.
//
// One JSON line a failure, a summary at the end; --unused also names the
// variants that no case chose. Exits with 0 when all is as expected, else 1.

#include "test/host/HostCheck.h"
#include "test/onnx/Verdict.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/ReferenceRun.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <CLI/CLI.hpp>
#include <thread>

using namespace fusec;

namespace {
struct Options {
  std::vector<std::string> cases;
  std::string mode = "both", fusion = "both", filter, target = "sm_90a",
              compiler = "c++", work = "host-kernels";
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency()),
           schedule = 0;
  bool unused = false;
};

/// Cases whose kernels are compiled together.
constexpr size_t batchSize = 256;

/// A case in one of its forms.
struct Job {
  const SuiteCase *testCase;
  bool symbolic, fuse;
  std::unique_ptr<Compilation> compilation;
  std::unique_ptr<HostPlan> plan;
  std::optional<Verdict> verdict;
  std::string planText;
};

class Suite {
public:
  explicit Suite(Options options)
      : options(std::move(options)),
        library(this->options.compiler, this->options.work,
                this->options.jobs) {}
  int run();

private:
  /// `fused` is the same case with fusion, where that was prepared before.
  void prepare(Job &job, const Job *fused);
  Verdict execute(Job &job);
  void report(const Job &job);

  Options options;
  KernelLibrary library;
  std::vector<SuiteCase> cases;
  size_t passes = 0, same = 0, failures = 0, variants = 0, unused = 0;
};
} // namespace

static std::string print(PlanOp plan) {
  std::string text;
  llvm::raw_string_ostream os(text);
  plan->print(os);
  return text;
}

void Suite::prepare(Job &job, const Job *fused) {
  CompileOptions compileOptions;
  compileOptions.targets = {options.target};
  compileOptions.fuse = job.fuse;
  job.compilation = importCase(*job.testCase, job.symbolic,
                               std::move(compileOptions), job.verdict);
  if (!job.compilation)
    return;
  if (llvm::Error error = job.compilation->advance(Stage::Planned)) {
    job.verdict = fromError(std::move(error));
    return;
  }
  PlanOp plan = *job.compilation->getModule().getOps<PlanOp>().begin();
  job.planText = print(plan);
  if (fused && fused->planText == job.planText) {
    ++same;
    job.verdict = Verdict{"pass", ""};
    return;
  }
  DiagnosticCollector diagnostics(job.compilation->getContext());
  job.plan = std::make_unique<HostPlan>(plan, job.compilation->getModel());
  job.plan->setSchedule(options.schedule);
  if (failed(job.plan->emit(library)))
    job.verdict = fromError(diagnostics.take(ErrorKind::Internal, "emission"));
}

Verdict Suite::execute(Job &job) {
  ModelOp model = job.compilation->getModel();
  std::vector<data::Tensor> inputs =
      readInputs(*job.testCase, getInterface(model));
  llvm::SmallVector<reference::Tensor> arguments;
  for (const data::Tensor &input : inputs)
    arguments.push_back(toReference(input, model.getContext()));
  std::string error = checkPlan(
      *job.plan, library, arguments, [&](const reference::Tensors &outputs) {
        std::vector<data::Tensor> results;
        for (const reference::Tensor &output : outputs)
          results.push_back(fromReference(output));
        return judge(*job.testCase, results).message;
      });
  return error.empty() ? Verdict{"pass", ""} : failed(error);
}

void Suite::report(const Job &job) {
  llvm::json::Object line{{"test", job.testCase->name},
                          {"mode", job.symbolic ? "symbolic" : "static"},
                          {"fusion", job.fuse}};
  if (job.plan) {
    std::vector<std::string> names = job.plan->getUnused();
    variants += job.plan->countVariants();
    unused += names.size();
    if (options.unused && job.verdict->result == "pass" && !names.empty()) {
      llvm::json::Object unusedLine = line;
      unusedLine["unused"] = llvm::json::Array(names);
      llvm::outs() << llvm::json::Value(std::move(unusedLine)) << "\n";
    }
  }
  if (job.verdict->result == "pass") {
    ++passes;
    return;
  }
  ++failures;
  line["result"] = job.verdict->result;
  line["message"] = llvm::json::fixUTF8(job.verdict->message);
  llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  llvm::outs().flush();
}

int Suite::run() {
  std::string error;
  for (const std::string &folder : options.cases)
    for (SuiteCase &testCase : readSuite(folder, options.filter, error))
      if (testCase.expectPass)
        cases.push_back(std::move(testCase));
  if (!error.empty() || !library.prepare(error)) {
    llvm::errs() << error << "\n";
    return 1;
  }
  std::vector<Job> jobs;
  for (const SuiteCase &testCase : cases)
    for (bool symbolic : {false, true})
      for (bool fuse : {true, false}) {
        if (options.mode == (symbolic ? "static" : "symbolic") ||
            options.fusion == (fuse ? "off" : "on") ||
            (symbolic && !testCase.symbolicModel))
          continue;
        jobs.push_back(
            {&testCase, symbolic, fuse, nullptr, nullptr, std::nullopt, {}});
      }
  for (size_t first = 0; first < jobs.size(); first += batchSize) {
    llvm::MutableArrayRef<Job> batch(&jobs[first],
                                     std::min(batchSize, jobs.size() - first));
    for (auto [i, job] : llvm::enumerate(batch)) {
      // The job before an unfused one, if of the same case.
      const Job *before = i && !job.fuse ? &batch[i - 1] : nullptr;
      bool isSame = before && before->fuse &&
                    before->testCase == job.testCase &&
                    before->symbolic == job.symbolic;
      prepare(job, isSame ? before : nullptr);
    }
    library.build();
    for (Job &job : batch) {
      try {
        if (!job.verdict)
          job.verdict = execute(job);
      } catch (const fusec::Failure &failure) {
        job.verdict = failed(failure.message);
      }
      report(job);
      job.plan.reset();
      job.compilation.reset();
      job.planText.clear();
    }
  }
  llvm::outs() << llvm::formatv("{0} passed, {1} of them with the plan of "
                                "another; {2} failed; {3} kernels from {4} "
                                "variants of steps, {5} of them never run\n",
                                passes, same, failures, library.size(),
                                variants, unused);
  return failures == 0 && passes != 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("executes every emitted kernel on the CPU");
  app.add_option("cases", options.cases)->required();
  app.add_option("--mode", options.mode)
      ->check(CLI::IsMember({"static", "symbolic", "both"}));
  app.add_option("--fusion", options.fusion)
      ->check(CLI::IsMember({"on", "off", "both"}));
  app.add_option("--filter", options.filter)->type_name("REGEX");
  app.add_option("--arch", options.target);
  app.add_option("--compiler", options.compiler);
  app.add_option("--work", options.work);
  app.add_option("--jobs", options.jobs)->check(CLI::PositiveNumber);
  app.add_option("--schedule", options.schedule);
  app.add_flag("--unused", options.unused);
  CLI11_PARSE(app, argc, argv);
  return Suite(std::move(options)).run();
}
