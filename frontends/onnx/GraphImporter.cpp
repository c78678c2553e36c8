// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes and calls; GraphInterface.cpp has what surrounds them.

#include "frontends/onnx/GraphImporter.h"
#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

// Calls can double with each level of nesting.
constexpr size_t maxNodes = 200000;
constexpr unsigned maxCallDepth = 32;
constexpr size_t maxCopiedBytes = 256 << 20;

static StringRef normalizeDomain(StringRef domain) {
  return domain == "ai.onnx" ? "" : domain;
}
static std::string getFunctionKey(StringRef domain, StringRef name,
                                  StringRef overload) {
  return (normalizeDomain(domain) + "\n" + name + "\n" + overload).str();
}

std::string GraphImporter::getQualifiedType(const NodeProto &proto) {
  StringRef domain = normalizeDomain(proto.domain());
  return domain.empty() ? proto.op_type()
                        : (domain + "." + proto.op_type()).str();
}

static std::string getLabel(const NodeProto &proto) {
  return proto.name().empty() && proto.output_size() ? proto.output(0)
                                                     : proto.name();
}

void GraphImporter::problem(ProblemKind kind, const NodeProto &proto,
                            const Twine &message, const Twine &note) {
  (void)problems.add(kind, message, note, getLabel(proto),
                     getQualifiedType(proto));
}

LogicalResult GraphImporter::readOpsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>
        &imports,
    Scope &scope, StringRef where) {
  for (const auto &import : imports)
    scope.opsets[normalizeDomain(import.domain())] = import.version();
  auto it = scope.opsets.find("");
  if (it == scope.opsets.end())
    return success();
  if (it->second >= oldestOpset && it->second <= newestOpset)
    return success();
  return problems.add(ProblemKind::Unsupported,
                      where + "expected opset " + Twine(oldestOpset) + " to " +
                          Twine(newestOpset) + ", got " + Twine(it->second),
                      "export the model with such an opset, or convert it with "
                      "onnx.version_converter");
}

