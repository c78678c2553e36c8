// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/support/ModelBuilder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace fusec::onnx::test {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;

ModelBuilder::ModelBuilder(int64_t opset) {
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(opset);
  auto &contributed = *proto.add_opset_import();
  contributed.set_domain("com.microsoft");
  contributed.set_version(1);
  proto.mutable_graph()->set_name("test");
}

static TensorProto::DataType parseElement(llvm::StringRef name) {
  TensorProto::DataType type;
  if (!TensorProto::DataType_Parse(name.upper(), &type))
    llvm::report_fatal_error("expected an ONNX type, found '" + name + "'");
  return type;
}

static void setType(::onnx::ValueInfoProto &value, llvm::StringRef type) {
  auto [element, rest] = type.split('[');
  auto *tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(parseElement(element));
  if (!type.contains('['))
    return;
  tensor->mutable_shape();
  llvm::SmallVector<llvm::StringRef> sizes;
  rest.rtrim(']').split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef size : sizes) {
    auto *dim = tensor->mutable_shape()->add_dim();
    int64_t number;
    if (!size.getAsInteger(10, number))
      dim->set_dim_value(number);
    else if (size != "?")
      dim->set_dim_param(size.str());
  }
}

ModelBuilder &ModelBuilder::input(llvm::StringRef name, llvm::StringRef type) {
  auto *input = proto.mutable_graph()->add_input();
  input->set_name(name.str());
  setType(*input, type);
  return *this;
}

ModelBuilder &ModelBuilder::input(llvm::StringRef name, llvm::StringRef element,
                                  llvm::ArrayRef<int64_t> sizes) {
  auto texts =
      llvm::map_range(sizes, [](int64_t size) { return std::to_string(size); });
  return input(name, element.str() + "[" + llvm::join(texts, ",") + "]");
}

ModelBuilder &ModelBuilder::output(llvm::StringRef name, llvm::StringRef type) {
  auto *output = proto.mutable_graph()->add_output();
  output->set_name(name.str());
  if (!type.empty())
    setType(*output, type);
  return *this;
}

TensorProto &ModelBuilder::initializer(llvm::StringRef name,
                                       TensorProto::DataType type,
                                       llvm::ArrayRef<int64_t> sizes) {
  auto *tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name(name.str());
  tensor->set_data_type(type);
  for (int64_t size : sizes)
    tensor->add_dims(size);
  return *tensor;
}

ModelBuilder &ModelBuilder::ints(llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> values) {
  TensorProto &tensor =
      initializer(name, TensorProto::INT64, int64_t(values.size()));
  for (int64_t value : values)
    tensor.add_int64_data(value);
  return *this;
}

ModelBuilder &ModelBuilder::scalar(llvm::StringRef name, int64_t value) {
  initializer(name, TensorProto::INT64, {}).add_int64_data(value);
  return *this;
}

TensorProto &ModelBuilder::floats(llvm::StringRef name,
                                  llvm::ArrayRef<int64_t> sizes,
                                  llvm::ArrayRef<float> values) {
  TensorProto &tensor = initializer(name, TensorProto::FLOAT, sizes);
  for (float value : values)
    tensor.add_float_data(value);
  return tensor;
}

TensorProto &ModelBuilder::halves(llvm::StringRef name,
                                  llvm::ArrayRef<int64_t> sizes,
                                  llvm::ArrayRef<uint16_t> values) {
  TensorProto &tensor = initializer(name, TensorProto::FLOAT16, sizes);
  tensor.set_raw_data(values.data(), values.size() * sizeof(uint16_t));
  return tensor;
}

void setAttributes(::onnx::NodeProto &node, llvm::StringRef attributes) {
  llvm::SmallVector<llvm::StringRef> all;
  attributes.split(all, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef text : all) {
    auto [name, value] = text.split('=');
    AttributeProto *attr = node.add_attribute();
    attr->set_name(name.str());
    int64_t number;
    double real;
    if (value.consume_front("'")) {
      attr->set_type(AttributeProto::STRING);
      attr->set_s(value.rtrim('\'').str());
    } else if (value.contains(',')) {
      attr->set_type(AttributeProto::INTS);
      llvm::SmallVector<llvm::StringRef> parts;
      value.split(parts, ',', -1, /*KeepEmpty=*/false);
      for (llvm::StringRef part : parts)
        if (!part.getAsInteger(10, number))
          attr->add_ints(number);
    } else if (!value.getAsInteger(10, number)) {
      attr->set_type(AttributeProto::INT);
      attr->set_i(number);
    } else if (!value.getAsDouble(real)) {
      attr->set_type(AttributeProto::FLOAT);
      attr->set_f(static_cast<float>(real));
    }
  }
}

::onnx::NodeProto &ModelBuilder::node(llvm::StringRef op,
                                      llvm::ArrayRef<std::string> inputs,
                                      llvm::ArrayRef<std::string> outputs,
                                      llvm::StringRef attributes) {
  auto *node = proto.mutable_graph()->add_node();
  auto [domain, name] = op.rsplit('.');
  node->set_op_type((name.empty() ? op : name).str());
  if (!name.empty())
    node->set_domain(domain.str());
  node->set_name("the_" + node->op_type());
  for (const std::string &input : inputs)
    node->add_input(input);
  for (const std::string &output : outputs)
    node->add_output(output);
  setAttributes(*node, attributes);
  return *node;
}

} // namespace fusec::onnx::test
