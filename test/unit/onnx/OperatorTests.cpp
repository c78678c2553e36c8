// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operator of the table imports to a program that verifies, with numbers
// and with a name as the leading size. What the programs compute is tested with
// the ONNX node tests.

#include "test/unit/onnx/TestModel.h"
#include "llvm/ADT/StringSet.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;

namespace {
struct OperatorCase {
  const char *op;
  int opset;
  /// Inputs: a type, or the elements of an int64 constant ("@1,2"; "@=1" is a
  /// scalar; "-" is left out).
  std::vector<std::string> inputs;
  std::string attributes = "";
  int outputs = 1;
};
} // namespace

static const std::vector<OperatorCase> &getCases() {
  static const std::vector<OperatorCase> cases = {
      {"Abs", 13, {"int8[n,3]"}},
      {"Add", 14, {"float16[n,3]", "float16[3]"}},
      {"And", 13, {"bool[n,3]", "bool[1,3]"}},
      {"ArgMax", 13, {"float[n,3]"}, "axis=1 keepdims=0"},
      {"ArgMin", 13, {"int32[n,3]"}, "axis=-1 select_last_index=1"},
      {"BatchNormalization",
       15,
       {"float16[n,3,4]", "float[3]", "float[3]", "float[3]", "float[3]"},
       "momentum=0.5"},
      {"BatchNormalization",
       15,
       {"float[n,3,4]", "float[3]", "float[3]", "float[3]", "float[3]"},
       "training_mode=1",
       3},
      {"Cast", 24, {"float[n,3]"}, "to=7 saturate=0"},
      {"CastLike", 19, {"float[n,3]", "int32[]"}},
      {"Ceil", 13, {"double[n,3]"}},
      {"Celu", 13, {"float[n,3]"}, "alpha=2.0"},
      {"Clip", 13, {"uint8[n,3]", "-", "uint8[]"}},
      {"Concat", 13, {"float[n,3]", "float[n,2]"}, "axis=-1"},
      {"Constant", 13, {}, "value_ints=1,2,3"},
      {"ConstantOfShape", 13, {"@2,3"}},
      {"Cos", 13, {"float[n,3]"}},
      {"Cosh", 13, {"float[n,3]"}},
      {"CumSum", 14, {"float16[n,3]", "@=1"}, "exclusive=1 reverse=1"},
      {"DequantizeLinear", 13, {"int8[n,3]", "float[3]", "int8[3]"}, "axis=1"},
      {"Div", 14, {"int64[n,3]", "int64[]"}},
      {"Dropout", 13, {"float16[n,3]", "float[]"}, "seed=7", 2},
      {"Elu", 13, {"float[n,3]"}},
      {"Equal", 13, {"bool[n,3]", "bool[n,1]"}},
      {"Erf", 13, {"int16[n,3]"}},
      {"Exp", 13, {"bfloat16[n,3]"}},
      {"Expand", 13, {"float[n,1]", "@2,1,5"}},
      {"Flatten", 13, {"float[n,3,4]"}, "axis=2"},
      {"Floor", 13, {"float[n,3]"}},
      {"Gather", 13, {"float[n,3]", "int32[2,2]"}, "axis=1"},
      {"GatherElements", 13, {"float[n,3]", "int64[n,2]"}, "axis=1"},
      {"GatherND", 13, {"float[n,3,4]", "int64[n,5,1]"}, "batch_dims=1"},
      {"Gelu", 20, {"float[n,3]"}, "approximate='tanh'"},
      {"Gemm",
       13,
       {"float[n,3]", "float[5,3]", "float[5]"},
       "transB=1 alpha=0.5 beta=2.0"},
      {"Greater", 13, {"uint16[n,3]", "uint16[3]"}},
      {"GreaterOrEqual", 16, {"float[n,3]", "float[3]"}},
      {"GroupNormalization",
       21,
       {"float16[n,4,5]", "float16[4]", "float16[4]"},
       "num_groups=2"},
      {"HardSigmoid", 13, {"float[n,3]"}},
      {"HardSwish", 14, {"float[n,3]"}},
      {"Identity", 13, {"bool[n,3]"}},
      {"InstanceNormalization", 13, {"float[n,3,4]", "float[3]", "float[3]"}},
      {"LayerNormalization",
       17,
       {"float16[n,3,4]", "float16[3,4]", "float16[4]"},
       "axis=1",
       3},
      {"LeakyRelu", 16, {"float[n,3]"}},
      {"Less", 13, {"float[n,3]", "float[3]"}},
      {"LessOrEqual", 13, {"float[n,3]", "float[3]"}},
      {"Log", 13, {"float[n,3]"}},
      {"LogSoftmax", 13, {"float[n,3]"}},
      {"MatMul", 13, {"float[n,2,3]", "float[3]"}},
      {"MatMul", 13, {"int32[n,1,2,3]", "int32[4,3,5]"}},
      {"Max", 13, {"float[n,3]", "float[3]", "float[]"}},
      {"Mean", 13, {"float[n,3]", "float[3]"}},
      {"Min", 13, {"uint64[n,3]"}},
      {"Mish", 18, {"float[n,3]"}},
      {"Mod", 13, {"float[n,3]", "float[3]"}, "fmod=1"},
      {"Mul", 14, {"double[n,3]", "double[3]"}},
      {"Neg", 13, {"int8[n,3]"}},
      {"Not", 13, {"bool[n,3]"}},
      {"Or", 13, {"bool[n,3]", "bool[3]"}},
      {"Pad", 13, {"float[n,3]", "@0,1,0,2"}, "mode='edge'"},
      {"Pow", 15, {"float[n,3]", "int64[3]"}},
      {"PRelu", 16, {"int32[n,3]", "int32[3]"}},
      {"Range", 13, {"@=1", "@=10", "@=3"}},
      {"Reciprocal", 13, {"float[n,3]"}},
      {"ReduceL1", 18, {"float[n,3]", "@1"}},
      {"ReduceL2", 13, {"int32[n,3]"}, "axes=1, keepdims=0"},
      {"ReduceLogSum", 18, {"float16[n,3]", "@-1"}},
      {"ReduceLogSumExp", 18, {"float[n,3]", "@1"}, "keepdims=0"},
      {"ReduceMax", 20, {"bool[n,3]", "@1"}},
      {"ReduceMean", 18, {"bfloat16[n,3]", "@0,1"}},
      {"ReduceMean", 13, {"float[n,3]"}, "axes=-1,"},
      {"ReduceMin", 18, {"int8[n,3]"}},
      {"ReduceProd", 18, {"float[n,3]", "@"}, "noop_with_empty_axes=1"},
      {"ReduceSum", 13, {"float[n,3]", "@1"}},
      {"ReduceSumSquare", 18, {"int64[n,3]", "@1"}},
      {"Relu", 14, {"int32[n,3]"}},
      {"Reshape", 14, {"float[n,3]", "@0,1,-1"}},
      {"RMSNormalization", 23, {"float16[n,3]", "float[3]"}},
      {"RotaryEmbedding",
       23,
       {"float[n,6,32]", "float[50,4]", "float[50,4]", "int64[n,6]"},
       "num_heads=4 interleaved=1"},
      {"RotaryEmbedding",
       23,
       {"float[n,4,6,8]", "float[n,6,2]", "float[n,6,2]"},
       "rotary_embedding_dim=4"},
      {"Round", 13, {"float[n,3]"}},
      {"Selu", 13, {"float[n,3]"}},
      {"Shape", 15, {"float[n,3]"}, "start=-2 end=1"},
      {"Shrink", 13, {"uint8[n,3]"}, "lambd=1.5 bias=1.5"},
      {"Sigmoid", 13, {"float[n,3]"}},
      {"Sign", 13, {"uint8[n,3]"}},
      {"Sin", 13, {"float[n,3]"}},
      {"Sinh", 13, {"float[n,3]"}},
      {"Size", 13, {"float[n,3]"}},
      {"Slice", 13, {"float[n,8]", "@-1", "@-9", "@1", "@-2"}},
      {"Slice", 13, {"float[n,8]", "@1", "@9223372036854775807", "@0"}},
      {"Softmax", 13, {"float16[n,3]"}, "axis=0"},
      {"Softplus", 13, {"float[n,3]"}},
      {"Softsign", 13, {"float[n,3]"}},
      {"Split", 18, {"float[n,7]"}, "axis=1 num_outputs=3", 3},
      {"Split", 13, {"float[n,6]", "@2,4"}, "axis=1", 2},
      {"Sqrt", 13, {"float[n,3]"}},
      {"Squeeze", 13, {"float[n,1,3,1]", "@1"}},
      {"Sub", 14, {"int16[n,3]", "int16[n,3]"}},
      {"Sum", 13, {"float[n,3]", "float[3]", "float[n,1]"}},
      {"Swish", 24, {"float[n,3]"}, "alpha=0.5"},
      {"Tan", 13, {"float[n,3]"}},
      {"Tanh", 13, {"float[n,3]"}},
      {"ThresholdedRelu", 13, {"float[n,3]"}},
      {"Tile", 13, {"float[n,3]", "@2,3"}},
      {"Transpose", 13, {"float[n,3,4]"}, "perm=2,0,1"},
      {"Trilu", 14, {"bool[n,3,4]", "int64[]"}, "upper=0"},
      {"Unsqueeze", 13, {"float[n,3]", "@0,-1"}},
      {"Where", 16, {"bool[n,1]", "float[3]", "float[n,3]"}},
      {"Xor", 13, {"bool[n,3]", "bool[3]"}},
      {"com.microsoft.GatherBlockQuantized",
       13,
       {"uint8[5,32]", "int64[n,3]", "float[5,2]"},
       "bits=8 block_size=16 gather_axis=0 quantize_axis=1"},
  };
  return cases;
}