void GraphImporter::declareFunctions() {
  for (const FunctionProto &function : model.functions()) {
    auto key =
        getFunctionKey(function.domain(), function.name(), function.overload());
    if (!functions.try_emplace(key, &function).second)
      (void)problems.add(ProblemKind::Malformed, "function " +
                                                     quoted(function.name()) +
                                                     " is defined twice");
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Value GraphImporter::materialize(Entry &entry, StringRef name) {
  if (!entry.value && entry.constant) {
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    Location loc = NameLoc::get(StringAttr::get(&context, name));
    if (entry.isReplaceable)
      entry.value = ReplaceableOp::create(
          builder, loc, entry.constant.getType(),
          ReplaceableAttr::get(&context, name, AdapterPart::Whole),
          entry.constant);
    else
      entry.value = ConstantOp::create(builder, loc, entry.constant.getType(),
                                       entry.constant);
  }
  return entry.value;
}

bool GraphImporter::findInputs(Scope &scope, const NodeProto &proto,
                               SmallVectorImpl<Value> &values, bool &complete) {
  bool defined = true;
  complete = true;
  for (const std::string &name : proto.input()) {
    if (name.empty()) {
      values.push_back({});
      continue;
    }
    auto it = scope.entries.find(name);
    if (it == scope.entries.end()) {
      problem(ProblemKind::Malformed, proto,
              "expected input " + quoted(name) +
                  " to be defined before the node",
              "nodes must be in topological order");
      defined = false;
      continue;
    }
    Value value = materialize(it->second, name);
    complete &= static_cast<bool>(value);
    values.push_back(value);
  }
  return defined;
}

void GraphImporter::define(Scope &scope, const NodeProto &proto,
                           ArrayRef<Value> values) {
  for (auto [i, name] : llvm::enumerate(proto.output())) {
    if (name.empty())
      continue;
    Entry entry;
    if (i < values.size())
      entry.value = values[i];
    if (!scope.entries.try_emplace(name, entry).second)
      problem(ProblemKind::Malformed, proto,
              "expected every value to be defined once, got " + quoted(name) +
                  " again");
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool GraphImporter::checkNode(const NodeProto &proto) {
  if (++nodeCount == maxNodes + 1)
    (void)problems.add(ProblemKind::Unsupported,
                       "expected at most " + Twine(maxNodes) +
                           " nodes, counting the bodies of called functions");
  return nodeCount <= maxNodes;
}

static std::string describeCount(int least, int most) {
  if (most == anyNumber)
    return "at least " + std::to_string(least);
  if (least == most)
    return std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

/// Whether the node has the inputs and outputs of its operator.
static bool checkArity(const NodeProto &proto, const Handler &handler,
                       llvm::function_ref<void(const Twine &)> report) {
  int count = proto.input_size();
  while (count > handler.minInputs && proto.input(count - 1).empty())
    --count;
  bool present = count >= handler.minInputs;
  for (int i = 0; present && i < handler.minInputs; ++i)
    present = !proto.input(i).empty();
  if (!present ||
      (handler.maxInputs != anyNumber && count > handler.maxInputs)) {
    report("expected " + describeCount(handler.minInputs, handler.maxInputs) +
           " inputs, got " +
           Twine(present ? count : std::min(count, handler.minInputs - 1)));
    return false;
  }
  if (handler.maxInputs == anyNumber)
    for (const std::string &name : proto.input())
      if (name.empty()) {
        report("expected every input to be given, got an empty name");
        return false;
      }
  int outputs = proto.output_size();
  while (outputs > 1 && proto.output(outputs - 1).empty())
    --outputs;
  if (outputs < 1 ||
      (handler.maxOutputs != anyNumber && outputs > handler.maxOutputs)) {
    report("expected " + describeCount(1, handler.maxOutputs) +
           " outputs, got " + Twine(outputs));
    return false;
  }
  return true;
}

void GraphImporter::importNode(Scope &scope, const NodeProto &proto) {
  if (!checkNode(proto))
    return;
  auto function = functions.find(
      getFunctionKey(proto.domain(), proto.op_type(), proto.overload()));
  if (function != functions.end())
    return importCall(scope, proto, *function->second);

  auto unsupported = [&](const Twine &message, const Twine &note) {
    problem(ProblemKind::Unsupported, proto, message, note);
    define(scope, proto, {});
  };
  StringRef domain = normalizeDomain(proto.domain());
  auto opset = scope.opsets.find(domain);
  if (!domain.empty() || !isKnownOperator(proto.op_type()))
    return unsupported("operator " + quoted(getQualifiedType(proto)) +
                           " is not supported",
                       "docs/operators.md lists the operators that are");
  if (opset == scope.opsets.end()) {
    problem(ProblemKind::Malformed, proto,
            "expected an opset of the default domain to be imported");
    return define(scope, proto, {});
  }
  const Handler *handler = findHandler(proto.op_type(), opset->second);
  if (!handler)
    return unsupported("operator " + quoted(proto.op_type()) +
                           " is not one of opset " + Twine(opset->second),
                       "export the model with a newer opset");
  SmallVector<Value> inputs;
  bool complete = true;
  bool valid = findInputs(scope, proto, inputs, complete);
  valid &= checkArity(proto, *handler, [&](const Twine &message) {
    problem(ProblemKind::Malformed, proto, message);
  });
  if (!valid || !complete)
    return define(scope, proto, {});

  std::string name = scope.prefix + getLabel(proto);
  TensorBuilder builder(NameLoc::get(StringAttr::get(&context, name)), body,
                        agreement);
  Node node(*this, proto, opset->second, builder);
  node.setInputs(std::move(inputs));
  bool imported =
      (!node.hasInput(0) || succeeded(node.checkTypes(0, handler->types))) &&
      succeeded(handler->import(node)) && !node.hasFaults() &&
      succeeded(node.checkAttributesUsed());
  for (unsigned i = 0; imported && i < node.getNumOutputs(); ++i)
    if (node.wantsOutput(i) && !node.getOutputs()[i])
      imported = succeeded(
          node.unsupported("output " + Twine(i) + " is not supported"));
  define(scope, proto, imported ? node.getOutputs() : ArrayRef<Value>());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The attributes of a call by name, defaults included.
static llvm::StringMap<const AttributeProto *>
collectAttributes(const NodeProto &call, const FunctionProto &function) {
  llvm::StringMap<const AttributeProto *> attributes;
  for (const AttributeProto &attr : function.attribute_proto())
    attributes[attr.name()] = &attr;
  for (const AttributeProto &attr : call.attribute())
    attributes[attr.name()] = &attr;
  return attributes;
}

static bool refersToAttributes(const NodeProto &node) {
  return llvm::any_of(node.attribute(), [](const AttributeProto &attr) {
    return !attr.ref_attr_name().empty();
  });
}

void GraphImporter::importCall(Scope &scope, const NodeProto &proto,
                               const FunctionProto &function) {
  auto fail = [&](ProblemKind kind, const Twine &message) {
    problem(kind, proto, message);
    define(scope, proto, {});
  };
  SmallVector<Value> inputs;
  bool complete = true;
  if (!findInputs(scope, proto, inputs, complete) || !complete)
    return define(scope, proto, {});
  if (scope.depth >= maxCallDepth)
    return fail(ProblemKind::Unsupported,
                "calls of functions nest deeper than " + Twine(maxCallDepth));
  if (proto.input_size() > function.input_size() ||
      proto.output_size() > function.output_size())
    return fail(
        ProblemKind::Malformed,
        "expected at most " + Twine(function.input_size()) + " inputs and " +
            Twine(function.output_size()) + " outputs of the function, got " +
            Twine(proto.input_size()) + " and " + Twine(proto.output_size()));
  Scope inner;
  inner.opsets = scope.opsets;
  inner.depth = scope.depth + 1;
  inner.prefix = scope.prefix + getLabel(proto) + "/";
  if (failed(readOpsets(function.opset_import(), inner,
                        "function " + quoted(function.name()) + ": ")))
    return define(scope, proto, {});
  for (auto [i, name] : llvm::enumerate(function.input()))
    if (i < inputs.size() && inputs[i])
      inner.entries[name].value = inputs[i];
  auto attributes = collectAttributes(proto, function);
  ModelStorage &storage = constants.getStorage();
  for (const NodeProto &node : function.node()) {
    const NodeProto *imported = &node;
    if (refersToAttributes(node) ||
        llvm::any_of(node.input(), [&](const std::string &name) {
          return llvm::is_contained(function.input(), name) &&
                 !inner.entries.contains(name);
        })) {
      auto copy = std::make_unique<NodeProto>(node);
      copy->clear_attribute();
      for (const AttributeProto &attr : node.attribute()) {
        if (attr.ref_attr_name().empty()) {
          *copy->add_attribute() = attr;
        } else if (auto it = attributes.find(attr.ref_attr_name());
                   it != attributes.end()) {
          AttributeProto *added = copy->add_attribute();
          *added = *it->second;
          added->set_name(attr.name());
        }
      }
      // An optional input that the call leaves out is left out in the body.
      for (std::string &name : *copy->mutable_input())
        if (llvm::is_contained(function.input(), name) &&
            !inner.entries.contains(name))
          name.clear();
      storage.nodeBytes += copy->ByteSizeLong();
      if (storage.nodeBytes > maxCopiedBytes)
        return fail(ProblemKind::Unsupported,
                    "attributes of function calls take too much memory");
      imported = copy.get();
      storage.nodes.push_back(std::move(copy));
    }
    importNode(inner, *imported);
    if (nodeCount > maxNodes)
      break;
  }
  SmallVector<Value> outputs;
  for (const std::string &name : function.output()) {
    auto it = inner.entries.find(name);
    if (it == inner.entries.end() && nodeCount <= maxNodes)
      problem(ProblemKind::Malformed, proto,
              "function output " + quoted(name) +
                  " is not defined in its body");
    outputs.push_back(it == inner.entries.end() ? Value() : it->second.value);
  }
  define(scope, proto, outputs);
}

} // namespace fusec::onnx
