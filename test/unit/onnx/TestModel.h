// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of a line or two, and what the importer makes of them.

#ifndef FUSEC_TEST_UNIT_ONNX_TESTMODEL_H
#define FUSEC_TEST_UNIT_ONNX_TESTMODEL_H

#include "frontends/onnx/Importer.h"
#include "test/support/ModelBuilder.h"
#include "gtest/gtest.h"

namespace fusec::onnx::test {

struct Imported {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ProblemList problems;

  explicit operator bool() const { return module && problems.empty(); }
  ModelOp getModel();
  /// The type of output `i`, as text.
  std::string getOutputType(unsigned i = 0);
  std::string print();
  /// All messages with their notes, a line each.
  std::string messages() const;
};

class TestModel : public ModelBuilder {
public:
  explicit TestModel(int64_t opset = 17);

  ImportOptions options;

  Imported import();

private:
  mlir::MLIRContext context;
};

/// Expects the import to fail with exactly one problem that has this text in
/// its message.
void expectProblem(TestModel &model, ProblemKind kind, llvm::StringRef text);

} // namespace fusec::onnx::test

#endif // FUSEC_TEST_UNIT_ONNX_TESTMODEL_H
