// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec compile: a model to a bundle, or to any form on the way.

#include "compiler/analysis/Leads.h"
#include "runtime/src/Lap.h"
#include "tools/fusec/DumpCuda.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/fusec/WriteFile.h"
#include "tools/support/Table.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fmt/core.h>

using namespace fusec;

namespace {
struct CompileCommand {
  ModelOptions options;
  std::string output, emit = "bundle", dumpFolder;
  bool quiet = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  void write(llvm::function_ref<void(llvm::raw_ostream &)> print) const;
  void checkOutput(llvm::ArrayRef<std::string> inputs) const;
  /// Of what is written; empty: stdout.
  std::string getPath() const;
  /// Of the file that was written; kernels follow where NVRTC made them.
  llvm::json::Object toJson() const;
  void print(const Compilation &compilation, const NvrtcVersion &nvrtc) const;

  void endStage(const char *name) {
    times.emplace_back(name, lap.next() / 1000);
  }
  double getTime() const;

  rt::Lap lap;
  /// Stages and their seconds.
  std::vector<std::pair<const char *, double>> times;
};
} // namespace

void CompileCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  options.addArch(app);
  options.addTuning(app);
  options.addReplaceable(app);
  app.add_option("-o,--output", output,
                 "where to write; '-' is stdout. Default: MODEL.fusec for a "
                 "bundle, else stdout")
      ->type_name("FILE");
  app.add_option("--emit", emit,
                 "what to write: tensor, fused, planned, cuda, ptx or bundle")
      ->check(CLI::IsMember(
          {"tensor", "fused", "planned", "cuda", "ptx", "bundle"}));
  app.add_option("--dump-cuda", dumpFolder,
                 "also write one .cu a kernel, which nvcc compiles alone")
      ->type_name("DIR");
  app.add_flag("-q,--quiet", quiet, "no progress, no summary");
}

void CompileCommand::write(
    llvm::function_ref<void(llvm::raw_ostream &)> print) const {
  if (output.empty() || output == "-")
    print(llvm::outs());
  else
    writeFile(output, print);
}

/// What the compilation reads is not to be replaced by its result.
void CompileCommand::checkOutput(llvm::ArrayRef<std::string> inputs) const {
  std::string path = getPath();
  for (const std::string &input : inputs)
    if (llvm::sys::fs::equivalent(path, input))
      fail(ExitCode::Usage,
           fmt::format("--output: '{}' is also read; expected another file",
                       path));
}

std::string CompileCommand::getPath() const {
  return output.empty() && emit == "bundle"
             ? llvm::sys::path::stem(options.model).str() + ".fusec"
             : output;
}

double CompileCommand::getTime() const {
  double sum = 0;
  for (const auto &[name, seconds] : times)
    sum += seconds;
  return sum;
}

static uint64_t getFileSize(const std::string &path) {
  uint64_t size = 0;
  (void)llvm::sys::fs::file_size(path, size);
  return size;
}

void CompileCommand::print(const Compilation &compilation,
                           const NvrtcVersion &nvrtc) const {
  std::string plans;
  for (const EmittedPlan &plan : compilation.getKernels().getPlans())
    plans +=
        fmt::format("{}{}: {}", plans.empty() ? "" : ", ",
                    PlanOp(plan.plan).getSymName(), countKernels(plan.plan));
  llvm::errs() << fmt::format("{}: {}, kernels a run: {}; {:.2f} s, NVRTC {}\n",
                              getPath(), formatBytes(getFileSize(getPath())),
                              plans, getTime(), nvrtc.str());
}

static llvm::json::Object toJson(const EmittedPlan &plan) {
  return llvm::json::Object{{"target", PlanOp(plan.plan).getSymName()},
                            {"steps", plan.steps.size()},
                            {"kernels_a_run", countKernels(plan.plan)}};
}

static llvm::json::Object toJson(const CompiledKernel &kernel) {
  return llvm::json::Object{
      {"name", kernel.name},
      {"target", kernel.target},
      {"form", kernel.isPtx ? "ptx" : "cubin"},
      {"bytes", kernel.image.size()},
      {"from_cache", kernel.fromCache},
      {"functions", jsonArray(kernel.kernels, [](const KernelUsage &usage) {
         return llvm::json::Object{{"symbol", usage.symbol},
                                   {"registers", usage.registers},
                                   {"spill_bytes", usage.spillBytes},
                                   {"stack_bytes", usage.stackBytes},
                                   {"shared_bytes", usage.sharedBytes}};
       })}};
}

