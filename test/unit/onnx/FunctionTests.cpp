// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model's own functions are inlined, with the attributes of the call.

#include "test/unit/onnx/TestModel.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

static FunctionProto &addFunction(TestModel &model, llvm::StringRef name) {
  FunctionProto *function = model.proto.add_functions();
  function->set_name(name.str());
  function->set_domain("local");
  function->add_input("x");
  function->add_output("y");
  return *function;
}

static NodeProto &addNode(FunctionProto &function, llvm::StringRef op,
                          llvm::StringRef input, llvm::StringRef output) {
  NodeProto *node = function.add_node();
  node->set_op_type(op.str());
  node->set_name(op.str());
  node->add_input(input.str());
  node->add_output(output.str());
  return *node;
}

TEST(Functions, AttributesOfTheCall) {
  TestModel model;
  model.input("x", "float[2,3]").output("y").output("z");
  FunctionProto &function = addFunction(model, "Leaky");
  function.add_attribute("slope");
  AttributeProto *attr =
      addNode(function, "LeakyRelu", "x", "y").add_attribute();
  attr->set_name("alpha");
  attr->set_ref_attr_name("slope");
  attr->set_type(AttributeProto::FLOAT);
  model.node("local.Leaky", {"x"}, {"y"}, "slope=0.5");
  model.node("local.Leaky", {"y"}, {"z"}, "slope=0.25");
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  std::string text = imported.print();
  EXPECT_NE(text.find("5.000000e-01"), std::string::npos) << text;
  EXPECT_NE(text.find("2.500000e-01"), std::string::npos) << text;
}

TEST(Functions, DefaultAttributesAndOptionalInputs) {
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  FunctionProto &function = addFunction(model, "Limit");
  function.add_input("low");
  addNode(function, "Clip", "x", "y").add_input("low");
  AttributeProto *attr = function.add_attribute_proto();
  attr->set_name("unused");
  attr->set_type(AttributeProto::INT);
  model.node("local.Limit", {"x"}, {"y"});
  Imported imported = model.import();
  EXPECT_TRUE(imported) << imported.messages();
}

TEST(Functions, Recursion) {
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  FunctionProto &function = addFunction(model, "Again");
  NodeProto &node = addNode(function, "Again", "x", "y");
  node.set_domain("local");
  model.node("local.Again", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported, "nest deeper than 32");
}

/// 2^levels nodes Relu, and one call less.
static void addDoublingCalls(TestModel &model, int levels) {
  model.input("x", "float[2,3]").output("y");
  for (int i = 0; i < levels; ++i) {
    FunctionProto &function = addFunction(model, "F" + std::to_string(i));
    bool isLast = i + 1 == levels;
    std::string callee = isLast ? "Relu" : "F" + std::to_string(i + 1);
    for (auto [from, to] : {std::pair("x", "a"), std::pair("a", "y")})
      addNode(function, callee, from, to).set_domain(isLast ? "" : "local");
  }
  model.node("local.F0", {"x"}, {"y"});
}

TEST(Functions, ExponentialInlining) {
  TestModel few;
  addDoublingCalls(few, 10);
  Imported imported = few.import();
  ASSERT_TRUE(imported) << imported.messages();
  TestModel many;
  addDoublingCalls(many, 16);
  expectProblem(many, ProblemKind::Unsupported,
                "expected at most 100000 nodes, counting the bodies of "
                "functions once a call, got 131071");
  TestModel deepest;
  addDoublingCalls(deepest, 32);
  expectProblem(deepest, ProblemKind::Unsupported, "got 8589934591");
  TestModel deeper;
  addDoublingCalls(deeper, 33);
  expectProblem(deeper, ProblemKind::Unsupported, "nest deeper than 32");
}

// Few enough nodes, of many operations each.
TEST(Functions, TooManyOperations) {
  TestModel model;
  addDoublingCalls(model, 15);
  for (NodeProto &node :
       *model.proto.mutable_functions()->rbegin()->mutable_node())
    node.set_op_type("LogSoftmax");
  expectProblem(model, ProblemKind::Unsupported,
                "expected a model that becomes at most 250000 operations, got");
}

// Each node's name begins with those of the calls around it.
TEST(Functions, LongNames) {
  TestModel model;
  addDoublingCalls(model, 8);
  for (FunctionProto &function : *model.proto.mutable_functions())
    for (NodeProto &node : *function.mutable_node())
      node.set_name(std::string(3000, 'n') + "end");
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  unsigned ops = 0;
  imported.getModel().walk([&](fusec::ReluOp op) {
    llvm::StringRef name = mlir::cast<mlir::NameLoc>(op.getLoc()).getName();
    EXPECT_LT(name.size(), 520u);
    EXPECT_TRUE(name.ends_with("end"));
    ++ops;
  });
  EXPECT_EQ(ops, 256u);
}

TEST(Functions, ProblemsInsideNameTheNode) {
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  FunctionProto &function = addFunction(model, "Bad");
  addNode(function, "Conv", "x", "y");
  model.node("local.Bad", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported,
                "(Conv): operator 'Conv' is not supported");
}
