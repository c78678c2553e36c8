// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators whose result does not depend on tensor elements: Constant,
// ConstantOfShape, Range, Shape, Size.

#include "frontends/onnx/handlers/Handlers.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

//===----------------------------------------------------------------------===//
// Constant
//===----------------------------------------------------------------------===//

static LogicalResult setConstant(Node &node, ElementsAttr elements) {
  return node.setOutput(
      0, ConstantOp::create(node.b, elements.getType(), elements));
}

static LogicalResult importConstant(Node &node) {
  if (node.proto.attribute_size() != 1)
    return node.malformed(fmt::format(
        "expected exactly one attribute that holds the value, got {}",
        node.proto.attribute_size()));
  Builder &b = node.b;
  auto vectorType = [&](Type type, size_t count) {
    return RankedTensorType::get({static_cast<int64_t>(count)}, type);
  };
  if (node.hasAttr("value")) {
    ElementsAttr elements = node.getTensor("value");
    return elements ? setConstant(node, elements) : failure();
  }
  if (node.hasAttr("value_int"))
    return setConstant(
        node, DenseElementsAttr::get(RankedTensorType::get({}, b.getI64Type()),
                                     node.getInt("value_int", 0)));
  if (node.hasAttr("value_float"))
    return setConstant(
        node, DenseElementsAttr::get(RankedTensorType::get({}, b.getF32Type()),
                                     float(node.getFloat("value_float", 0))));
  if (auto values = node.getInts("value_ints"))
    return setConstant(
        node, DenseElementsAttr::get(vectorType(b.getI64Type(), values->size()),
                                     ArrayRef<int64_t>(*values)));
  if (auto values = node.getFloats("value_floats"))
    return setConstant(
        node, DenseElementsAttr::get(vectorType(b.getF32Type(), values->size()),
                                     ArrayRef<float>(*values)));
  return node.unsupported(
      "expected a tensor or numbers as the value, got attribute " +
      quoted(node.proto.attribute(0).name()));
}

static LogicalResult importConstantOfShape(Node &node) {
  auto shape = node.getShapeInput(0, "the shape");
  if (failed(shape))
    return failure();
  if (node.getInputRank(0) != 1)
    return node.malformed(fmt::format("expected a shape of rank 1, got rank {}",
                                      node.getInputRank(0)));
  for (Expr size : *shape)
    if (size.isConstant() && size.getValue() < 0)
      return node.malformed("expected sizes that are not negative, got " +
                            size.str());
  if (!node.hasAttr("value"))
    return node.setOutput(0, node.b.splat(0, *shape, node.b.getF32Type()));
  auto value = dyn_cast_if_present<DenseElementsAttr>(node.getTensor("value"));
  if (!value || value.getNumElements() != 1)
    return node.hasFaults()
               ? failure()
               : node.malformed(
                     "expected attribute 'value' to have one element");
  auto element = cast<TypedAttr>(value.getSplatValue<Attribute>());
  Value result = SplatOp::create(
      node.b, getTensorType(*shape, value.getElementType()), element);
  return node.setOutput(0, result);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static LogicalResult importShape(Node &node) {
  int64_t rank = node.getInputRank(0);
  int64_t start = 0, end = rank;
  if (node.opset >= 15) {
    start = node.getInt("start", 0);
    end = node.getInt("end", rank);
  }
  auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  start = clamped(start);
  end = std::max(start, clamped(end));
  Sizes sizes = node.getInputSizes(0);
  Value result = node.b.sizeVector(ArrayRef(sizes).slice(start, end - start));
  return node.setOutput(0, result);
}

static LogicalResult importSize(Node &node) {
  Expr count = getElementCount(node.getInputSizes(0), node.b.getContext());
  return node.setOutput(0, node.b.sizeValue(count, node.b.getI64Type()));
}

//===----------------------------------------------------------------------===//
// Range
//===----------------------------------------------------------------------===//

/// start + i * delta, for `count` elements; null stands for no start or step.
static Value makeProgression(TensorBuilder &b, Type type, Expr count,
                             Value start, Value delta) {
  Value result = b.iota(0, count, type);
  if (delta)
    result = b.binary<MulOp>(result, b.broadcastTo(delta, count));
  return start ? b.binary<AddOp>(result, b.broadcastTo(start, count)) : result;
}

static std::optional<double> getFloatConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  llvm::APFloat number = *elements.value_begin<llvm::APFloat>();
  bool loses;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
  return number.convertToDouble();
}