llvm::json::Object CompileCommand::toJson() const {
  llvm::json::Object seconds{{"total", getTime()}};
  for (const auto &[name, time] : times)
    seconds[name] = time;
  return llvm::json::Object{{"output", jsonText(getPath())},
                            {"emit", emit},
                            {"bytes", getFileSize(getPath())},
                            {"seconds", std::move(seconds)}};
}

static void addKernels(const Compilation &compilation,
                       const NvrtcVersion &nvrtc, llvm::json::Object &result) {
  std::vector<const CompiledKernel *> images = compilation.getImages();
  result["nvrtc"] = nvrtc.str();
  result["plans"] =
      jsonArray(compilation.getKernels().getPlans(),
                [](const EmittedPlan &plan) { return toJson(plan); });
  result["kernels"] = jsonArray(
      images, [](const CompiledKernel *image) { return toJson(*image); });
  result["from_cache"] = llvm::count_if(
      images, [](const CompiledKernel *image) { return image->fromCache; });
}

void CompileCommand::run(Report &report) {
  lap.next();
  bool isStream = getPath().empty() || output == "-";
  if (report.isJson() && isStream)
    fail(ExitCode::Usage, "--json: expected --output with a file for what "
                          "--emit asks for, as the report is on stdout");
  CompileOptions compileOptions = options.getOptions();
  if (emit == "ptx") {
    if (options.hasArch() &&
        compileOptions.targets != std::vector<std::string>{"ptx"})
      fail(ExitCode::Usage, "--emit=ptx: expected no --arch but ptx");
    compileOptions.targets = {"ptx"};
  }
  checkOutput(options.getFiles());
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, compileOptions);
  checkOutput(compilation->getDataFiles());
  endStage("import");
  Stage stage = emit == "tensor"  ? Stage::Tensor
                : emit == "fused" ? Stage::Fused
                                  : Stage::Planned;
  advanceModel(options.model, *compilation, stage);
  endStage("plan");
  if (stage == Stage::Planned)
    noteTuning(options.tuning, *compilation, report);
  if (emit == "tensor" || emit == "fused" || emit == "planned") {
    reportWarnings(*compilation, report);
    write(
        [&](llvm::raw_ostream &os) { os << compilation->getModule() << "\n"; });
    endStage("write");
    report.setResult(toJson());
    return;
  }
  if (llvm::Error error = compilation->emit())
    failFor(options.model, std::move(error));
  endStage("emit");
  auto dump = [&] {
    if (!dumpFolder.empty())
      dumpCuda(compilation->getKernels().getKernels(), dumpFolder);
  };
  if (emit == "cuda") {
    reportWarnings(*compilation, report);
    dump();
    write([&](llvm::raw_ostream &os) {
      for (const EmittedKernel &kernel : compilation->getKernels().getKernels())
        os << "// " << kernel.symbol << " for " << kernel.target << "\n"
           << getText(kernel) << "\n";
    });
    endStage("write");
    report.setResult(toJson());
    return;
  }
  if (emit == "bundle" && !isStream)
    if (llvm::Error error = compilation->beginBundle(getPath()))
      failFor(options.model, std::move(error));
  KernelCompiler compiler(options.getCompilerOptions());
  compileModel(options.model, *compilation, compiler, quiet, report);
  endStage("kernels");
  dump();
  const NvrtcVersion &nvrtc = getNvrtc(compiler).version;
  if (emit == "ptx") {
    write([&](llvm::raw_ostream &os) {
      for (const CompiledKernel *image : compilation->getImages())
        os << image->image << "\n";
    });
  } else if (isStream) {
    llvm::Expected<std::string> bytes = compilation->getBundle(nvrtc);
    if (!bytes)
      failFor(options.model, bytes.takeError());
    llvm::outs() << *bytes;
  } else if (llvm::Error error = compilation->finishBundle(nvrtc)) {
    failFor(options.model, std::move(error));
  }
  endStage("write");
  if (report.isJson()) {
    llvm::json::Object result = toJson();
    addKernels(*compilation, nvrtc, result);
    report.setResult(std::move(result));
  } else if (!quiet && emit == "bundle" && !isStream) {
    print(*compilation, nvrtc);
  }
}

void fusec::addCompile(CLI::App &tool, Report &report) {
  addCommand<CompileCommand>(
      tool, report, "compile", "Compiles a model into a bundle.",
      "  fusec compile model.onnx -o model.fusec\n"
      "  fusec compile model.onnx --arch=sm_90a,ptx --dim batch=2048\n"
      "  fusec compile model.onnx --tuning=tuning.json\n"
      "  fusec compile model.onnx --emit=cuda -o -\n"
      "  fusec compile model.onnx --adapter up=lora_A,lora_B --max-rank=16\n"
      "  fusec compile model.onnx -o model.fusec --dump-cuda=cuda/\n");
}
