// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/damaged/Bombs.h"
#include "test/support/ModelBuilder.h"

using namespace fusec::onnx::test;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

namespace fusec::test {

namespace {
class BombMaker {
public:
  BombMaker(std::mt19937 &random, unsigned most) : random(random), most(most) {}

  std::string make() {
    model.input("x", "float[n,4]");
    switch (random() % 5) {
    case 0:
      nestCalls();
      break;
    case 1:
      nestSubgraphs();
      break;
    case 2:
      nestTypes();
      break;
    default:
      doubleValue();
    }
    return model.proto.SerializeAsString();
  }

private:
  unsigned below(unsigned n) { return random() % n; }

  /// Each function calls the next a few times.
  void nestCalls() {
    unsigned levels = 1 + below(40), fanOut = 1 + below(3);
    std::string name(1 + below(2) * below(4000), 'n');
    for (unsigned level = 0; level < levels; ++level) {
      FunctionProto &function = *model.proto.add_functions();
      function.set_domain("local");
      function.set_name("f" + std::to_string(level));
      function.add_input("a0");
      function.add_output("a" + std::to_string(fanOut));
      for (unsigned i = 0; i < fanOut; ++i) {
        NodeProto &node = *function.add_node();
        bool isLast = level + 1 == levels;
        node.set_op_type(isLast ? "Relu" : "f" + std::to_string(level + 1));
        if (!isLast)
          node.set_domain("local");
        node.set_name(name);
        node.add_input("a" + std::to_string(i));
        node.add_output("a" + std::to_string(i + 1));
      }
    }
    model.node("local.f0", {"x"}, {"y"});
    model.output("y");
  }

  void nestSubgraphs() {
    model.node("If", {"x"}, {"y"});
    model.output("y");
    NodeProto *node = model.proto.mutable_graph()->mutable_node(0);
    for (unsigned level = below(400); level > 0; --level) {
      ::onnx::AttributeProto &attr = *node->add_attribute();
      attr.set_name("then_branch");
      attr.set_type(::onnx::AttributeProto::GRAPH);
      node = attr.mutable_g()->add_node();
      node->set_op_type("If");
    }
  }

  void nestTypes() {
    model.output("x");
    auto *type = model.proto.mutable_graph()->mutable_input(0)->mutable_type();
    for (unsigned level = below(1500); level > 0; --level)
      type = type->mutable_sequence_type()->mutable_elem_type();
  }

  /// Of an input or a constant, by joining, adding, repeating or multiplying.
  void doubleValue() {
    std::string last = "x", before;
    if (random() % 2) {
      last = "c";
      model.floats("c", {1, 4},
                   random() % 2 ? std::vector<float>{1, 1, 1, 1}
                                : std::vector<float>{1, 2, 3, 4});
    }
    before = last;
    model.ints("shape", {-1, 4});
    model.ints("repeats", {2, 1});
    unsigned levels =
        random() % 4 ? below(70) : std::min(most, 1u << (6 + below(8)));
    bool isLong = levels >= 64;
    for (unsigned level = 0; level < levels; ++level) {
      std::string next = "v" + std::to_string(level);
      std::vector<std::string> twice = {last, last};
      switch (isLong ? 4 + below(2) : below(6)) {
      case 0:
        model.node("Concat", twice, {next}, "axis=0");
        break;
      case 1:
        model.node("Concat", {last, before, last}, {next}, "axis=0");
        break;
      case 2:
        model.node("Tile", {last, "repeats"}, {next});
        break;
      case 3:
        model.node("Reshape", {last, "shape"}, {next});
        break;
      case 4:
        model.node("Add", twice, {next});
        break;
      default:
        model.node("Sigmoid", {last}, {next});
      }
      before = last;
      last = next;
    }
    model.node("Exp", {last}, {"y"});
    model.output("y");
  }

  std::mt19937 &random;
  unsigned most;
  ModelBuilder model;
};
} // namespace

std::string makeBomb(std::mt19937 &random, unsigned most) {
  return BombMaker(random, most).make();
}

} // namespace fusec::test
