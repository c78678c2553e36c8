// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec check: whether a model compiles, and everything that stands against it.

#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ModelSteps.h"

using namespace fusec;

namespace {
struct CheckCommand {
  ModelOptions options;

  void addTo(CLI::App &app) { options.addTo(app, /*compilesKernels=*/false); }
  void run(Report &report);

private:
  std::unique_ptr<Compilation> compile() const;
};
} // namespace

/// Up to the kernels' text, or throws Failure.
std::unique_ptr<Compilation> CheckCommand::compile() const {
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, options.getOptions());
  if (llvm::Error error = compilation->emit())
    failFor(options.model, std::move(error));
  return compilation;
}

void CheckCommand::run(Report &report) {
  try {
    std::unique_ptr<Compilation> compilation = compile();
    reportWarnings(*compilation, report);
  } catch (const Failure &failure) {
    // Of a file that is malformed, or options that do not fit, nobody knows.
    if (failure.code == ExitCode::ModelNotSupported)
      report.setResult(llvm::json::Object{{"supported", false}});
    throw;
  }
  report.setResult(llvm::json::Object{{"supported", true}});
  if (!report.isJson())
    llvm::outs() << options.model << ": supported\n";
}

void fusec::addCheck(CLI::App &tool, Report &report) {
  addCommand<CheckCommand>(
      tool, report, "check",
      "Says whether a model is supported, and all that stands against it.",
      "  fusec check model.onnx\n"
      "  fusec check model.onnx --json\n");
}
