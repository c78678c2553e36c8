// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-node-suite: runs cases (a model, its inputs, the outputs that someone
// else computed) in one process.
//
//   fusec-node-suite CASES --device=reference|cuda|compile
//                    [--mode=static|symbolic|both] [--filter=REGEX]
//                    [--arch=T,T] [--shard=I/N] [--every-kernel]
//
// CASES/<name>/case.json is as generate.py states it. One JSON line a result:
//   {"test", "mode", "result": "pass"|"fail"|"refused", "message", "error",
//    "bound", "arch"}
// `reference` evaluates the model at every stage and prints its kernels; `cuda`
// compiles it for the device and runs it; `compile` compiles it for every
// target. Exits with 0 when all is as the cases expect, 77 without a device,
// else with 1.
//
// `compile` takes a batch's kernels by length, the longest first, and of them
// those with a statement that no kernel before has (Statements.h): sizes alone
// make no other code, and what holds most in registers is longest. Left out
// are other combinations of the same statements, which --every-kernel compiles
// too, and `cuda` always.

#include "runtime/src/Failure.h"
#include "test/gpu/Shard.h"
#include "test/onnx/Statements.h"
#include "test/onnx/Verdict.h"
#include "tools/fusec/DeviceRun.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/ReferenceRun.h"
#include "llvm/Support/JSON.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace fusec;

namespace {
struct Options {
  std::string cases, device = "reference", mode = "both", filter;
  std::vector<std::string> targets;
  Shard shard;
  bool everyKernel = false;
};

/// Cases whose kernels are compiled together, so that all cores are busy.
constexpr size_t batchSize = 128;

class Suite {
public:
  explicit Suite(Options options)
      : options(std::move(options)), compiler(KernelCompilerOptions()) {}
  int run();

private:
  /// A case in one of its modes, on its way through the compiler.
  struct Job {
    const SuiteCase *testCase;
    bool symbolic;
    std::unique_ptr<Compilation> compilation;
    size_t firstRequest = 0;
    std::optional<Verdict> verdict;
    size_t requests = 0;
  };

  void runBatch(llvm::MutableArrayRef<Job> jobs);
  void import(Job &job);
  void compileAll(llvm::MutableArrayRef<Job> jobs);
  llvm::Expected<std::vector<CompiledKernel>>
  compileNew(llvm::ArrayRef<CompileRequest> requests);
  Verdict execute(Job &job);
  Verdict runOnReference(Job &job);
  Verdict runOnDevice(Job &job);
  void report(const Job &job);

  Options options;
  KernelCompiler compiler;
  std::unique_ptr<rt::Device> device;
  std::vector<SuiteCase> cases;
  StatementSet statements;
  size_t compiled = 0, leftOut = 0;
  bool asExpected = true;
};
} // namespace

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void Suite::import(Job &job) {
  CompileOptions compileOptions;
  if (!options.targets.empty())
    compileOptions.targets = options.targets;
  compileOptions.refuseSpills = true;
  job.compilation = importCase(*job.testCase, job.symbolic,
                               std::move(compileOptions), job.verdict);
  if (!job.compilation)
    return;
  if (options.device != "reference")
    if (llvm::Error error = job.compilation->emit())
      job.verdict = fromError(std::move(error));
}

/// Those with a new statement; the others get an image without text, so that
/// their bundles are written all the same.
llvm::Expected<std::vector<CompiledKernel>>
Suite::compileNew(llvm::ArrayRef<CompileRequest> requests) {
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return requests[a].source.size() > requests[b].source.size();
  });
  std::vector<size_t> chosen;
  std::vector<CompileRequest> chosenRequests;
  std::vector<CompiledKernel> images(requests.size());
  for (size_t i : order) {
    const CompileRequest &request = requests[i];
    if (statements.add(request.source, request.target)) {
      chosen.push_back(i);
      chosenRequests.push_back(request);
      continue;
    }
    images[i].name = request.name;
    images[i].target = request.target;
    images[i].isPtx = request.target == "ptx";
  }
  compiled += chosen.size();
  leftOut += requests.size() - chosen.size();
  llvm::Expected<std::vector<CompiledKernel>> answers =
      compiler.compileAll(chosenRequests);
  if (!answers)
    return answers.takeError();
  for (auto [i, answer] : llvm::zip_equal(chosen, *answers))
    images[i] = std::move(answer);
  return images;
}

void Suite::compileAll(llvm::MutableArrayRef<Job> jobs) {
  std::vector<CompileRequest> requests;
  for (Job &job : jobs) {
    if (job.verdict)
      continue;
    job.firstRequest = requests.size();
    for (CompileRequest &request : job.compilation->getRequests())
      requests.push_back(std::move(request));
    job.requests = requests.size() - job.firstRequest;
  }
  bool isEvery = options.everyKernel || options.device != "compile";
  llvm::Expected<std::vector<CompiledKernel>> images =
      isEvery ? compiler.compileAll(requests) : compileNew(requests);
  if (!images)
    llvm::consumeError(images.takeError());
  for (Job &job : jobs) {
    if (job.verdict)
      continue;
    // A batch with a bad kernel is compiled again case by case, mostly from the
    // cache, to tell whose it is.
    llvm::Error error =
        images ? job.compilation->addImages(
                     {images->begin() + job.firstRequest,
                      images->begin() + job.firstRequest + job.requests})
               : job.compilation->compile(compiler);
    if (error)
      job.verdict = fromError(std::move(error));
  }
}

