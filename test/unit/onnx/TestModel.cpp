// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/onnx/TestModel.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fusec::onnx::test {

using ::onnx::AttributeProto;
using ::onnx::TensorProto;

ModelOp Imported::getModel() { return *module->getOps<ModelOp>().begin(); }

std::string Imported::getOutputType(unsigned i) {
  std::string text;
  llvm::raw_string_ostream(text)
      << getModel().getBody().front().getTerminator()->getOperand(i).getType();
  return text;
}
std::string Imported::print() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}
std::string Imported::messages() const {
  std::string text;
  for (const Problem &problem : problems)
    text += problem.str() + " | " + problem.note + "\n";
  return text;
}

TestModel::TestModel(int64_t opset)
    : context(MLIRContext::Threading::DISABLED) {
  proto.set_ir_version(8);
  proto.add_opset_import()->set_version(opset);
  auto &contributed = *proto.add_opset_import();
  contributed.set_domain("com.microsoft");
  contributed.set_version(1);
  proto.mutable_graph()->set_name("test");
}

int32_t parseType(llvm::StringRef name) {
  TensorProto::DataType type = TensorProto::UNDEFINED;
  EXPECT_TRUE(TensorProto::DataType_Parse(name.upper(), &type)) << name.str();
  return type;
}

static void setType(::onnx::ValueInfoProto &value, llvm::StringRef type) {
  auto [element, rest] = type.split('[');
  auto *tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(parseType(element));
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

TestModel &TestModel::input(llvm::StringRef name, llvm::StringRef type) {
  auto *input = proto.mutable_graph()->add_input();
  input->set_name(name.str());
  setType(*input, type);
  return *this;
}

TestModel &TestModel::output(llvm::StringRef name, llvm::StringRef type) {
  auto *output = proto.mutable_graph()->add_output();
  output->set_name(name.str());
  if (!type.empty())
    setType(*output, type);
  return *this;
}

TestModel &TestModel::ints(llvm::StringRef name,
                           llvm::ArrayRef<int64_t> values) {
  auto *tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name(name.str());
  tensor->set_data_type(TensorProto::INT64);
  tensor->add_dims(values.size());
  for (int64_t value : values)
    tensor->add_int64_data(value);
  return *this;
}

TestModel &TestModel::scalar(llvm::StringRef name, int64_t value) {
  ints(name, value);
  proto.mutable_graph()->mutable_initializer()->rbegin()->clear_dims();
  return *this;
}

TensorProto &TestModel::floats(llvm::StringRef name,
                               llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<float> values) {
  auto *tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name(name.str());
  tensor->set_data_type(TensorProto::FLOAT);
  for (int64_t size : sizes)
    tensor->add_dims(size);
  for (float value : values)
    tensor->add_float_data(value);
  return *tensor;
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

::onnx::NodeProto &TestModel::node(llvm::StringRef op,
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

Imported TestModel::import() {
  Imported result;
  auto module =
      importOnnx(proto.SerializeAsString(), options, context, result.problems);
  EXPECT_EQ(failed(module), !result.problems.empty());
  if (succeeded(module))
    result.module = std::move(*module);
  return result;
}

void expectProblem(TestModel &model, ProblemKind kind, llvm::StringRef text) {
  Imported imported = model.import();
  ASSERT_EQ(imported.problems.size(), 1u) << imported.messages();
  EXPECT_EQ(imported.problems[0].kind, kind) << imported.messages();
  EXPECT_NE(imported.problems[0].str().find(text.str()), std::string::npos)
      << imported.messages();
}

} // namespace fusec::onnx::test
