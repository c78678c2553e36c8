// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a model did not compile: whose fault it is, and every problem found.

#ifndef FUSEC_COMPILER_COMPILEERROR_H
#define FUSEC_COMPILER_COMPILEERROR_H

#include "ir/Problem.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace fusec {

enum class ErrorKind {
  Unsupported, // a sound model that fusec does not compile
  Input,       // a file that is malformed or cannot be read
  Toolchain,   // NVRTC is missing, or does not know the target
  Internal,    // a defect of fusec
  Usage        // options that do not fit the model
};

class CompileError : public llvm::ErrorInfo<CompileError> {
public:
  static char ID;

  CompileError(ErrorKind kind, ProblemList problems)
      : kind(kind), problems(std::move(problems)) {}
  CompileError(ErrorKind kind, std::string message, std::string note = "");

  ErrorKind getKind() const { return kind; }
  llvm::ArrayRef<Problem> getProblems() const { return problems; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  ErrorKind kind;
  ProblemList problems;
};

/// Of the worst problem: a malformed model counts as such whatever else it
/// does that is not supported.
ErrorKind getErrorKind(llvm::ArrayRef<Problem> problems);

/// The error of the NVRTC driver, in these terms.
llvm::Error fromNvrtcError(llvm::Error error);

/// What a pass or the importer says, with its notes, of the node it is about.
Problem toProblem(mlir::Diagnostic &diagnostic);

/// Collects errors of a context as problems, while it lives; what is not an
/// error passes on.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);

  bool any() const { return !problems.empty(); }
  /// All errors so far, or a message that `what` failed without one.
  llvm::Error take(ErrorKind kind, llvm::StringRef what);

private:
  ProblemList problems;
  mlir::ScopedDiagnosticHandler handler;
};

/// Collects warnings of a context as text, each once, while it lives; what is
/// no warning passes on.
class WarningCollector {
public:
  WarningCollector(mlir::MLIRContext &context,
                   std::vector<std::string> &warnings);

private:
  llvm::StringSet<> said;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace fusec

#endif // FUSEC_COMPILER_COMPILEERROR_H
