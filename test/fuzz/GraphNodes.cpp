// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to nodes, and to what they read.

#include "frontends/onnx/Importer.h"
#include "test/fuzz/GraphMutator.h"

#include <map>

using namespace fusec::fuzz;
using ::onnx::AttributeProto, ::onnx::GraphProto, ::onnx::NodeProto,
    ::onnx::TensorProto, ::onnx::TensorShapeProto, ::onnx::ValueInfoProto;

static const char *const attributeNames[] = {
    "axis",         "axes",
    "keepdims",     "noop_with_empty_axes",
    "perm",         "alpha",
    "beta",         "transA",
    "transB",       "to",
    "epsilon",      "stash_type",
    "batch_dims",   "num_outputs",
    "value",        "value_int",
    "value_ints",   "value_float",
    "value_floats", "allowzero",
    "start",        "end",
    "split",        "mode",
    "approximate",  "upper",
    "fmod",         "interleaved",
    "num_heads",    "rotary_embedding_dim",
    "saturate",     "select_last_index"};

void GraphMutator::rewire() {
  NodeProto *node = pickFrom(graph.mutable_node());
  if (!node)
    return;
  if (node->input_size() == 0 || chance(6))
    node->add_input(pickName());
  else if (chance(8))
    node->mutable_input()->RemoveLast();
  else
    node->set_input(int(random() % unsigned(node->input_size())),
                    chance(16) ? "" : pickName());
}

static const std::string &pickOp(Random &random) {
  static const std::vector<fusec::onnx::OperatorDescription> operators =
      fusec::onnx::describeOperators();
  return pick(operators, random).name;
}

void GraphMutator::addNode() {
  NodeProto node;
  std::string result = "v" + std::to_string(random() % 100000);
  node.set_op_type(pickOp(random));
  unsigned inputs = 1 + random() % 3;
  for (unsigned i = 0; i != inputs; ++i)
    node.add_input(pickName());
  // What follows reads the result in place of the first operand.
  std::string replaced = node.input(0);
  node.add_output(result);
  int at = chance(2) || graph.node_size() == 0
               ? graph.node_size()
               : int(random() % unsigned(graph.node_size()));
  *graph.add_node() = std::move(node);
  for (int i = graph.node_size() - 1; i > at; --i)
    graph.mutable_node()->SwapElements(i, i - 1);
  for (int i = at + 1; i < graph.node_size(); ++i)
    for (std::string &input : *graph.mutable_node(i)->mutable_input())
      if (input == replaced && chance(2))
        input = result;
  if (at + 1 == graph.node_size() || chance(4))
    addOutput(result);
}

/// The same nodes once more, which read what the first ones computed.
void GraphMutator::repeatNodes() {
  int count = graph.node_size();
  if (count == 0 || count > 400)
    return;
  std::string suffix = "_" + std::to_string(random() % 1000);
  std::map<std::string, std::string> renamed;
  std::string last;
  for (int i = int(random() % unsigned(count)); i < count; ++i) {
    NodeProto node = graph.node(i);
    for (std::string &input : *node.mutable_input()) {
      auto found = renamed.find(input);
      if (found != renamed.end())
        input = found->second;
      else if (chance(3))
        input = pickName();
    }
    for (std::string &output : *node.mutable_output())
      output = last = renamed[output] = output + suffix;
    *graph.add_node() = std::move(node);
  }
  addOutput(last);
}

/// Another model's nodes with what they need; some of its inputs are values of
/// this one.
void GraphMutator::spliceDonor() {
  GraphProto other = donor.graph();
  if (other.node_size() + graph.node_size() > 400)
    return;
  std::vector<std::string> known = getNames();
  std::string prefix = "s" + std::to_string(random() % 1000) + "_";
  std::map<std::string, std::string> connected;
  for (ValueInfoProto &input : *other.mutable_input()) {
    if (!known.empty() && chance(2)) {
      connected[input.name()] = pick(known, random);
    } else {
      input.set_name(prefix + input.name());
      *graph.add_input() = input;
    }
  }
  for (TensorProto &tensor : *other.mutable_initializer()) {
    tensor.set_name(prefix + tensor.name());
    *graph.add_initializer() = tensor;
  }
  auto rename = [&](std::string &name) {
    auto found = connected.find(name);
    name = name.empty()               ? name
           : found != connected.end() ? found->second
                                      : prefix + name;
  };
  for (NodeProto &node : *other.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      rename(input);
    for (std::string &output : *node.mutable_output())
      rename(output);
    *graph.add_node() = node;
  }
  for (ValueInfoProto &output : *other.mutable_output()) {
    rename(*output.mutable_name());
    *graph.add_output() = output;
  }
}

void GraphMutator::swapNodes() {
  if (graph.node_size() > 1)
    graph.mutable_node()->SwapElements(
        int(random() % unsigned(graph.node_size())),
        int(random() % unsigned(graph.node_size())));
}

/// What read the result reads the first operand.
void GraphMutator::dropNode() {
  if (graph.node_size() < 2)
    return;
  int at = int(random() % unsigned(graph.node_size()));
  NodeProto node = graph.node(at);
  graph.mutable_node()->DeleteSubrange(at, 1);
  if (node.input_size() == 0 || node.output_size() == 0)
    return;
  for (NodeProto &other : *graph.mutable_node())
    for (std::string &input : *other.mutable_input())
      if (input == node.output(0))
        input = node.input(0);
  for (ValueInfoProto &output : *graph.mutable_output())
    if (output.name() == node.output(0) && graph.node_size() > 0)
      output.set_name(graph.node(graph.node_size() - 1).output_size()
                          ? graph.node(graph.node_size() - 1).output(0)
                          : node.input(0));
}

void GraphMutator::changeOp() {
  NodeProto *node = pickFrom(graph.mutable_node());
  if (!node)
    return;
  if (chance(8))
    node->clear_attribute();
  node->set_op_type(chance(30) ? "Unknown" : pickOp(random));
  if (chance(4))
    node->add_output("r" + std::to_string(random() % 100000));
}

void GraphMutator::changeAttribute() {
  NodeProto *node = pickFrom(graph.mutable_node());
  if (!node)
    return;
  AttributeProto *attribute = pickFrom(node->mutable_attribute());
  if (!attribute || chance(3)) {
    attribute = node->add_attribute();
    attribute->set_name(pick(attributeNames, random));
    attribute->set_type(chance(2) ? AttributeProto::INT : AttributeProto::INTS);
  } else if (chance(6)) {
    node->mutable_attribute()->RemoveLast();
    return;
  }
  switch (attribute->type()) {
  case AttributeProto::INTS:
    if (attribute->ints_size() && chance(3))
      attribute->mutable_ints()->RemoveLast();
    else if (attribute->ints_size() && chance(2))
      attribute->set_ints(int(random() % unsigned(attribute->ints_size())),
                          pickNumber());
    else
      attribute->add_ints(pickNumber());
    return;
  case AttributeProto::FLOAT:
    attribute->set_f(float(pickNumber()) * (chance(2) ? 1 : 0.125f));
    return;
  case AttributeProto::TENSOR:
    fitTensor(*attribute->mutable_t());
    return;
  case AttributeProto::STRING:
    attribute->set_s(mutateBytes(attribute->s(), attribute->s().size() + 8));
    return;
  default:
    attribute->set_type(AttributeProto::INT);
    attribute->set_i(pickNumber());
  }
}
