// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec compile: a model to a bundle, or to any form on the way.

#include "compiler/codegen/Leads.h"
#include "tools/fusec/DumpCuda.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/WriteFile.h"
#include "tools/support/Table.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace fusec;

namespace {
struct CompileCommand {
  ModelOptions options;
  std::string output, emit = "bundle", dumpFolder;
  bool quiet = false;

  void addTo(CLI::App &app);
  void run();

private:
  void write(llvm::function_ref<void(llvm::raw_ostream &)> print) const;
  void checkOutput(llvm::ArrayRef<std::string> inputs) const;
  std::string getBundlePath() const;
  void summarize(const Compilation &compilation, const NvrtcVersion &nvrtc,
                 std::chrono::duration<double> time) const;
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
  std::string path = emit == "bundle" ? getBundlePath() : output;
  for (const std::string &input : inputs)
    if (llvm::sys::fs::equivalent(path, input))
      fail(ExitCode::Usage,
           "--output: '" + path + "' is also read; expected another file");
}

std::string CompileCommand::getBundlePath() const {
  return output.empty() ? llvm::sys::path::stem(options.model).str() + ".fusec"
                        : output;
}

void CompileCommand::summarize(const Compilation &compilation,
                               const NvrtcVersion &nvrtc,
                               std::chrono::duration<double> time) const {
  std::string path = getBundlePath();
  uint64_t size = 0;
  (void)llvm::sys::fs::file_size(path, size);
  std::string plans;
  for (const EmittedPlan &plan : compilation.getKernels().getPlans())
    plans += (plans.empty() ? "" : ", ") +
             PlanOp(plan.plan).getSymName().str() + ": " +
             std::to_string(countKernels(plan.plan));
  llvm::errs() << llvm::formatv(
      "{0}: {1}, kernels a run: {2}; {3:f2} s, NVRTC {4}\n", path,
      formatBytes(size), plans, time.count(), nvrtc.str());
}

void CompileCommand::run() {
  auto start = std::chrono::steady_clock::now();
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
  Stage stage = emit == "tensor"  ? Stage::Tensor
                : emit == "fused" ? Stage::Fused
                                  : Stage::Planned;
  advanceModel(options.model, *compilation, stage);
  if (stage == Stage::Planned)
    noteTuning(options.tuning, *compilation);
  if (emit == "tensor" || emit == "fused" || emit == "planned") {
    printWarnings(*compilation);
    write(
        [&](llvm::raw_ostream &os) { os << compilation->getModule() << "\n"; });
    return;
  }
  if (llvm::Error error = compilation->emit())
    failFor(options.model, std::move(error));
  auto dump = [&] {
    if (!dumpFolder.empty())
      dumpCuda(compilation->getKernels().getKernels(), dumpFolder);
  };
  if (emit == "cuda") {
    printWarnings(*compilation);
    dump();
    write([&](llvm::raw_ostream &os) {
      for (const EmittedKernel &kernel : compilation->getKernels().getKernels())
        os << "// " << kernel.symbol << " for " << kernel.target << "\n"
           << getText(kernel) << "\n";
    });
    return;
  }
  bool isStream = output == "-";
  if (emit == "bundle" && !isStream)
    if (llvm::Error error = compilation->beginBundle(getBundlePath()))
      failFor(options.model, std::move(error));
  KernelCompiler compiler(options.getCompilerOptions());
  compileModel(options.model, *compilation, compiler, quiet);
  dump();
  if (emit == "ptx") {
    write([&](llvm::raw_ostream &os) {
      for (const CompiledKernel *image : compilation->getImages())
        os << image->image << "\n";
    });
    return;
  }
  const NvrtcVersion &nvrtc = getNvrtc(compiler).version;
  if (isStream) {
    llvm::Expected<std::string> bytes = compilation->getBundle(nvrtc);
    if (!bytes)
      failFor(options.model, bytes.takeError());
    llvm::outs() << *bytes;
    return;
  }
  if (llvm::Error error = compilation->finishBundle(nvrtc))
    failFor(options.model, std::move(error));
  if (!quiet)
    summarize(*compilation, nvrtc, std::chrono::steady_clock::now() - start);
}

void fusec::addCompile(CLI::App &tool) {
  addCommand<CompileCommand>(
      tool, "compile", "Compiles a model into a bundle.",
      "  fusec compile model.onnx -o model.fusec\n"
      "  fusec compile model.onnx --arch=sm_90a,ptx --dim batch=2048\n"
      "  fusec compile model.onnx --tuning=tuning.json\n"
      "  fusec compile model.onnx --emit=cuda -o -\n"
      "  fusec compile model.onnx --adapter up=lora_A,lora_B --max-rank=16\n"
      "  fusec compile model.onnx -o model.fusec --dump-cuda=cuda/\n");
}
