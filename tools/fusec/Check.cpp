// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec check: whether a model compiles, and everything that stands against it.

#include "tools/fusec/ModelOptions.h"
#include "llvm/Support/JSON.h"

using namespace fusec;

namespace {
struct CheckCommand {
  ModelOptions options;
  bool json = false;

  void addTo(CLI::App &app);
  void run();

private:
  void printJson(llvm::ArrayRef<onnx::Problem> problems,
                 llvm::ArrayRef<std::string> warnings = {}) const;
};
} // namespace

void CheckCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/false);
  app.add_flag("--json", json, "the problems as JSON, on stdout");
}

static llvm::StringRef getName(onnx::ProblemKind kind) {
  switch (kind) {
  case onnx::ProblemKind::Unsupported:
    return "unsupported";
  case onnx::ProblemKind::Malformed:
    return "malformed";
  case onnx::ProblemKind::Option:
    return "option";
  case onnx::ProblemKind::Internal:
    return "internal";
  case onnx::ProblemKind::IO:
    break;
  }
  return "unreadable";
}

void CheckCommand::printJson(llvm::ArrayRef<onnx::Problem> problems,
                             llvm::ArrayRef<std::string> warnings) const {
  llvm::json::Array list;
  auto text = [](const std::string &value) {
    return llvm::json::fixUTF8(value);
  };
  for (const onnx::Problem &problem : problems)
    list.push_back(llvm::json::Object{{"kind", getName(problem.kind)},
                                      {"node", text(problem.node)},
                                      {"operator", text(problem.opType)},
                                      {"message", text(problem.message)},
                                      {"note", text(problem.note)}});
  llvm::json::Array notes;
  for (const std::string &warning : warnings)
    notes.push_back(text(warning));
  llvm::outs() << llvm::formatv(
      "{0:2}\n",
      llvm::json::Value(llvm::json::Object{{"model", text(options.model)},
                                           {"supported", problems.empty()},
                                           {"problems", std::move(list)},
                                           {"warnings", std::move(notes)}}));
}

void CheckCommand::run() {
  auto compilation =
      Compilation::importFile(options.model, options.getOptions());
  llvm::Error error =
      compilation ? (*compilation)->emit() : compilation.takeError();
  if (!error) {
    if (json) {
      printJson({}, (*compilation)->getWarnings());
      return;
    }
    printWarnings(**compilation);
    llvm::outs() << options.model << ": supported\n";
    return;
  }
  if (!json)
    failFor(options.model, std::move(error));
  ExitCode code = ExitCode::Internal;
  llvm::handleAllErrors(std::move(error),
                        [&](const CompileError &compileError) {
                          printJson(compileError.getProblems());
                          code = getExitCode(compileError.getKind());
                        });
  fail(code, "");
}

void fusec::addCheck(CLI::App &tool) {
  addCommand<CheckCommand>(
      tool, "check",
      "Says whether a model is supported, and all that stands against it.",
      "  fusec check model.onnx\n"
      "  fusec check model.onnx --json\n");
}
