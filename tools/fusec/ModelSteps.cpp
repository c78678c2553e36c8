// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ModelSteps.h"
#include "tools/fusec/CompileFailure.h"
#include "tools/support/Progress.h"

namespace fusec {

std::unique_ptr<Compilation> importModel(const std::string &file,
                                         CompileOptions options) {
  auto compilation = Compilation::importFile(file, std::move(options));
  if (!compilation)
    failFor(file, compilation.takeError());
  return std::move(*compilation);
}

void advanceModel(const std::string &file, Compilation &compilation,
                  Stage stage) {
  if (llvm::Error error = compilation.advance(stage))
    failFor(file, std::move(error));
}

void advanceForReference(const std::string &file, Compilation &compilation) {
  if (compilation.getOptions().narrowsProducts())
    advanceModel(file, compilation, Stage::Products);
  else if (compilation.getOptions().tableType != TableType::Model)
    advanceModel(file, compilation, Stage::Tensor);
}

const NvrtcIdentity &getNvrtc(KernelCompiler &compiler) {
  llvm::Expected<const NvrtcIdentity &> identity = compiler.getIdentity();
  if (!identity)
    failFor("nvrtc", fromNvrtcError(identity.takeError()));
  return *identity;
}

void reportWarnings(const Compilation &compilation, Report &report) {
  for (const std::string &warning : compilation.getWarnings())
    report.warn(warning);
}

void reportWarnings(KernelCompiler &compiler, Report &report) {
  for (const std::string &warning : compiler.takeWarnings())
    report.warn(warning);
}

void compileModel(const std::string &file, Compilation &compilation,
                  KernelCompiler &compiler, bool quiet, Report &report) {
  if (llvm::Error error = compilation.emit())
    failFor(file, std::move(error));
  const NvrtcIdentity &nvrtc = getNvrtc(compiler);
  reportWarnings(compiler, report);
  for (const std::string &target : compilation.getOptions().targets)
    if (llvm::Error error = checkTarget(target, nvrtc))
      failFor(file, fromNvrtcError(std::move(error)));
  size_t count = compilation.getKernels().getKernels().size();
  {
    Progress progress("compiling kernels", count, quiet);
    llvm::Error error = compilation.compile(
        compiler, [&](size_t, size_t, const CompiledKernel &kernel) {
          progress.step(kernel.name + " for " + kernel.target);
        });
    if (error)
      failFor(file, std::move(error));
  }
  reportWarnings(compiler, report);
  reportWarnings(compilation, report);
}

} // namespace fusec
