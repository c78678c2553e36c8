// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Report.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;

/// Fields may be added under one number; none changes its meaning.
static constexpr int schemaVersion = 1;

Report::Report(llvm::ArrayRef<char *> arguments) {
  // What follows is no option.
  auto end = llvm::find(arguments, llvm::StringRef("--"));
  json = std::find(arguments.begin(), end, llvm::StringRef("--json")) != end;
}

void Report::say(const char *kind, const std::string &text) {
  if (json)
    warnings.push_back(text);
  else
    llvm::errs() << kind << ": " << text << "\n";
}

/// Texts that are the value's own.
static void ownTexts(llvm::json::Value &value) {
  if (auto text = value.getAsString()) {
    value = text->str();
  } else if (llvm::json::Array *array = value.getAsArray()) {
    for (llvm::json::Value &element : *array)
      ownTexts(element);
  } else if (llvm::json::Object *object = value.getAsObject()) {
    for (auto &[key, element] : *object)
      ownTexts(element);
  }
}

void Report::setResult(llvm::json::Object object) {
  for (auto &[key, element] : object)
    ownTexts(element);
  result = std::move(object);
}

static llvm::StringRef getKind(ExitCode code) {
  switch (code) {
  case ExitCode::Done:
    break;
  case ExitCode::ModelNotSupported:
    return "unsupported";
  case ExitCode::Usage:
    return "usage";
  case ExitCode::Input:
    return "input";
  case ExitCode::Toolchain:
    return "toolchain";
  case ExitCode::VerificationFailed:
    return "verification";
  case ExitCode::Internal:
    return "internal";
  }
  return "done";
}

static llvm::json::Object failureToJson(const Failure &failure) {
  return llvm::json::Object{
      {"kind", failure.kind.empty() ? getKind(failure.code) : failure.kind},
      {"exit_code", static_cast<int>(failure.code)},
      {"message", jsonText(failure.message)},
      {"problems",
       jsonArray(failure.problems, [](const FailureProblem &problem) {
         return llvm::json::Object{{"kind", problem.kind},
                                   {"node", jsonText(problem.node)},
                                   {"operator", jsonText(problem.opType)},
                                   {"message", jsonText(problem.message)},
                                   {"note", jsonText(problem.note)}};
       })}};
}

void Report::printObject(const Failure &failure, const std::string &command,
                         const std::string &model) {
  auto textOrNull = [](const std::string &text) {
    return text.empty() ? llvm::json::Value(nullptr)
                        : llvm::json::Value(jsonText(text));
  };
  llvm::json::Object object{
      {"fusec", llvm::json::Object{{"version", FUSEC_VERSION},
                                   {"schema", schemaVersion}}},
      {"command", textOrNull(command)},
      {"model", textOrNull(model)},
      {"warnings", jsonTexts(warnings)}};
  if (result)
    object["result"] = std::move(*result);
  if (failure.code != ExitCode::Done)
    object["error"] = failureToJson(failure);
  llvm::outs() << llvm::formatv("{0:2}\n",
                                llvm::json::Value(std::move(object)));
}

static void printMessage(llvm::StringRef message) {
  // Each line of several problems says which it is.
  llvm::SmallVector<llvm::StringRef> lines;
  message.split(lines, '\n');
  for (llvm::StringRef line : lines)
    llvm::errs() << (line.starts_with("note: ") || line.starts_with(" ")
                         ? ""
                         : "error: ")
                 << line << "\n";
}

int Report::finish(Failure failure, const std::string &command,
                   const std::string &model) {
  if (json)
    printObject(failure, command, model);
  if (!flushOutput())
    failure.code = ExitCode::Input;
  if (!json && !failure.message.empty())
    printMessage(failure.message);
  return static_cast<int>(failure.code);
}
