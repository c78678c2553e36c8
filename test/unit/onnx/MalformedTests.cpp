// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with a model is said by name, all of it at once.

#include "test/unit/onnx/TestModel.h"
#include <sys/stat.h>
#include <unistd.h>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;

static void addRelu(TestModel &model) {
  model.input("x", "float[2,3]").output("y");
  model.node("Relu", {"x"}, {"y"});
}

TEST(Malformed, AllProblemsAtOnce) {
  TestModel model;
  model.input("x", "float[2,3]").output("y").output("z");
  model.node("Conv", {"x", "x"}, {"a"});
  model.node("Relu", {"a"},
             {"b"}); // depends on the first: not a problem of its own
  model.node("com.vendor.Thing", {"b"}, {"y"});
  model.node("Softmax", {"x"}, {"z"}, "axis=7");
  Imported imported = model.import();
  ASSERT_EQ(imported.problems.size(), 3u) << imported.messages();
  EXPECT_EQ(imported.problems[0].str(),
            "node 'the_Conv' (Conv): operator 'Conv' is not supported");
  EXPECT_EQ(imported.problems[1].opType, "com.vendor.Thing");
  EXPECT_EQ(imported.problems[2].kind, ProblemKind::Malformed);
  EXPECT_NE(imported.messages().find("expected an axis from -2 to 1, got 7"),
            std::string::npos);
}

TEST(Malformed, Bytes) {
  mlir::MLIRContext context;
  for (llvm::StringRef bytes :
       {"", "abc", "\x08\x01", "\x3a\xff\xff\xff\xff\x7f"}) {
    ProblemList problems;
    EXPECT_TRUE(failed(importOnnx(bytes, ImportOptions(), context, problems)));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].kind, ProblemKind::Malformed);
  }
}

TEST(Malformed, MissingFile) {
  mlir::MLIRContext context;
  ProblemList problems;
  EXPECT_TRUE(failed(
      importOnnxFile("no/such.onnx", ImportOptions(), context, problems)));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, ProblemKind::IO);
}

// The first has no end, the second would keep the program waiting.
TEST(Malformed, FilesThatAreNotRegular) {
  std::string pipe =
      testing::TempDir() + "fusec-pipe-" + std::to_string(getpid()) + ".onnx";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path :
       {std::string("/dev/zero"), pipe, std::string(testing::TempDir())}) {
    mlir::MLIRContext context;
    ProblemList problems;
    EXPECT_TRUE(
        failed(importOnnxFile(path, ImportOptions(), context, problems)));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].kind, ProblemKind::IO);
    EXPECT_NE(problems[0].message.find("expected a regular file"),
              std::string::npos)
        << problems[0].message;
  }
  unlink(pipe.c_str());
}

TEST(Malformed, Opset) {
  for (int64_t opset : {12, 25}) {
    TestModel model(opset);
    addRelu(model);
    expectProblem(model, ProblemKind::Unsupported,
                  "expected opset 13 to 24, got " + std::to_string(opset));
  }
}

TEST(Malformed, OperatorOfALaterOpset) {
  TestModel model(17);
  model.input("x", "float[2,3]").output("y");
  model.node("Gelu", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported,
                "operator 'Gelu' is not one of opset 17");
}

TEST(Malformed, Order) {
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  model.node("Relu", {"a"}, {"y"});
  model.node("Relu", {"x"}, {"a"});
  expectProblem(model, ProblemKind::Malformed,
                "expected input 'a' to be defined before");
}

TEST(Malformed, ValuesDefinedTwice) {
  TestModel model;
  addRelu(model);
  model.node("Abs", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Malformed,
                "expected every value to be defined once");
}

TEST(Malformed, Arity) {
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  model.node("Add", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Malformed, "expected 2 inputs, got 1");
}

TEST(Malformed, Attributes) {
  {
    TestModel model;
    addRelu(model);
    setAttributes(*model.proto.mutable_graph()->mutable_node(0), "beta=1");
    expectProblem(model, ProblemKind::Malformed,
                  "attribute 'beta' is not one of Relu");
  }
  TestModel model;
  model.input("x", "float[2,3]").output("y");
  model.node("Softmax", {"x"}, {"y"}, "axis=1.5");
  expectProblem(model, ProblemKind::Malformed,
                "expected attribute 'axis' of type INT, got FLOAT");
}

TEST(Malformed, ElementTypes) {
  {
    TestModel model;
    model.input("x", "int32[2,3]").output("y");
    model.node("Exp", {"x"}, {"y"});
    expectProblem(model, ProblemKind::Unsupported, "got int32");
  }
  {
    TestModel model;
    model.input("x", "string[2]").output("y");
    model.node("Identity", {"x"}, {"y"});
    expectProblem(model, ProblemKind::Unsupported,
                  "elements of type STRING are not supported");
  }
  {
    TestModel model;
    model.input("x", "float[2]").input("z", "double[2]").output("y");
    model.node("Add", {"x", "z"}, {"y"});
    expectProblem(model, ProblemKind::Malformed,
                  "input 0's element type float, got double");
  }
  TestModel model;
  model.input("x", "float[2]").output("y", "double");
  model.node("Relu", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Malformed,
                "expected elements of type DOUBLE as declared");
}

