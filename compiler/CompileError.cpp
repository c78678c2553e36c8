// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/CompileError.h"
#include "compiler/Remarks.h"
#include "compiler/codegen/nvrtc/Nvrtc.h"

using namespace mlir;
using namespace fusec;

char CompileError::ID = 0;

CompileError::CompileError(ErrorKind kind, std::string message,
                           std::string note)
    : kind(kind) {
  onnx::Problem problem;
  problem.message = std::move(message);
  problem.note = std::move(note);
  problems.push_back(std::move(problem));
}

void CompileError::log(llvm::raw_ostream &os) const {
  llvm::interleave(
      problems, os,
      [&](const onnx::Problem &problem) {
        os << problem.str();
        if (!problem.note.empty())
          os << " (" << problem.note << ")";
      },
      "\n");
}

ErrorKind fusec::getErrorKind(ArrayRef<onnx::Problem> problems) {
  auto isOption = [](const onnx::Problem &problem) {
    return problem.kind == onnx::ProblemKind::Option;
  };
  auto isLegal = [&](const onnx::Problem &problem) {
    return isOption(problem) || problem.kind == onnx::ProblemKind::Unsupported;
  };
  return llvm::all_of(problems, isOption)  ? ErrorKind::Usage
         : llvm::all_of(problems, isLegal) ? ErrorKind::Unsupported
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

onnx::Problem fusec::toProblem(Diagnostic &diagnostic) {
  onnx::Problem problem;
  problem.message = diagnostic.str();
  std::vector<std::string> names = getSourceNames(diagnostic.getLocation());
  if (!names.empty())
    problem.node = names.front();
  for (Diagnostic &note : diagnostic.getNotes())
    problem.note += (problem.note.empty() ? "" : "; ") + note.str();
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
  return llvm::make_error<CompileError>(kind, std::move(problems));
}
