// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes: chains that exporters write, names that must agree, constants given
// from outside.

#include "test/unit/onnx/TestModel.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;

static bool contains(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

TEST(Shapes, ReshapeByAnExportersChain) {
  TestModel model;
  model.input("x", "float[batch,4,5]").output("y");
  model.scalar("zero", 0).ints("axis", 0).ints("rest", -1);
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"size"}, "axis=0");
  model.node("Unsqueeze", {"size", "axis"}, {"sizes"});
  model.node("Concat", {"sizes", "rest"}, {"to"}, "axis=0");
  model.node("Reshape", {"x", "to"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(),
            "tensor<?x20xf32, #fusec.sizes<[batch, 20]>>");
  // Nothing of the chain stays.
  EXPECT_FALSE(contains(imported.print(), "size_value"));
  EXPECT_TRUE(contains(imported.print(), "fusec.collapse"));
}

TEST(Shapes, HalvesByShapeAndDiv) {
  TestModel model;
  model.input("x", "float[2,width]").output("y");
  model.ints("one", 1).ints("two", 2).ints("zero", 0);
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "one"}, {"size"});
  model.node("Div", {"size", "two"}, {"half"});
  model.node("Slice", {"x", "zero", "half", "one"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(),
            "tensor<2x?xf32, #fusec.sizes<[2, width floordiv 2]>>");
}