/// Adds an input as OperatorCase spells it and gives its name.
static std::string addInput(TestModel &model, llvm::StringRef text,
                            size_t index, llvm::StringRef size) {
  std::string name = "x" + std::to_string(index);
  if (text == "-")
    return "";
  if (text.consume_front("@")) {
    bool isScalar = text.consume_front("=");
    llvm::SmallVector<int64_t> values;
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      int64_t value = 0;
      EXPECT_FALSE(part.getAsInteger(10, value));
      values.push_back(value);
    }
    isScalar ? model.scalar(name, values[0]) : model.ints(name, values);
    return name;
  }
  std::string type = text.str();
  if (size_t at = type.find("[n"); at != std::string::npos)
    type.replace(at + 1, 1, size.str());
  model.input(name, type);
  return name;
}

static void importCase(const OperatorCase &test, llvm::StringRef size) {
  TestModel model(test.opset);
  std::vector<std::string> inputs, outputs;
  for (const std::string &text : test.inputs)
    inputs.push_back(addInput(model, text, inputs.size(), size));
  for (int i = 0; i < test.outputs; ++i) {
    outputs.push_back("y" + std::to_string(i));
    model.output(outputs.back());
  }
  model.node(test.op, inputs, outputs, test.attributes);
  Imported imported = model.import();
  EXPECT_TRUE(imported) << test.op << " with n = " << size.str() << ": "
                        << imported.messages();
}

