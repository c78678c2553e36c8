// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes and calls; GraphInterface.cpp has what surrounds them.

#include "frontends/onnx/GraphImporter.h"
#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

// Inputs, outputs and attributes of all nodes.
constexpr uint64_t maxParts = 10 * maxNodes;
constexpr size_t maxCopiedBytes = 256 << 20;
constexpr llvm::StringLiteral splitNote =
    "compile parts of the model one by one";
// The name of a node begins with those of the calls around it.
constexpr size_t maxNameBytes = 512;

std::string GraphImporter::getQualifiedType(const NodeProto &proto) {
  StringRef domain = normalizeDomain(proto.domain());
  return domain.empty() ? proto.op_type()
                        : (domain + "." + proto.op_type()).str();
}

/// Without its middle where it is too long.
static std::string shorten(std::string name) {
  constexpr size_t half = maxNameBytes / 2;
  if (name.size() > maxNameBytes)
    name.replace(half, name.size() - 2 * half, "...");
  return name;
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
    if (normalizeDomain(import.domain()).empty())
      scope.opset = import.version();
  if (!scope.opset ||
      (*scope.opset >= oldestOpset && *scope.opset <= newestOpset))
    return success();
  return problems.add(ProblemKind::Unsupported,
                      fmt::format("{}expected opset {} to {}, got {}", where,
                                  oldestOpset, newestOpset, *scope.opset),
                      "export the model with such an opset, or convert it with "
                      "onnx.version_converter");
}