TEST(Malformed, DeclaredOutputs) {
  auto declare = [](TestModel &model, llvm::StringRef type) {
    model.input("x", "float[n,3]").output("y", type);
    model.node("Relu", {"x"}, {"y"});
  };
  // Other names and no numbers are the exporter's business.
  for (llvm::StringRef type :
       {"float[n,3]", "float[other,3]", "float[?,?]", "float[4,3]"}) {
    TestModel model;
    declare(model, type);
    EXPECT_TRUE(model.import()) << type.str();
  }
  TestModel sizes;
  declare(sizes, "float[m,5]");
  expectProblem(sizes, ProblemKind::Malformed,
                "output 'y': expected sizes ['m', 5] as declared, got [n, 3]");
  TestModel rank;
  declare(rank, "float[3]");
  expectProblem(rank, ProblemKind::Malformed,
                "expected sizes [3] as declared, got [n, 3]");
  // What an option fixes is not what the exporter had in mind.
  TestModel fixed;
  declare(fixed, "float[4,3]");
  fixed.options.dims["n"] = 8;
  EXPECT_TRUE(fixed.import());
}

TEST(Malformed, Sizes) {
  {
    TestModel model;
    model.input("x", "float[2,-3]").output("y");
    model.node("Relu", {"x"}, {"y"});
    expectProblem(model, ProblemKind::Malformed, "got -3");
  }
  {
    TestModel model;
    model.input("x", "float[4294967296,4294967296]").output("y");
    model.node("Relu", {"x"}, {"y"});
    expectProblem(model, ProblemKind::Malformed, "does not fit in 64 bits");
  }
  TestModel model;
  model.input("x", "float[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]").output("y");
  model.node("Relu", {"x"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported,
                "expected a rank of at most 16, got 17");
}

TEST(Malformed, InitializerData) {
  {
    TestModel model;
    addRelu(model);
    model.floats("w", {2, 2}, {1, 2, 3});
    expectProblem(model, ProblemKind::Malformed,
                  "expected 4 elements for the sizes, got 3");
  }
  {
    TestModel model;
    addRelu(model);
    model.floats("w", {2, 2}, {}).set_raw_data("abc");
    expectProblem(model, ProblemKind::Malformed,
                  "expected 16 bytes of data for the sizes, got 3");
  }
  TestModel model;
  addRelu(model);
  model.floats("w", {1LL << 40, 1LL << 40}, {});
  expectProblem(model, ProblemKind::Malformed, "does not fit in 64 bits");
}

TEST(Malformed, Outputs) {
  TestModel model;
  addRelu(model);
  model.output("nothing");
  expectProblem(model, ProblemKind::Malformed,
                "output 'nothing': expected a value");
}

TEST(Malformed, NamesAreCutInMessages) {
  TestModel model;
  addRelu(model);
  model.output(std::string(100000, 'a') + "\x1b[31m");
  Imported imported = model.import();
  ASSERT_EQ(imported.problems.size(), 1u);
  EXPECT_LT(imported.problems[0].str().size(), 400u);
}

TEST(Malformed, NamesInMessagesArePrintable) {
  TestModel model;
  addRelu(model);
  model.output("a\x1b[31m\nerror: \xc2\x9b \xff \xe5\xb1\x82");
  Imported imported = model.import();
  ASSERT_EQ(imported.problems.size(), 1u);
  EXPECT_NE(imported.problems[0].message.find(
                "'a\\x1b[31m\\x0aerror: \\xc2\\x9b \\xff \xe5\xb1\x82'"),
            std::string::npos)
      << imported.problems[0].message;
}

TEST(Malformed, NestedMessages) {
  // A type of types of types...: legal, and deeper than any parser goes.
  for (int depth : {90, 900}) {
    TestModel model;
    addRelu(model);
    auto *type = model.proto.mutable_graph()->mutable_input(0)->mutable_type();
    for (int i = 0; i < depth; ++i)
      type = type->mutable_sequence_type()->mutable_elem_type();
    if (depth == 90) {
      Imported imported = model.import();
      ASSERT_FALSE(imported.problems.empty());
      EXPECT_EQ(imported.problems[0].str(),
                "input 'x': expected a tensor, got sequence type");
    } else {
      expectProblem(model, ProblemKind::Malformed, "expected an ONNX model");
    }
  }
}

TEST(Malformed, NestedSubgraphs) {
  TestModel model;
  addRelu(model);
  ::onnx::NodeProto *node = &model.node("If", {"x"}, {"z"});
  for (int i = 0; i < 100; ++i) {
    ::onnx::AttributeProto *attr = node->add_attribute();
    attr->set_type(::onnx::AttributeProto::GRAPH);
    node = attr->mutable_g()->add_node();
    node->set_op_type("If");
  }
  expectProblem(model, ProblemKind::Unsupported,
                "operator 'If' is not supported");
}