TEST(Shapes, AShapeAsAResultStays) {
  TestModel model;
  model.input("x", "float[batch,4]").output("y", "int64");
  model.node("Shape", {"x"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_TRUE(contains(imported.print(), "fusec.size_value <batch>"));
}

TEST(Shapes, ExpandByWhere) {
  TestModel model;
  model.input("x", "float[batch,1]").output("y");
  model.ints("given", {-1, 6}).ints("minus", {-1, -1}).ints("ones", {1, 1});
  model.node("Equal", {"given", "minus"}, {"is_minus"});
  model.node("Where", {"is_minus", "ones", "given"}, {"to"});
  model.node("Expand", {"x", "to"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(),
            "tensor<?x6xf32, #fusec.sizes<[batch, 6]>>");
}

TEST(Shapes, TwoNamesThatMustAgreeBecomeOne) {
  TestModel model;
  model.input("a", "float[m,3]").input("b", "float[n,3]").output("y");
  model.node("Add", {"a", "b"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  std::string text = imported.print();
  EXPECT_FALSE(contains(text, "[n, 3]")) << text;
  EXPECT_FALSE(contains(text, "fusec.slice")) << text;
  EXPECT_EQ(imported.getOutputType(), "tensor<?x3xf32, #fusec.sizes<[m, 3]>>");
}

TEST(Shapes, ANameThatMustBeANumberBecomesIt) {
  TestModel model;
  model.input("a", "float[m,3]").input("b", "float[8,3]").output("y");
  model.node("Add", {"a", "b"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(), "tensor<8x3xf32>");
}

TEST(Shapes, OtherEqualitiesAreConstraints) {
  TestModel model;
  model.input("x", "float[n,3]").output("y").ints("to", {-1, 2});
  model.node("Reshape", {"x", "to"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getModel().getConstraints().size(), 1u);
  EXPECT_TRUE(contains(imported.print(), "#fusec.constraint<n * 3 = "))
      << imported.print();
}

TEST(Shapes, SizesThatCannotAgree) {
  TestModel model;
  model.input("a", "float[n,3]").input("b", "float[n,4]").output("y");
  model.node("Add", {"a", "b"}, {"y"});
  expectProblem(
      model, ProblemKind::Malformed,
      "node 'the_Add' (Add): expected sizes that broadcast together, got "
      "[n, 3] and [n, 4]");
}

TEST(Shapes, SizesWithoutANameGetOne) {
  TestModel model;
  model.input("x", "float[?,x_dim0]").output("y");
  model.node("Relu", {"x"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_TRUE(contains(imported.getOutputType(), "[x_dim0_, x_dim0]"))
      << imported.getOutputType();
}

TEST(Shapes, DimOptionGivesASize) {
  TestModel model;
  model.input("x", "float[batch,3]").output("y");
  model.node("Relu", {"x"}, {"y"});
  model.options.dims["batch"] = 128;
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(), "tensor<128x3xf32>");
  model.options.dims = {{"bacth", 128}};
  expectProblem(model, ProblemKind::Option,
                "--dim bacth: the model has no dimension");
}

static ConstantInput makeInts(llvm::StringRef name,
                              std::vector<int64_t> values) {
  ConstantInput input;
  input.name = name.str();
  input.dtype = ::onnx::TensorProto::INT64;
  input.sizes = {static_cast<int64_t>(values.size())};
  const char *bytes = reinterpret_cast<const char *>(values.data());
  input.bytes.assign(bytes, bytes + values.size() * sizeof(int64_t));
  return input;
}

TEST(Shapes, ConstOptionMakesAShapeOperandKnown) {
  TestModel model;
  model.input("x", "float[2,6]").input("shape", "int64[k]").output("y");
  model.node("Reshape", {"x", "shape"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported, "to be known when compiling");
  EXPECT_EQ(model.import().problems[0].note,
            "give the input's value: --const shape=FILE.npy");
  model.options.constants = {makeInts("shape", {3, -1})};
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_EQ(imported.getOutputType(), "tensor<3x4xf32>");
  EXPECT_EQ(imported.getModel().getInputNames().size(), 1u);
}

TEST(Shapes, ConstOptionMustFitTheInput) {
  TestModel model;
  model.input("x", "float[2,6]").input("shape", "int64[2]").output("y");
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.options.constants = {makeInts("shape", {3, 2, 2})};
  expectProblem(model, ProblemKind::Malformed,
                "expected a constant of sizes [2], got size 3");
  model.options.constants = {makeInts("shape", {3, 4})};
  model.options.constants[0].bytes.pop_back();
  expectProblem(model, ProblemKind::Malformed, "expected 16 bytes, got 15");
  model.options.constants = {makeInts("shape", {3, 4}), makeInts("other", {1})};
  expectProblem(model, ProblemKind::Option, "--const other");
}

TEST(Shapes, NothingDependsOnReplaceableValues) {
  TestModel model;
  model.input("x", "float[2,6]").output("y").ints("shape.a", {3, 4});
  model.node("Reshape", {"x", "shape.a"}, {"y"});
  ASSERT_TRUE(model.import());
  model.options.replaceable = {"shape.?"};
  expectProblem(model, ProblemKind::Unsupported, "to be known when compiling");
  model.options.replaceable = {"other*"};
  expectProblem(model, ProblemKind::Option,
                "--replaceable other*: the model has no initializer");
  model.options.replaceable = {"[a"};
  expectProblem(model, ProblemKind::Option, "--replaceable [a: ");
}

TEST(Shapes, UpdatableWeightsHaveRows) {
  TestModel model;
  model.input("x", "int64[2]").output("y", "int64");
  model.ints("table", {3, 4}).scalar("one", 1);
  model.node("Gather", {"table", "x"}, {"t"});
  model.node("Add", {"t", "one"}, {"y"});
  std::vector<std::string> names;
  model.options.updatableNames = &names;
  model.options.updatable = {"t*e"};
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_TRUE(
      contains(imported.print(), "fusec.replaceable <\"table\", whole>"));
  EXPECT_EQ(names, std::vector<std::string>{"table"});
  model.options.updatable = {"one"};
  expectProblem(model, ProblemKind::Option,
                "--updatable: 'one' is a number; expected rows");
  model.options.updatable = {"other"};
  expectProblem(model, ProblemKind::Option,
                "--updatable other: the model has no initializer");
}

TEST(Shapes, ReplaceableWeightsKeepTheirNames) {
  TestModel model;
  model.input("x", "int64[2]").output("y", "int64");
  model.ints("w.1", {3, 4}).ints("w.2", {3, 4});
  model.node("Add", {"x", "w.1"}, {"t"});
  model.node("Add", {"t", "w.2"}, {"y"});
  model.options.replaceable = {"w.*"};
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_TRUE(contains(imported.print(), "fusec.replaceable <\"w.1\", whole>"));
  EXPECT_TRUE(contains(imported.print(), "fusec.replaceable <\"w.2\", whole>"));
}

TEST(Shapes, SlicesOfNamedSizesAreClamped) {
  TestModel model;
  model.input("x", "float[n,4]").output("y");
  model.ints("start", 2).ints("end", 10).ints("axis", 0);
  model.node("Slice", {"x", "start", "end", "axis"}, {"y"});
  Imported imported = model.import();
  ASSERT_TRUE(imported) << imported.messages();
  EXPECT_TRUE(contains(imported.getOutputType(), "min("))
      << imported.getOutputType();
}

TEST(Shapes, LongExpressionsAreRefused) {
  TestModel model;
  model.input("x", "float[a,b,c,d,e,f,g,h]").output("y").ints("one", 1);
  // (a + 1)(b + 1)... has 256 terms.
  model.node("Shape", {"x"}, {"shape"});
  model.node("Add", {"shape", "one"}, {"more"});
  model.node("ConstantOfShape", {"more"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported,
                "expected shorter expressions");
}
