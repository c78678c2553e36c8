// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an error and its problems are called must not differ: a defect of the
// compiler is never the model's fault.

#include "compiler/CompileError.h"
#include "ir/FusecOps.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

using namespace fusec;

static ProblemKind getKind(llvm::Error error) {
  ProblemKind kind = ProblemKind::Option;
  llvm::handleAllErrors(std::move(error), [&](const CompileError &failure) {
    kind = failure.getProblems().front().kind;
  });
  return kind;
}

TEST(CompileError, ProblemsAreOfTheErrorsKind) {
  for (auto [error, problem] :
       {std::pair(ErrorKind::Internal, ProblemKind::Internal),
        std::pair(ErrorKind::Unsupported, ProblemKind::Unsupported),
        std::pair(ErrorKind::Input, ProblemKind::IO)}) {
    EXPECT_EQ(getKind(llvm::make_error<CompileError>(error, "text")), problem);
    mlir::MLIRContext context;
    DiagnosticCollector diagnostics(context);
    EXPECT_EQ(getKind(diagnostics.take(error, "a pass")), problem);
    mlir::emitError(mlir::UnknownLoc::get(&context), "text");
    EXPECT_EQ(getKind(diagnostics.take(error, "a pass")), problem);
  }
}

TEST(CompileError, OneInternalProblemIsEnough) {
  ProblemList problems(2);
  problems[0].kind = ProblemKind::Malformed;
  problems[1].kind = ProblemKind::Internal;
  EXPECT_EQ(getErrorKind(problems), ErrorKind::Internal);
}

TEST(CompileError, NamesArePrintable) {
  mlir::MLIRContext context;
  DiagnosticCollector diagnostics(context);
  mlir::emitError(
      mlir::NameLoc::get(mlir::StringAttr::get(&context, "a\x1b[31m")))
      << "text\nof two lines";
  EXPECT_EQ(llvm::toString(diagnostics.take(ErrorKind::Internal, "a pass")),
            "node 'a\\x1b[31m': text\\x0aof two lines");
}

TEST(CompileError, WarningsAreSaidOnce) {
  mlir::MLIRContext context;
  std::vector<std::string> warnings;
  WarningCollector collector(context, warnings);
  for (const char *text : {"one", "two", "one"})
    mlir::emitWarning(mlir::UnknownLoc::get(&context), text);
  EXPECT_EQ(warnings, (std::vector<std::string>{"one", "two"}));
}