TEST(Operators, ImportWithNumbers) {
  for (const OperatorCase &test : getCases())
    importCase(test, "2");
}
TEST(Operators, ImportWithNames) {
  for (const OperatorCase &test : getCases())
    importCase(test, "batch");
}
TEST(Operators, ImportWithNoElements) {
  for (const OperatorCase &test : getCases())
    importCase(test, "0");
}
TEST(Operators, ImportAtTheNewestOpset) {
  for (OperatorCase test : getCases()) {
    // The axes were an attribute until opset 17.
    if (test.attributes.find("axes=") == 0)
      continue;
    test.opset = newestOpset;
    importCase(test, "batch");
  }
}

TEST(Operators, EveryOneIsTested) {
  llvm::StringSet<> tested, described;
  for (const OperatorCase &test : getCases())
    tested.insert(test.op);
  for (const OperatorDescription &op : describeOperators()) {
    described.insert(op.name);
    EXPECT_TRUE(tested.contains(op.name)) << op.name;
    EXPECT_FALSE(op.types.empty());
  }
  EXPECT_EQ(tested.size(), described.size());
}

// Without a constant false nothing says that this is no training.
TEST(Operators, DropoutInTraining) {
  TestModel model;
  model.input("x", "float[2,3]").input("ratio", "float[]");
  model.input("training", "bool[]").output("y");
  model.node("Dropout", {"x", "ratio", "training"}, {"y"});
  expectProblem(model, ProblemKind::Unsupported,
                "expected training_mode to be a constant false");
}
