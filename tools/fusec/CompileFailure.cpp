// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/CompileFailure.h"

namespace fusec {

static ExitCode getExitCode(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Unsupported:
    return ExitCode::ModelNotSupported;
  case ErrorKind::Usage:
    return ExitCode::Usage;
  case ErrorKind::Input:
    return ExitCode::Input;
  case ErrorKind::Toolchain:
    return ExitCode::Toolchain;
  case ErrorKind::Internal:
    break;
  }
  return ExitCode::Internal;
}

static const char *getName(ProblemKind kind) {
  switch (kind) {
  case ProblemKind::Unsupported:
    return "unsupported";
  case ProblemKind::Malformed:
    return "malformed";
  case ProblemKind::Option:
    return "option";
  case ProblemKind::Internal:
    return "internal";
  case ProblemKind::IO:
    break;
  }
  return "unreadable";
}

/// What is wrong with the file, of all that is; nothing where the exit status
/// says it.
static std::string getInputKind(const CompileError &error) {
  if (error.getKind() != ErrorKind::Input)
    return "";
  return getName(llvm::any_of(error.getProblems(),
                              [](const Problem &problem) {
                                return problem.kind == ProblemKind::Malformed;
                              })
                     ? ProblemKind::Malformed
                     : ProblemKind::IO);
}

void failFor(const std::string &file, llvm::Error error) {
  Failure failure;
  failure.code = ExitCode::Internal;
  std::string &text = failure.message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &compileError) {
        failure.code = getExitCode(compileError.getKind());
        failure.kind = getInputKind(compileError);
        for (const Problem &problem : compileError.getProblems()) {
          failure.problems.push_back(
              {compileError.getKind() == ErrorKind::Toolchain
                   ? "toolchain"
                   : getName(problem.kind),
               problem.node, problem.opType, problem.message, problem.note});
          text += (text.empty() ? "" : "\n") + file + ": " + problem.str();
          if (!problem.note.empty())
            text += "\nnote: " + problem.note;
        }
        if (failure.code == ExitCode::Internal)
          text += "\nnote: this is a defect of fusec; please report it with "
                  "the model";
      },
      [&](const llvm::ErrorInfoBase &other) {
        text += file + ": " + other.message();
      });
  throw failure;
}

} // namespace fusec
