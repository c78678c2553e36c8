// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/CompileError.h"
#include "compiler/Remarks.h"
#include "compiler/codegen/nvrtc/Nvrtc.h"

using namespace mlir;
using namespace fusec;

char CompileError::ID = 0;

/// What a problem is that nobody has said more of.
static ProblemKind getProblemKind(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Unsupported:
    return ProblemKind::Unsupported;
  case ErrorKind::Input:
  case ErrorKind::Toolchain:
    return ProblemKind::IO;
  case ErrorKind::Usage:
    return ProblemKind::Option;
  case ErrorKind::Internal:
    break;
  }
  return ProblemKind::Internal;
}

CompileError::CompileError(ErrorKind kind, std::string message,
                           std::string note)
    : kind(kind) {
  Problem problem;
  problem.kind = getProblemKind(kind);
  problem.message = std::move(message);
  problem.note = std::move(note);
  problems.push_back(std::move(problem));
}

void CompileError::log(llvm::raw_ostream &os) const {
  llvm::interleave(
      problems, os,
      [&](const Problem &problem) {
        os << problem.str();
        if (!problem.note.empty())
          os << " (" << problem.note << ")";
      },
      "\n");
}

ErrorKind fusec::getErrorKind(ArrayRef<Problem> problems) {
  auto isOption = [](const Problem &problem) {
    return problem.kind == ProblemKind::Option;
  };
  auto isLegal = [&](const Problem &problem) {
    return isOption(problem) || problem.kind == ProblemKind::Unsupported;
  };
  auto isInternal = [](const Problem &problem) {
    return problem.kind == ProblemKind::Internal;
  };
  return llvm::any_of(problems, isInternal) ? ErrorKind::Internal
         : llvm::all_of(problems, isOption) ? ErrorKind::Usage
         : llvm::all_of(problems, isLegal)  ? ErrorKind::Unsupported
                                            : ErrorKind::Input;
}

llvm::Error fusec::fromNvrtcError(llvm::Error error) {
  // Failures of several kernels come joined; one that is fusec's own is what
  // has to be reported.
  ErrorKind kind = ErrorKind::Toolchain;
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    if (info.isA<NvrtcError>() &&
        static_cast<const NvrtcError &>(info).getKind() ==
            NvrtcError::Kind::compilation)
      kind = ErrorKind::Internal;
    text += (text.empty() ? "" : "\n") + info.message();
  });
  return llvm::make_error<CompileError>(kind, std::move(text));
}

Problem fusec::toProblem(Diagnostic &diagnostic) {
  Problem problem;
  problem.message = printable(diagnostic.str());
  std::vector<std::string> names = getSourceNames(diagnostic.getLocation());
  if (!names.empty())
    problem.node = printable(names.front());
  for (Diagnostic &note : diagnostic.getNotes())
    problem.note += (problem.note.empty() ? "" : "; ") + printable(note.str());
  return problem;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        problems.push_back(toProblem(diagnostic));
        return success();
      }) {}

llvm::Error DiagnosticCollector::take(ErrorKind kind, StringRef what) {
  if (problems.empty())
    return llvm::make_error<CompileError>(
        kind, (what + " failed without saying why").str());
  for (Problem &problem : problems)
    problem.kind = getProblemKind(kind);
  return llvm::make_error<CompileError>(kind, std::move(problems));
}

WarningCollector::WarningCollector(MLIRContext &context,
                                   std::vector<std::string> &warnings)
    : handler(&context, [this, &warnings](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Warning)
          return failure();
        Problem problem = toProblem(diagnostic);
        // The same is said of one node after another.
        if (said.insert(problem.message).second)
          warnings.push_back(problem.str());
        return success();
      }) {}
