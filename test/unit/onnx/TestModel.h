// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models written in a line or two: types are spelled "float[n,3]", attributes
// "axis=1 alpha=0.5 perm=1,0 mode='tanh'" (a number with a point is a float).

#ifndef FUSEC_TEST_UNIT_ONNX_TESTMODEL_H
#define FUSEC_TEST_UNIT_ONNX_TESTMODEL_H

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/proto/onnx.pb.h"
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

class TestModel {
public:
  explicit TestModel(int64_t opset = 17);

  ::onnx::ModelProto proto;
  ImportOptions options;

  TestModel &input(llvm::StringRef name, llvm::StringRef type);
  TestModel &output(llvm::StringRef name, llvm::StringRef type = "");
  TestModel &ints(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  TestModel &scalar(llvm::StringRef name, int64_t value);
  ::onnx::TensorProto &floats(llvm::StringRef name,
                              llvm::ArrayRef<int64_t> sizes,
                              llvm::ArrayRef<float> values);
  ::onnx::NodeProto &node(llvm::StringRef op,
                          llvm::ArrayRef<std::string> inputs,
                          llvm::ArrayRef<std::string> outputs,
                          llvm::StringRef attributes = "");

  Imported import();

private:
  mlir::MLIRContext context;
};

void setAttributes(::onnx::NodeProto &node, llvm::StringRef attributes);
int32_t parseType(llvm::StringRef name);

/// Expects the import to fail with exactly one problem that has this text in
/// its message.
void expectProblem(TestModel &model, ProblemKind kind, llvm::StringRef text);

} // namespace fusec::onnx::test

#endif // FUSEC_TEST_UNIT_ONNX_TESTMODEL_H