Verdict Suite::runOnReference(Job &job) {
  ModelOp model = job.compilation->getModel();
  std::vector<data::Tensor> inputs =
      readInputs(*job.testCase, getInterface(model));
  Verdict verdict;
  for (auto [stage, name] : {std::pair(Stage::Imported, "as imported"),
                             std::pair(Stage::Tensor, "after the tensor stage"),
                             std::pair(Stage::Products, "with contractions"),
                             std::pair(Stage::Fused, "after fusion"),
                             std::pair(Stage::Planned, "as planned")}) {
    if (llvm::Error error = job.compilation->advance(stage))
      return fromError(std::move(error));
    bool planned = stage == Stage::Planned;
    verdict = judge(
        *job.testCase,
        planned ? runReference(
                      *job.compilation->getModule().getOps<PlanOp>().begin(),
                      inputs)
                : runReference(job.compilation->getModel(), inputs));
    if (verdict.result == "pass")
      continue;
    verdict.message = std::string(name) + ": " + verdict.message;
    return verdict;
  }
  if (llvm::Error error = job.compilation->emit())
    return fromError(std::move(error));
  return verdict;
}

Verdict Suite::runOnDevice(Job &job) {
  llvm::Expected<const NvrtcIdentity &> identity = compiler.getIdentity();
  if (!identity)
    return fromError(identity.takeError());
  llvm::Expected<std::string> bundle =
      job.compilation->getBundle(identity->version);
  if (!bundle)
    return fromError(bundle.takeError());
  if (!device)
    return {"pass", ""};
  std::vector<data::Tensor> inputs =
      readInputs(*job.testCase, getInterface(job.compilation->getModel()));
  DeviceRun run(DeviceRun::loadBytes(*bundle, device->ordinal()), *device);
  return judge(*job.testCase, run.run(inputs));
}

Verdict Suite::execute(Job &job) {
  try {
    return options.device == "reference" ? runOnReference(job)
                                         : runOnDevice(job);
  } catch (const fusec::Failure &failure) {
    return failed(failure.message);
  } catch (const rt::Failure &failure) {
    return failed(failure.message);
  } catch (const fusec::Error &error) {
    return failed(error.what());
  }
}

void Suite::report(const Job &job) {
  const Verdict &verdict = *job.verdict;
  bool good = verdict.result == (job.testCase->expectPass ? "pass" : "refused");
  asExpected &= good;
  llvm::json::Object line{{"test", job.testCase->name},
                          {"mode", job.symbolic ? "symbolic" : "static"},
                          {"result", verdict.result}};
  if (!verdict.message.empty())
    line["message"] = llvm::json::fixUTF8(verdict.message);
  if (verdict.measured) {
    line["error"] =
        std::isfinite(verdict.error) ? llvm::json::Value(verdict.error) : 1e300;
    line["bound"] = verdict.bound;
  }
  if (device)
    line["arch"] = options.targets.front();
  llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  llvm::outs().flush();
}

void Suite::runBatch(llvm::MutableArrayRef<Job> jobs) {
  for (Job &job : jobs)
    import(job);
  if (options.device != "reference")
    compileAll(jobs);
  for (Job &job : jobs) {
    if (!job.verdict)
      job.verdict = execute(job);
    report(job);
    job.compilation.reset();
  }
}

int Suite::run() {
  std::string error;
  cases = readSuite(options.cases, options.filter, error);
  if (!error.empty()) {
    llvm::errs() << error << "\n";
    return 1;
  }
  if (options.device == "cuda") {
    std::string reason;
    std::optional<DeviceInfo> info = findDevice(0, reason);
    if (!info) {
      llvm::errs() << "no device: " << reason << "\n";
      return 77;
    }
    if (options.targets.empty())
      options.targets = {info->target};
    device = std::make_unique<rt::Device>(nullptr, 0);
  }
  // One plan is enough for the reference: targets differ in schedules alone.
  if (options.device == "reference" && options.targets.empty())
    options.targets = {"sm_90a"};
  std::vector<Job> jobs;
  for (const SuiteCase &testCase : cases) {
    if (!options.shard.has(testCase.name))
      continue;
    if (options.mode != "symbolic")
      jobs.push_back({&testCase, false, nullptr, 0, std::nullopt});
    if (options.mode != "static" && testCase.symbolicModel)
      jobs.push_back({&testCase, true, nullptr, 0, std::nullopt});
  }
  size_t step = options.device == "reference" ? 1 : batchSize;
  for (size_t i = 0; i < jobs.size(); i += step)
    runBatch(
        llvm::MutableArrayRef(jobs).slice(i, std::min(step, jobs.size() - i)));
  if (compiled)
    llvm::errs() << compiled << " kernels compiled, " << leftOut
                 << " of the same statements left out\n";
  return asExpected ? 0 : 1;
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app("runs node cases by the reference, on a device, or compiles");
  app.add_option("cases", options.cases)->required();
  app.add_option("--device", options.device)
      ->check(CLI::IsMember({"reference", "cuda", "compile"}));
  app.add_option("--mode", options.mode)
      ->check(CLI::IsMember({"static", "symbolic", "both"}));
  app.add_option("--filter", options.filter)->type_name("REGEX");
  app.add_option("--arch", options.targets)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--shard",
         [&](const std::string &text) {
           std::optional<Shard> shard = Shard::parse(text);
           if (!shard)
             throw CLI::ValidationError("--shard", "expected I/N with I < N");
           options.shard = *shard;
         },
         "of N processes that share the cases, the I-th, from 0")
      ->type_name("I/N");
  app.add_flag("--every-kernel", options.everyKernel,
               "compile those of known statements, too");
  CLI11_PARSE(app, argc, argv);
  return Suite(std::move(options)).run();
}
