// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/damaged/RandomNodes.h"
#include "frontends/onnx/handlers/Handlers.h"
#include "test/support/ModelBuilder.h"

using namespace fusec::onnx::test;

namespace fusec::test {

/// Attributes of the operators whose names begin with a word; the rest has
/// none. Each is taken or left out.
static const struct {
  const char *prefix;
  std::vector<const char *> attributes;
} attributesOf[] = {
    {"Reduce", {"keepdims=@", "noop_with_empty_axes=@", "axes=@,@"}},
    {"ArgM", {"axis=@", "keepdims=@", "select_last_index=@"}},
    {"Softmax", {"axis=@"}},
    {"LogSoftmax", {"axis=@"}},
    {"Concat", {"axis=@"}},
    {"Flatten", {"axis=@"}},
    {"GatherND", {"batch_dims=@"}},
    {"Gather", {"axis=@"}},
    {"Split", {"axis=@", "num_outputs=@"}},
    {"Transpose", {"perm=1,0", "perm=0,2,1", "perm=@,@"}},
    {"Cast", {"to=@", "saturate=@"}},
    {"Constant", {"value_int=@", "value_ints=@,@", "value_float=0.5"}},
    {"Gemm", {"alpha=0.5", "beta=@.0", "transA=@", "transB=@"}},
    {"LayerNorm", {"axis=@", "epsilon=0.1", "stash_type=@"}},
    {"RMSNorm", {"axis=@", "epsilon=0.1", "stash_type=@"}},
    {"BatchNorm", {"epsilon=0.1", "momentum=0.1", "training_mode=@"}},
    {"Rotary", {"interleaved=@", "num_heads=@", "rotary_embedding_dim=@"}},
    {"Reshape", {"allowzero=@"}},
    {"Shape", {"start=@", "end=@"}},
    {"Squeeze", {"axes=@"}},
    {"Unsqueeze", {"axes=@"}},
    {"Trilu", {"upper=@"}},
    {"Mod", {"fmod=@"}},
    {"Gelu", {"approximate='tanh'"}}};

static const int64_t values[] = {
    0,  1,  1,  2,  2,  3,         4,         6,         12,         -1,
    -1, -2, -3, 16, 65, INT32_MAX, INT32_MIN, INT64_MAX, -INT64_MAX, INT64_MIN};
static const char *const types[] = {"float",   "float",  "float",    "int64",
                                    "int64",   "int32",  "bool",     "uint8",
                                    "float16", "double", "bfloat16", "uint64"};
static const char *const shapes[] = {"[3,4]",
                                     "[3,4]",
                                     "[2,3,4]",
                                     "[2,3,4]",
                                     "[n,4]",
                                     "[n,3,4]",
                                     "[4]",
                                     "[1]",
                                     "[]",
                                     "[n,m]",
                                     "[0,3]",
                                     "[1,3,1]",
                                     "[n,3,8,8]",
                                     "[65536,4]",
                                     "[2147483648,4]",
                                     "[n,9223372036854775807]",
                                     "[9223372036854775807,n]",
                                     "[n,2305843009213693952]"};

template <typename T, size_t n>
static const T &pick(const T (&pool)[n], std::mt19937 &random) {
  return pool[random() % n];
}

static std::string pickAttributes(const std::string &op, std::mt19937 &random) {
  std::string text;
  for (const auto &entry : attributesOf) {
    if (op.rfind(entry.prefix, 0) != 0)
      continue;
    for (std::string attribute : entry.attributes) {
      if (random() % 2)
        continue;
      for (size_t at; (at = attribute.find('@')) != std::string::npos;)
        attribute.replace(at, 1, std::to_string(pick(values, random)));
      text += attribute + " ";
    }
    break;
  }
  return text;
}

namespace {
class Generator {
public:
  Generator(int64_t opset, std::mt19937 &random)
      : opset(opset), random(random), model(opset) {}

  void addNode();
  std::string finish() {
    model.output(last);
    return model.proto.SerializeAsString();
  }

private:
  std::string addOperand();

  int64_t opset;
  std::mt19937 &random;
  ModelBuilder model;
  // What most operands have, so that some fit together.
  std::string type = random() % 2 ? "float" : pick(types, random);
  std::string shape = pick(shapes, random);
  std::vector<std::string> names;
  std::string last;
};
} // namespace

std::string Generator::addOperand() {
  std::string name = "v" + std::to_string(names.size());
  switch (random() % 12) {
  case 0:
    return "";
  case 1:
    model.scalar(name, pick(values, random));
    break;
  case 2:
  case 3:
  case 4: {
    std::vector<int64_t> list(random() % 4);
    for (int64_t &value : list)
      value = pick(values, random);
    model.ints(name, list);
    break;
  }
  case 5:
    model.input(name, pick(types, random) + std::string(pick(shapes, random)));
    break;
  case 6:
    if (!names.empty())
      return names[random() % names.size()];
    [[fallthrough]];
  default:
    model.input(name, type + shape);
  }
  names.push_back(name);
  return name;
}

void Generator::addNode() {
  static const std::vector<onnx::OperatorDescription> operators =
      onnx::describeOperators();
  std::string op = operators[random() % operators.size()].name;
  const onnx::Handler *handler = onnx::findHandler(op, opset);
  int least = handler ? handler->minInputs : 1;
  int count = least + int(random() % 3);
  if (handler && handler->maxInputs != onnx::anyNumber && random() % 16)
    count = std::min(count, handler->maxInputs);
  std::vector<std::string> operands;
  for (int i = 0; i != count; ++i) {
    std::string operand = addOperand();
    while (i < least && operand.empty() && random() % 16)
      operand = addOperand();
    operands.push_back(operand);
  }
  if (!last.empty() && !operands.empty())
    operands.front() = last;
  last = "v" + std::to_string(names.size());
  names.push_back(last);
  std::vector<std::string> outputs = {last};
  if (random() % 16 == 0)
    outputs.push_back("unused" + last);
  model.node(op, operands, outputs, pickAttributes(op, random));
}

std::string makeRandomNodes(std::mt19937 &random) {
  constexpr unsigned opsets = onnx::newestOpset - onnx::oldestOpset + 1;
  Generator generator(onnx::oldestOpset + random() % opsets, random);
  for (unsigned i = 0, count = 1 + random() % 3; i != count; ++i)
    generator.addNode();
  return generator.finish();
}

} // namespace fusec::test
