// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler reads: models, tuning files and expressions.

#include "compiler/Compiler.h"
#include "frontends/onnx/proto/onnx.pb.h"
#include "test/fuzz/ExprTarget.h"
#include "test/fuzz/JsonMutator.h"
#include "test/fuzz/ModelMutator.h"
#include "test/fuzz/TunedModel.h"

using namespace fusec;
using namespace fusec::fuzz;

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static llvm::StringRef toStringRef(std::string_view text) {
  return {text.data(), text.size()};
}

static void checkMessage(const fusec::Problem &problem) {
  if (problem.message.empty())
    fail("a problem without a message");
}

static void importModel(std::string_view bytes) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  fusec::ProblemList problems;
  auto module = fusec::onnx::importOnnx(
      toStringRef(bytes), fusec::onnx::ImportOptions(), context, problems);
  if (mlir::failed(module) == problems.empty())
    fail("problems of a model that was imported, or none of one that was not");
  for (const fusec::Problem &problem : problems)
    checkMessage(problem);
}

/// Ends the process where the compiler found a defect of itself; else drops
/// the error.
static void expectNoDefect(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [](const CompileError &failure) {
    if (failure.getProblems().empty())
      fail("an error without a problem");
    if (failure.getKind() == ErrorKind::Internal)
      fail("internal error: " + failure.getProblems().front().message);
    for (const fusec::Problem &problem : failure.getProblems())
      checkMessage(problem);
  });
}

/// Options as words: "sm_80 tf32 onnx". Words that say nothing are passed over.
static CompileOptions getOptions(llvm::StringRef text) {
  CompileOptions options;
  options.targets = {"sm_90a"};
  for (llvm::StringRef word : llvm::split(text, ' ')) {
    if (word.starts_with("sm_") || word == "ptx")
      options.targets = {word == "sm_80" || word == "ptx" ? word.str()
                                                          : "sm_90a"};
    else if (word == "onnx")
      options.numerics = Numerics::Onnx;
    else if (auto precision = symbolizePrecision(word))
      options.precision = *precision;
    else if (word == "clamp")
      options.gatherPolicy = IndexPolicy::Clamp;
    else if (word == "replaceable")
      options.replaceable = {"*"};
    else if (word == "nofuse")
      options.fuse = false;
    else if (word == "join")
      options.joinAlways = true;
  }
  return options;
}

static void compileModel(std::string_view bytes) {
  ::onnx::ModelProto model;
  // Options ride in the producer's name, so that one file is a whole case.
  if (!model.ParsePartialFromArray(bytes.data(), int(bytes.size())))
    model.Clear();
  auto compilation = Compilation::importBytes(
      toStringRef(bytes), getOptions(model.producer_name()));
  expectNoDefect(compilation ? (*compilation)->emit()
                             : compilation.takeError());
}

//===----------------------------------------------------------------------===//
// Tuning files
//===----------------------------------------------------------------------===//

static void readTuning(std::string_view text) {
  llvm::Expected<TuningFile> file = TuningFile::parse(toStringRef(text));
  if (!file) {
    if (llvm::toString(file.takeError()).empty())
      fail("a tuning file was refused without a reason");
    return;
  }
  std::string printed = file->print();
  llvm::Expected<TuningFile> again = TuningFile::parse(printed);
  if (!again)
    fail("what was printed is refused: " + llvm::toString(again.takeError()));
  if (again->print() != printed)
    fail("what was printed is printed differently");
  const TuningDevice *device = file->find("sm_90a");
  if (!device || device->entries.empty())
    return;
  CompileOptions options;
  options.targets = {"sm_90a"};
  options.tuning = std::make_shared<TuningFile>(std::move(*file));
  auto compilation = Compilation::parse(getTunedModel(), options);
  expectNoDefect(compilation ? (*compilation)->emit()
                             : compilation.takeError());
}

const std::vector<Target> &fusec::fuzz::getTargets() {
  static const std::vector<Target> targets = {
      {"import", importModel, mutateModel},
      {"compile", compileModel, mutateModel},
      {"tuning", readTuning, mutateJson},
      {"expr", readExpr, nullptr}};
  return targets;
}
