// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX models of a few nodes, whose first input is of halves.

#ifndef FUSEC_TEST_GPU_LARGEMODEL_H
#define FUSEC_TEST_GPU_LARGEMODEL_H

#include "frontends/onnx/proto/onnx.pb.h"
#include "test/gpu/LargePattern.h"

#include <string>

namespace fusec {

typedef std::vector<int64_t> Sizes;

class LargeModel {
public:
  explicit LargeModel(const Sizes &sizes) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("large");
    addInput("x", ::onnx::TensorProto::FLOAT16, sizes);
  }
  void addInput(const std::string &name, int dtype, const Sizes &sizes) {
    setType(*model.mutable_graph()->add_input(), name, dtype, &sizes);
  }
  /// Initializers of a node's operands.
  void addIntegers(const std::string &name, const Sizes &values) {
    ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::INT64);
    tensor.add_dims(int64_t(values.size()));
    for (int64_t value : values)
      tensor.add_int64_data(value);
  }
  /// Halves of 0 but for those, which are 1.
  void addOnes(const std::string &name, const Sizes &sizes, const Sizes &ones) {
    ::onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT16);
    int64_t count = 1;
    for (int64_t size : sizes) {
      tensor.add_dims(size);
      count *= size;
    }
    std::vector<uint16_t> values(count);
    for (int64_t at : ones)
      values[at] = toHalf(1);
    tensor.set_raw_data(values.data(), values.size() * sizeof(uint16_t));
  }
  ::onnx::NodeProto &addNode(const std::string &type,
                             const std::vector<std::string> &operands,
                             const std::string &result) {
    ::onnx::NodeProto &node = *model.mutable_graph()->add_node();
    node.set_op_type(type);
    for (const std::string &operand : operands)
      node.add_input(operand);
    node.add_output(result);
    return node;
  }
  static void setInteger(::onnx::NodeProto &node, const char *name,
                         int64_t value) {
    ::onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void setIntegers(::onnx::NodeProto &node, const char *name,
                          const Sizes &values) {
    ::onnx::AttributeProto &attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(::onnx::AttributeProto::INTS);
    for (int64_t value : values)
      attribute.add_ints(value);
  }
  /// The input as fp32, in which sums are exact.
  std::string widen() {
    setInteger(addNode("Cast", {"x"}, "wide"), "to",
               ::onnx::TensorProto::FLOAT);
    return "wide";
  }
  /// Of the node that gives "out".
  std::string finish(int dtype = ::onnx::TensorProto::FLOAT16) {
    setType(*model.mutable_graph()->add_output(), "out", dtype, nullptr);
    return model.SerializeAsString();
  }

private:
  static void setType(::onnx::ValueInfoProto &info, const std::string &name,
                      int dtype, const Sizes *sizes) {
    info.set_name(name);
    auto &type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(dtype);
    for (int64_t i = 0; sizes && i != int64_t(sizes->size()); ++i)
      type.mutable_shape()->add_dim()->set_dim_value((*sizes)[i]);
  }
  ::onnx::ModelProto model;
};

} // namespace fusec

#endif // FUSEC_TEST_GPU_LARGEMODEL_H