void GraphImporter::declareFunctions() {
  for (const FunctionProto &function : model.functions()) {
    auto key =
        getFunctionKey(function.domain(), function.name(), function.overload());
    if (!functions.try_emplace(key, &function).second)
      (void)problems.add(
          ProblemKind::Malformed,
          fmt::format("function {} is defined twice", quoted(function.name())));
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
              fmt::format("expected input {} to be defined before the node",
                          quoted(name)),
              "nodes must be in topological order");
      defined = false;
      continue;
    }
    if (it->second.isSequence) {
      problem(ProblemKind::Unsupported, proto,
              fmt::format("input {} is a sequence", quoted(name)),
              "only loops over embedding bags make sequences");
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
                           ArrayRef<Value> values, bool areSequences) {
  for (auto [i, name] : llvm::enumerate(proto.output())) {
    if (name.empty())
      continue;
    Entry entry;
    if (i < values.size())
      entry.value = values[i];
    entry.isSequence = areSequences;
    if (!scope.entries.try_emplace(name, entry).second)
      problem(
          ProblemKind::Malformed, proto,
          fmt::format("expected every value to be defined once, got {} again",
                      quoted(name)));
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static std::string describeCount(int least, int most) {
  if (most == anyNumber)
    return fmt::format("at least {}", least);
  if (least == most)
    return std::to_string(least);
  return fmt::format("{} to {}", least, most);
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
    report(
        fmt::format("expected {} inputs, got {}",
                    describeCount(handler.minInputs, handler.maxInputs),
                    present ? count : std::min(count, handler.minInputs - 1)));
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
    report(fmt::format("expected {} outputs, got {}",
                       describeCount(1, handler.maxOutputs), outputs));
    return false;
  }
  return true;
}

void GraphImporter::importNode(Scope &scope, const NodeProto &proto) {
  if (const FunctionProto *function = findFunction(functions, proto))
    return importCall(scope, proto, *function);
  if (normalizeDomain(proto.domain()).empty() && importBags(scope, proto))
    return;

  auto unsupported = [&](const Twine &message, const Twine &note) {
    problem(ProblemKind::Unsupported, proto, message, note);
    define(scope, proto, {});
  };
  std::string type = getQualifiedType(proto);
  if (!isKnownOperator(type))
    return unsupported(
        fmt::format("operator {} is not supported", quoted(type)),
        "docs/operators.md lists the operators that are");
  if (!scope.opset) {
    problem(ProblemKind::Malformed, proto,
            "expected an opset of the default domain to be imported");
    return define(scope, proto, {});
  }
  const Handler *handler = findHandler(type, *scope.opset);
  if (!handler)
    return unsupported(fmt::format("operator {} is not one of opset {}",
                                   quoted(proto.op_type()), *scope.opset),
                       "export the model with a newer opset");
  SmallVector<Value> inputs;
  bool complete = true;
  bool valid = findInputs(scope, proto, inputs, complete);
  valid &= checkArity(proto, *handler, [&](const Twine &message) {
    problem(ProblemKind::Malformed, proto, message);
  });
  if (!valid || !complete)
    return define(scope, proto, {});

  std::string name = shorten(scope.prefix + getLabel(proto));
  TensorBuilder builder(NameLoc::get(StringAttr::get(&context, name)), body,
                        agreement);
  Node node(*this, proto, *scope.opset, builder);
  node.setInputs(std::move(inputs));
  bool imported =
      (!node.hasInput(0) || succeeded(node.checkTypes(0, handler->types))) &&
      succeeded(handler->import(node)) && !node.hasFaults() &&
      succeeded(node.checkAttributesUsed());
  for (unsigned i = 0; imported && i < node.getNumOutputs(); ++i)
    if (node.wantsOutput(i) && !node.getOutputs()[i])
      imported = succeeded(
          node.unsupported(fmt::format("output {} is not supported", i)));
  define(scope, proto, imported ? node.getOutputs() : ArrayRef<Value>());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::checkSize() {
  auto size = getInlinedSize(model.graph(), functions, maxCallDepth);
  if (!size)
    return problems.add(
        ProblemKind::Unsupported,
        fmt::format("calls of functions nest deeper than {}", maxCallDepth));
  auto check = [&](uint64_t number, uint64_t most, StringRef what) {
    if (number <= most)
      return success();
    return problems.add(
        ProblemKind::Unsupported,
        fmt::format("expected at most {} {}, counting the bodies of functions "
                    "once a call, got {}",
                    most, what,
                    number == UINT64_MAX ? "2^64 or more"
                                         : std::to_string(number)),
        splitNote);
  };
  return success(succeeded(check(size->nodes, maxNodes, "nodes")) &&
                 succeeded(check(size->parts, maxParts,
                                 "inputs, outputs and attributes of nodes")));
}

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

LogicalResult GraphImporter::eraseDeadOps() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  uint64_t count = body->getOperations().size();
  if (count <= maxOperations)
    return success();
  return problems.add(
      ProblemKind::Unsupported,
      fmt::format("expected a model that becomes at most {} operations, got {}",
                  maxOperations, count),
      splitNote);
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
  if (proto.input_size() > function.input_size() ||
      proto.output_size() > function.output_size())
    return fail(ProblemKind::Malformed,
                fmt::format("expected at most {} inputs and {} outputs of the "
                            "function, got {} and {}",
                            function.input_size(), function.output_size(),
                            proto.input_size(), proto.output_size()));
  Scope inner;
  inner.opset = scope.opset;
  inner.prefix = shorten(scope.prefix + getLabel(proto)) + "/";
  if (failed(readOpsets(function.opset_import(), inner,
                        fmt::format("function {}: ", quoted(function.name())))))
    return define(scope, proto, {});
  llvm::StringSet<> leftOut; // optional inputs
  for (auto [i, name] : llvm::enumerate(function.input())) {
    if (i < inputs.size() && inputs[i])
      inner.entries[name].value = inputs[i];
    else
      leftOut.insert(name);
  }
  auto isLeftOut = [&](const std::string &name) {
    return leftOut.contains(name) && !inner.entries.contains(name);
  };
  auto attributes = collectAttributes(proto, function);
  ModelStorage &storage = constants.getStorage();
  for (const NodeProto &node : function.node()) {
    const NodeProto *imported = &node;
    if (refersToAttributes(node) || llvm::any_of(node.input(), isLeftOut)) {
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
        if (isLeftOut(name))
          name.clear();
      storage.nodeBytes += copy->ByteSizeLong();
      if (storage.nodeBytes > maxCopiedBytes)
        return fail(ProblemKind::Unsupported,
                    "attributes of function calls take too much memory");
      imported = copy.get();
      storage.nodes.push_back(std::move(copy));
    }
    importNode(inner, *imported);
  }
  SmallVector<Value> outputs;
  for (const std::string &name : function.output()) {
    auto it = inner.entries.find(name);
    if (it == inner.entries.end())
      problem(ProblemKind::Malformed, proto,
              fmt::format("function output {} is not defined in its body",
                          quoted(name)));
    outputs.push_back(it == inner.entries.end() ? Value() : it->second.value);
  }
  define(scope, proto, outputs);
}

} // namespace fusec::onnx
