// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/Node.h"
#include "frontends/onnx/GraphImporter.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

using ::onnx::AttributeProto;

Node::Node(GraphImporter &graph, const ::onnx::NodeProto &proto, int64_t opset,
           TensorBuilder &b)
    : b(b), proto(proto), opset(opset), graph(graph),
      outputs(proto.output_size()) {}

IndexPolicy Node::getGatherPolicy() const { return graph.options.gatherPolicy; }

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

static std::string getLabel(const ::onnx::NodeProto &proto) {
  if (!proto.name().empty() || proto.output_size() == 0)
    return proto.name();
  return proto.output(0);
}

LogicalResult Node::malformed(const Twine &message, const Twine &note) {
  faults = true;
  return graph.problems.add(ProblemKind::Malformed, message, note,
                            getLabel(proto),
                            GraphImporter::getQualifiedType(proto));
}
LogicalResult Node::unsupported(const Twine &message, const Twine &note) {
  faults = true;
  return graph.problems.add(ProblemKind::Unsupported, message, note,
                            getLabel(proto),
                            GraphImporter::getQualifiedType(proto));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

std::optional<SmallVector<Expr>> Node::getKnown(Value value) {
  return graph.known.get(value);
}

FailureOr<SmallVector<Expr>> Node::getShapeInput(unsigned i, StringRef what) {
  Type type = getInputType(i);
  if (!type.isSignlessInteger(64) && !type.isSignlessInteger(32))
    return malformed(
        fmt::format("expected {} of type int64, got {}", what, toString(type)));
  if (getInputRank(i) > 1)
    return malformed(fmt::format("expected {} of rank 0 or 1, got rank {}",
                                 what, getInputRank(i)));
  if (auto elements = getKnown(getInput(i))) {
    return *elements;
  }
  std::string name = quoted(proto.input(i));
  return unsupported(
      fmt::format("expected {} ({}) to be known when compiling, got values "
                  "that are computed at run time",
                  what, name),
      isa<BlockArgument>(getInput(i))
          ? fmt::format("give the input's value: --const {}=FILE.npy",
                        proto.input(i))
      : isa_and_present<ReplaceableOp>(getInput(i).getDefiningOp())
          ? "leave its initializer out of --replaceable and --updatable"
          : "sizes may only depend on constants, on sizes of inputs and on "
            "inputs given by --const");
}

FailureOr<SmallVector<int64_t>> Node::getIntsInput(unsigned i, StringRef what) {
  auto elements = getShapeInput(i, what);
  if (failed(elements))
    return failure();
  SmallVector<int64_t> values;
  for (Expr element : *elements) {
    if (!element.isConstant())
      return unsupported(
          fmt::format("expected {} to be numbers, got {}", what, element.str()),
          "give the dimension a size: --dim NAME=SIZE");
    values.push_back(element.getValue());
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool Node::hasAttr(StringRef name) const {
  return llvm::any_of(proto.attribute(), [&](const AttributeProto &attr) {
    return attr.name() == name;
  });
}

const AttributeProto *Node::find(StringRef name,
                                 AttributeProto::AttributeType type) {
  used.insert(name);
  for (const AttributeProto &attr : proto.attribute()) {
    if (attr.name() != name)
      continue;
    if (attr.type() == type)
      return &attr;
    (void)malformed(
        fmt::format("expected attribute {} of type {}, got {}", quoted(name),
                    AttributeProto::AttributeType_Name(type),
                    AttributeProto::AttributeType_Name(attr.type())));
    return nullptr;
  }
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t defaultValue) {
  const AttributeProto *attr = find(name, AttributeProto::INT);
  return attr ? attr->i() : defaultValue;
}
bool Node::getBool(StringRef name, bool defaultValue) {
  return getInt(name, defaultValue) != 0;
}
double Node::getFloat(StringRef name, float defaultValue) {
  const AttributeProto *attr = find(name, AttributeProto::FLOAT);
  return attr ? attr->f() : defaultValue;
}
std::string Node::getString(StringRef name, StringRef defaultValue) {
  const AttributeProto *attr = find(name, AttributeProto::STRING);
  return attr ? attr->s() : defaultValue.str();
}
std::optional<SmallVector<int64_t>> Node::getInts(StringRef name) {
  const AttributeProto *attr = find(name, AttributeProto::INTS);
  if (!attr)
    return std::nullopt;
  return SmallVector<int64_t>(attr->ints().begin(), attr->ints().end());
}
std::optional<SmallVector<float>> Node::getFloats(StringRef name) {
  const AttributeProto *attr = find(name, AttributeProto::FLOATS);
  if (!attr)
    return std::nullopt;
  return SmallVector<float>(attr->floats().begin(), attr->floats().end());
}
ElementsAttr Node::getTensor(StringRef name) {
  const AttributeProto *attr = find(name, AttributeProto::TENSOR);
  if (!attr)
    return {};
  std::string error;
  ElementsAttr elements = graph.constants.read(attr->t(), error);
  if (!elements)
    (void)unsupported(fmt::format("attribute {}: {}", quoted(name), error));
  return elements;
}
void Node::ignoreAttr(StringRef name) { used.insert(name); }

Type Node::getTypeAttr(StringRef name, int64_t defaultValue) {
  int64_t number = getInt(name, defaultValue);
  Type type = number == static_cast<int32_t>(number)
                  ? getTypeOfDtype(static_cast<int32_t>(number), b.getContext())
                  : Type();
  if (!type)
    (void)unsupported(fmt::format(
        "expected attribute {} to be a supported element type, got number {}",
        quoted(name), number));
  return type;
}

LogicalResult Node::checkAttributesUsed() {
  LogicalResult result = success();
  llvm::StringSet<> seen;
  for (const AttributeProto &attr : proto.attribute()) {
    if (!seen.insert(attr.name()).second)
      result = malformed(
          fmt::format("attribute {} is given twice", quoted(attr.name())));
    if (!used.contains(attr.name()))
      result =
          malformed(fmt::format("attribute {} is not one of {} at opset {}",
                                quoted(attr.name()), getOpType(), opset));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

FailureOr<int64_t> Node::getAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return malformed(fmt::format("expected an axis from {} to {}, got {}",
                                 -rank, rank - 1, axis));
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> Node::getAxes(ArrayRef<int64_t> axes,
                                              int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    auto valid = getAxis(axis, rank);
    if (failed(valid))
      return failure();
    if (llvm::is_contained(result, *valid))
      return malformed(
          fmt::format("expected distinct axes, got {} twice", *valid));
    result.push_back(*valid);
  }
  llvm::sort(result);
  return result;
}

LogicalResult Node::checkTypes(unsigned input, Types allowed) {
  if (contains(allowed, getInputType(input)))
    return success();
  return unsupported(
      fmt::format("expected input {} to have elements of {}, got {}", input,
                  toString(allowed), toString(getInputType(input))));
}

LogicalResult Node::checkSameTypes(ArrayRef<unsigned> indices) {
  std::optional<unsigned> first;
  for (unsigned i : indices) {
    if (!hasInput(i))
      continue;
    if (!first)
      first = i;
    if (getInputType(i) != getInputType(*first))
      return malformed(fmt::format(
          "expected input {} to have input {}'s element type {}, got {}", i,
          *first, toString(getInputType(*first)), toString(getInputType(i))));
  }
  return success();
}

LogicalResult Node::checkProduct(ArrayRef<Expr> sizes) {
  if (sizes.size() > maxRank)
    return unsupported(
        fmt::format("expected tensors of rank {} at most, got rank {}", maxRank,
                    sizes.size()));
  if (!hasSmallProduct(sizes))
    return unsupported(
        "expected shorter expressions of dimensions as the sizes of a tensor",
        "give dimensions a size: --dim NAME=SIZE");
  return success();
}

LogicalResult Node::checkRank(unsigned input, int64_t least) {
  if (getInputRank(input) >= least)
    return success();
  return malformed(
      fmt::format("expected input {} to have rank {} or more, got {}", input,
                  least, getInputRank(input)));
}

FailureOr<SmallVector<Value>>
Node::broadcastInputs(ArrayRef<unsigned> indices) {
  SmallVector<Value> values;
  for (unsigned i : indices)
    values.push_back(getInput(i));
  std::string sizes;
  for (Value value : values)
    sizes += (sizes.empty() ? "" : " and ") + fusec::toString(getSizes(value));
  if (failed(b.broadcastAll(values)))
    return malformed("expected sizes that broadcast together, got " + sizes);
  return values;
}

FailureOr<Value> Node::broadcastInput(unsigned input, ArrayRef<Expr> sizes) {
  Sizes from = getInputSizes(input);
  bool valid = from.size() <= sizes.size();
  size_t skipped = valid ? sizes.size() - from.size() : 0;
  for (size_t i = 0; valid && i < from.size(); ++i)
    valid = from[i].isConstant(1) ||
            b.agreement.agree(sizes[skipped + i], from[i],
                              getOpType() + ": broadcast sizes");
  if (!valid)
    return malformed(
        fmt::format("expected input {} to broadcast to sizes {}, got {}", input,
                    fusec::toString(sizes), fusec::toString(from)));
  // What the sizes of the result stay is the other operand's business.
  return b.broadcastTo(getInput(input), sizes);
}

FailureOr<Expr> Node::agree(Expr x, Expr y, StringRef reason) {
  if (auto common = b.agreement.agree(x, y, getOpType() + ": " + reason))
    return *common;
  return malformed(fmt::format("{}: expected equal sizes, got {} and {}",
                               reason, x.str(), y.str()));
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

bool Node::wantsOutput(unsigned i) const {
  return i < getNumOutputs() && !proto.output(i).empty();
}

LogicalResult Node::setOutput(unsigned i, Value value) {
  if (i >= outputs.size())
    return success();
  Sizes sizes = getSizes(value);
  if (failed(checkProduct(sizes)))
    return failure();
  SmallVector<int64_t> constants;
  for (Expr size : sizes) {
    if (auto constant = size.getConstant())
      constants.push_back(*constant);
    else if (auto upper = ExprRanges({}).upperBound(size); upper && *upper < 0)
      return malformed("expected sizes that are not negative, got " +
                       size.str());
  }
  std::string error;
  if (!areValidSizes(constants, getElementBytes(getElementType(value)), error))
    return malformed(error);
  outputs[i] = value;
  return success();
}

} // namespace fusec::onnx
