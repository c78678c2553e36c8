// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which change is made; those to names, functions and options.

#include "test/fuzz/GraphMutator.h"
#include "frontends/onnx/Importer.h"

using namespace fusec::fuzz;
using ::onnx::AttributeProto, ::onnx::GraphProto, ::onnx::ModelProto,
    ::onnx::NodeProto, ::onnx::TensorProto, ::onnx::TensorShapeProto,
    ::onnx::ValueInfoProto;

/// Names that mean something to CUDA C, to the preprocessor or to what is
/// generated, and names that are no identifiers.
static const char *const names[] = {
    "d0",      "row1",      "valid1",     "NULL",      "nullptr",
    "and_eq",  "constexpr", "__global__", "__LINE__",  "FUSEC_DEVICE",
    "float",   "main",      "x",          "a.b",       "a/b:0",
    "",        "1",         "\"",         "\\",        "\n",
    "\x1b[2J", "\xff\xfe",  "i0",         "min",       "floordiv",
    "batch",   "n",         "blockIdx",   "threadIdx", "assert"};

std::vector<std::string> GraphMutator::getNames() const {
  std::vector<std::string> all;
  for (const ValueInfoProto &input : graph.input())
    all.push_back(input.name());
  for (const TensorProto &tensor : graph.initializer())
    all.push_back(tensor.name());
  for (const NodeProto &node : graph.node())
    all.insert(all.end(), node.output().begin(), node.output().end());
  return all;
}

std::string GraphMutator::pickName() {
  std::vector<std::string> all = getNames();
  return all.empty() ? "" : pick(all, random);
}

int64_t GraphMutator::pickNumber() {
  static const int64_t numbers[] = {
      0,       1,         1,         2,         2,         3,
      4,       5,         8,         16,        17,        32,
      64,      127,       128,       129,       1024,      4096,
      65536,   -1,        -1,        -2,        -3,        -128,
      1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t(1) << 40};
  return chance(4) ? int64_t(random() % 20) : pick(numbers, random);
}

void GraphMutator::addOutput(const std::string &name) {
  if (graph.output_size() > 0 && chance(2))
    graph.mutable_output(int(random() % unsigned(graph.output_size())))
        ->set_name(name);
  else
    graph.add_output()->set_name(name);
}

void GraphMutator::rename() {
  std::string from = pickName(), to = pick(names, random);
  if (chance(3)) {
    if (NodeProto *node = pickFrom(graph.mutable_node()))
      node->set_name(to);
    return;
  }
  if (chance(8))
    to = std::string(random() % 3000, 'a');
  auto change = [&](std::string *name) {
    if (*name == from)
      *name = to;
  };
  for (auto *list : {graph.mutable_input(), graph.mutable_output()})
    for (ValueInfoProto &value : *list)
      change(value.mutable_name());
  for (TensorProto &tensor : *graph.mutable_initializer())
    change(tensor.mutable_name());
  for (NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      change(&input);
    for (std::string &output : *node.mutable_output())
      change(&output);
  }
}

/// A function of one node, or of what calls an earlier function several times.
void GraphMutator::makeFunction() {
  NodeProto *node = pickFrom(graph.mutable_node());
  if (!node || model.functions_size() > 20)
    return;
  auto &function = *model.add_functions();
  function.set_name("F" + std::to_string(model.functions_size()));
  function.set_domain("f");
  *function.mutable_opset_import() = model.opset_import();
  auto &own = *model.add_opset_import();
  own.set_domain("f");
  own.set_version(1);
  *function.add_opset_import() = own;
  for (const std::string &input : node->input())
    function.add_input(input);
  for (const std::string &output : node->output())
    function.add_output(output);
  unsigned times = 1 + random() % 3;
  for (unsigned i = 0; i != times; ++i) {
    NodeProto *body = function.add_node();
    *body = *node;
    if (i + 1 != times && body->output_size() && body->input_size()) {
      // The last node's operand.
      body->set_output(0, "t" + std::to_string(i));
    }
    if (i != 0 && body->input_size())
      body->set_input(0, "t" + std::to_string(i - 1));
  }
  node->set_op_type(function.name());
  node->set_domain("f");
  node->clear_attribute();
}

void GraphMutator::changeOpset() {
  if (model.opset_import_size() == 0)
    model.add_opset_import();
  model.mutable_opset_import(0)->set_version(
      chance(8) ? pickNumber()
                : fusec::onnx::oldestOpset +
                      int64_t(random() % (fusec::onnx::newestOpset - 12)));
}

void GraphMutator::changeOptions() {
  static const char *const words[] = {"sm_80",  "sm_90a",      "ptx",  "onnx",
                                      "tf32",   "fp16",        "bf16", "clamp",
                                      "nofuse", "replaceable", "join"};
  std::string text;
  for (unsigned i = 0, count = random() % 4; i != count; ++i)
    text += (i ? " " : "") + std::string(pick(words, random));
  model.set_producer_name(text);
}

void GraphMutator::mutate() {
  using Change = void (GraphMutator::*)();
  static const Change changes[] = {
      &GraphMutator::rewire,          &GraphMutator::rewire,
      &GraphMutator::rewire,          &GraphMutator::addNode,
      &GraphMutator::addNode,         &GraphMutator::addNode,
      &GraphMutator::repeatNodes,     &GraphMutator::spliceDonor,
      &GraphMutator::swapNodes,       &GraphMutator::dropNode,
      &GraphMutator::dropNode,        &GraphMutator::changeOp,
      &GraphMutator::changeOp,        &GraphMutator::changeAttribute,
      &GraphMutator::changeAttribute, &GraphMutator::changeAttribute,
      &GraphMutator::changeType,      &GraphMutator::changeSize,
      &GraphMutator::changeSize,      &GraphMutator::changeTensor,
      &GraphMutator::changeTensor,    &GraphMutator::rename,
      &GraphMutator::makeFunction,    &GraphMutator::changeOpset,
      &GraphMutator::changeOptions};
  unsigned times = 1 + random() % 4;
  for (unsigned i = 0; i != times; ++i)
    (this->*pick(changes, random))();
}

std::string fusec::fuzz::mutateGraph(std::string_view bytes,
                                     std::string_view donor, Random &random) {
  ModelProto model, other;
  if (!model.ParsePartialFromArray(bytes.data(), int(bytes.size())))
    return "";
  if (!other.ParsePartialFromArray(donor.data(), int(donor.size())))
    other = model;
  GraphMutator(model, other, random).mutate();
  return model.SerializePartialAsString();
}