static LogicalResult importFloatRange(Node &node, ArrayRef<Value> scalars) {
  double numbers[3];
  for (int i = 0; i < 3; ++i) {
    auto number = getFloatConstant(scalars[i]);
    if (auto whole = node.getKnown(scalars[i]);
        whole && (*whole)[0].isConstant())
      number = static_cast<double>((*whole)[0].getValue());
    if (!number)
      return node.unsupported(
          fmt::format("expected input {} to be a constant, got a value "
                      "computed at run time",
                      i),
          "a range of floats needs constants, or inputs given by --const");
    numbers[i] = *number;
  }
  double count = std::ceil((numbers[1] - numbers[0]) / numbers[2]);
  if (!(std::abs(count) < 1e15))
    return node.malformed("expected a finite number of elements");
  Expr size = node.b.getExpr(std::max<int64_t>(0, static_cast<int64_t>(count)));
  return node.setOutput(0, makeProgression(node.b, node.getInputType(0), size,
                                           scalars[0], scalars[2]));
}

static LogicalResult importRange(Node &node) {
  if (failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  SmallVector<Value> scalars;
  for (int i = 0; i < 3; ++i) {
    if (!getElementCount(node.getInputSizes(i), node.b.getContext())
             .isConstant(1))
      return node.malformed("expected scalar inputs, got sizes " +
                            fusec::toString(node.getInputSizes(i)));
    scalars.push_back(node.b.reshape(node.getInput(i), {}));
  }
  Type type = node.getInputType(0);
  if (isa<FloatType>(type))
    return importFloatRange(node, scalars);
  SmallVector<Expr> bounds;
  for (int i = 0; i < 3; ++i) {
    auto known = node.getKnown(scalars[i]);
    if (!known)
      return node.unsupported(
          fmt::format("expected input {} to be known when compiling", i),
          "give the input's value: --const NAME=FILE.npy");
    bounds.push_back((*known)[0]);
  }
  auto delta = bounds[2].getConstant();
  if (!delta || *delta == 0)
    return node.malformed("expected a constant step other than 0, got " +
                          bounds[2].str());
  Expr distance = *delta > 0 ? bounds[1] - bounds[0] : bounds[0] - bounds[1];
  Expr step = node.b.getExpr(*delta > 0            ? *delta
                             : *delta == INT64_MIN ? INT64_MAX
                                                   : -*delta);
  Expr count = distance.ceilDiv(step);
  if (!isProvedNonNegative(count))
    count = Expr::max(count, node.b.getExpr(0));
  return node.setOutput(
      0, makeProgression(node.b, type, count,
                         bounds[0].isConstant(0) ? Value() : scalars[0],
                         *delta == 1 ? Value() : scalars[2]));
}

llvm::ArrayRef<Handler> getConstantHandlers() {
  static constexpr Handler handlers[] = {
      {"Constant", 13, 0, 0, 1, Types::Any, importConstant,
       "strings and sparse tensors"},
      {"ConstantOfShape", 13, 1, 1, 1, Types::Integer, importConstantOfShape},
      {"Range", 13, 3, 3, 1, Types::Number, importRange,
       "float bounds that are neither constants nor whole numbers known when "
       "compiling"},
      {"Shape", 13, 1, 1, 1, Types::Any, importShape},
      {"Size", 13, 1, 1, 1, Types::Any, importSize},
  };
  return handlers;
}

} // namespace fusec::onnx
