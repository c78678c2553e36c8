// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX models written in a line or two: types are spelled "float[n,3]",
// attributes "axis=1 alpha=0.5 perm=1,0 mode='tanh'" (a number with a point is
// a float, one with a comma a list).

#ifndef FUSEC_TEST_SUPPORT_MODELBUILDER_H
#define FUSEC_TEST_SUPPORT_MODELBUILDER_H

#include "frontends/onnx/proto/onnx.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace fusec::onnx::test {

class ModelBuilder {
public:
  explicit ModelBuilder(int64_t opset = 17);

  ::onnx::ModelProto proto;

  ModelBuilder &input(llvm::StringRef name, llvm::StringRef type);
  ModelBuilder &input(llvm::StringRef name, llvm::StringRef element,
                      llvm::ArrayRef<int64_t> sizes);
  ModelBuilder &output(llvm::StringRef name, llvm::StringRef type = "");
  ModelBuilder &ints(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  ModelBuilder &scalar(llvm::StringRef name, int64_t value);
  ::onnx::TensorProto &floats(llvm::StringRef name,
                              llvm::ArrayRef<int64_t> sizes,
                              llvm::ArrayRef<float> values);
  /// Of fp16, given as bits.
  ::onnx::TensorProto &halves(llvm::StringRef name,
                              llvm::ArrayRef<int64_t> sizes,
                              llvm::ArrayRef<uint16_t> values);
  ::onnx::NodeProto &node(llvm::StringRef op,
                          llvm::ArrayRef<std::string> inputs,
                          llvm::ArrayRef<std::string> outputs,
                          llvm::StringRef attributes = "");

private:
  ::onnx::TensorProto &initializer(llvm::StringRef name,
                                   ::onnx::TensorProto::DataType type,
                                   llvm::ArrayRef<int64_t> sizes);
};

void setAttributes(::onnx::NodeProto &node, llvm::StringRef attributes);

} // namespace fusec::onnx::test

#endif // FUSEC_TEST_SUPPORT_MODELBUILDER_H
