// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What operators in a loop over bags compute of a bag.

#include "frontends/onnx/BagLoop.h"
#include "ir/Constants.h"

using namespace mlir;

namespace fusec::onnx {

using ::onnx::NodeProto;
using Kind = LoopValue::Kind;

static const ::onnx::AttributeProto *findAttribute(const NodeProto &node,
                                                   StringRef name) {
  for (const auto &attr : node.attribute())
    if (attr.name() == name)
      return &attr;
  return nullptr;
}
static int64_t getInt(const NodeProto &node, StringRef name,
                      int64_t defaultValue) {
  const auto *attr = findAttribute(node, name);
  return attr ? attr->i() : defaultValue;
}

static LoopValue withKind(LoopValue value, Kind kind) {
  value.kind = kind;
  return value;
}

LoopValue BagLoop::getBound(Value offsets, int64_t shift) {
  if (getRank(offsets) != 1 || !isa<IntegerType>(getElementType(offsets)))
    return {};
  // The ends of bags are often what is left without the first.
  while (auto slice = offsets.getDefiningOp<SliceOp>()) {
    Expr first(cast<ExprAttr>(slice.getOffsets()[0]));
    // Without offsets there is no first, and no bag.
    if (first == Expr::min(builder.getExpr(1), getSizes(slice.getOperand())[0]))
      first = builder.getExpr(1);
    if (!first.isConstant() || slice.getSteps()[0] != 1)
      break;
    shift += first.getValue();
    offsets = slice.getOperand();
  }
  LoopValue bound;
  bound.kind = Kind::Bound;
  bound.rows.offsets = offsets;
  bound.shift = shift;
  return bound;
}

LoopValue BagLoop::evaluateOperator(const NodeProto &node,
                                    ArrayRef<LoopValue> inputs) {
  StringRef type = node.op_type();
  LoopValue a = inputs.size() > 0 ? inputs[0] : LoopValue(),
            b = inputs.size() > 1 ? inputs[1] : LoopValue();
  if (type == "CastLike" && a.kind == Kind::Outer)
    return a;
  if (type == "Identity")
    return a;
  if (llvm::is_contained({"Cast", "CastLike", "Reshape", "Squeeze"}, type))
    return llvm::is_contained(
               {Kind::Bag, Kind::Bound, Kind::Count, Kind::Place, Kind::Id},
               a.kind)
               ? a
               : LoopValue();
  if (type == "Unsqueeze") {
    a.isColumn = a.kind == Kind::Range && isKnown(b, 1);
    return a.isColumn || a.kind == Kind::Bag || a.kind == Kind::Bound
               ? a
               : LoopValue();
  }
  if (type == "Add" || type == "Sub")
    return evaluateSum(type, a, b);
  if (llvm::is_contained({"Equal", "Less", "Greater"}, type))
    return evaluateComparison(type, a, b);
  if (type == "Not" && a.kind == Kind::IsPadding)
    return withKind(a, Kind::IsNoPadding);
  if (type == "Gather" && getInt(node, "axis", 0) == 0)
    return evaluateGather(a, b);
  if (type == "Slice")
    return evaluateSlice(inputs);
  if (type == "Mul")
    return evaluateProduct(a, b);
  if (type == "Div" && a.kind == Kind::Reduced && b.kind == Kind::Count &&
      a.rows.mode == BagMode::Sum && a.rows.offsets == b.rows.offsets &&
      getKnown(outer(b.value)) == getSizes(a.value)[0]) {
    a.rows.mode = BagMode::Mean;
    return a;
  }
  if (type.starts_with("Reduce"))
    return evaluateReduction(node, inputs);
  if (type == "Size" && a.kind == Kind::Places)
    return withKind(a, Kind::Count);
  if (type == "If")
    return evaluateIf(node, a);
  if (type == "Concat" && a.kind == Kind::Places && b.kind == Kind::Place &&
      !a.isNew && b.shift == 0 && inputs.size() == 2) {
    a.isNew = true;
    return a;
  }
  if (type == "SequenceInsert" && a.kind == Kind::Sequence && !a.isNew &&
      b.kind == Kind::Reduced && inputs.size() == 2) {
    a.isNew = true;
    a.rows = b.rows;
    return a;
  }
  return {};
}

LoopValue BagLoop::evaluateSum(StringRef type, LoopValue a, LoopValue b) {
  // The indices behind the last offset are all that are left.
  if (type == "Sub" && a.kind == Kind::Outer && b.kind == Kind::Bound &&
      b.shift == 0) {
    b.value = a.value;
    return withKind(b, Kind::Count);
  }
  if (type == "Add" && a.kind == Kind::Outer)
    std::swap(a, b);
  auto number = getKnown(b);
  if (!number || !number->isConstant())
    return {};
  int64_t shift = type == "Sub" ? -number->getValue() : number->getValue();
  if (a.kind == Kind::Bag || a.kind == Kind::Place) {
    a.shift += shift;
    return a;
  }
  if (a.kind == Kind::Id && a.rows.padding->rows == 0) {
    a.rows.padding->rows = shift;
    return a;
  }
  return {};
}

LoopValue BagLoop::evaluateComparison(StringRef type, const LoopValue &a,
                                      const LoopValue &b) {
  bool areBounds = a.kind == Kind::Bound && b.kind == Kind::Bound &&
                   a.rows.offsets == b.rows.offsets && a.shift == 0 &&
                   b.shift == 1;
  if (type == "Equal") {
    if (areBounds || (a.kind == Kind::Count && isKnown(b, 0)))
      return withKind(a, Kind::IsEmpty);
    auto number = getKnown(b);
    if (!number)
      return {};
    if (a.kind == Kind::Bag && a.shift == 0 && (!last || *last == *number)) {
      last = *number;
      return withKind(a, Kind::IsLast);
    }
    if (a.kind == Kind::Id && number->isConstant()) {
      LoopValue isPadding = withKind(a, Kind::IsPadding);
      isPadding.rows.padding->row = number->getValue();
      return isPadding;
    }
    return {};
  }
  if (type == "Greater")
    return a.kind == Kind::Count && isKnown(b, 0) ? withKind(a, Kind::HasRows)
                                                  : LoopValue();
  if (areBounds)
    return withKind(a, Kind::HasRows);
  if (a.kind == Kind::Bag) {
    auto number = getKnown(b);
    // There is a first turn.
    if (!bags && number && number->isConstant() && number->getValue() > 0)
      bags = number;
    return bags && number == bags ? withKind(a, Kind::GoesOn) : LoopValue();
  }
  if (a.kind == Kind::Place && b.kind == Kind::Bound && b.shift == 1 &&
      a.rows.offsets == b.rows.offsets)
    return withKind(a, Kind::GoesOnIn);
  if (a.kind == Kind::Id && isKnown(b, 0))
    return withKind(a, Kind::IsNegative);
  return {};
}

LoopValue BagLoop::evaluateGather(const LoopValue &source,
                                  const LoopValue &index) {
  if (source.kind != Kind::Outer)
    return {};
  LoopValue result = index;
  if (index.kind == Kind::Bag)
    return getBound(source.value, index.shift);
  if (index.kind == Kind::Range && !index.isColumn &&
      getRank(source.value) == 2) {
    result.kind = Kind::Rows;
    result.rows.table = source.value;
    result.rows.ids = index.value;
    return result;
  }
  if (index.kind == Kind::Places && !index.isNew) {
    result.kind = Kind::Rows;
    result.rows.table = source.value;
    return result;
  }
  if (index.kind == Kind::Place && index.shift == 0 &&
      getRank(source.value) == 1) {
    result.kind = Kind::Id;
    result.rows.padding = BagPadding{source.value};
    return result;
  }
  return {};
}

LoopValue BagLoop::evaluateSlice(ArrayRef<LoopValue> inputs) {
  if (inputs.size() < 3 || inputs[0].kind != Kind::Outer ||
      (inputs.size() > 3 && !isKnown(inputs[3], 0)) ||
      (inputs.size() > 4 && !isKnown(inputs[4], 1)))
    return {};
  Value source = inputs[0].value;
  const LoopValue &from = inputs[1], &to = inputs[2];
  // One offset as a slice.
  if (from.kind == Kind::Bag && to.kind == Kind::Bag &&
      to.shift == from.shift + 1)
    return getBound(source, from.shift);
  if (from.kind != Kind::Bound || from.shift != 0)
    return {};
  // Exporters slice those of the last bag to the end of all.
  auto end = getKnown(to);
  bool isNext = to.kind == Kind::Bound && to.shift == 1 &&
                to.rows.offsets == from.rows.offsets;
  if (!isNext && !(end && *end == getSizes(source)[0]))
    return {};
  LoopValue result = from;
  result.kind = Kind::Range;
  result.value = source;
  result.shift = isNext ? 0 : 1; // only of the last bag
  return result;
}

/// Rows of a range that was gathered before.
static LoopValue asRows(LoopValue value) {
  if (value.kind != Kind::Range || getRank(value.value) != 2)
    return value;
  value.kind = Kind::Rows;
  value.rows.table = value.value;
  return value;
}

LoopValue BagLoop::evaluateProduct(LoopValue a, LoopValue b) {
  if (a.kind == Kind::Range && a.isColumn)
    std::swap(a, b);
  a = asRows(a);
  if (a.kind != Kind::Rows || a.rows.weights || b.kind != Kind::Range ||
      !b.isColumn || getRank(b.value) != 1 ||
      a.rows.offsets != b.rows.offsets || a.shift != b.shift)
    return {};
  a.rows.weights = b.value;
  return a;
}

LoopValue BagLoop::evaluateReduction(const NodeProto &node,
                                     ArrayRef<LoopValue> inputs) {
  StringRef type = node.op_type();
  if (inputs.empty())
    return {};
  const auto *axes = findAttribute(node, "axes");
  bool isOfRows = axes ? axes->ints_size() == 1 && axes->ints(0) == 0
                       : inputs.size() == 2 && isKnown(inputs[1], 0);
  bool keeps = getInt(node, "keepdims", 1);
  LoopValue rows = asRows(inputs[0]);
  if (rows.kind != Kind::Rows || !isOfRows || keeps != sequence.has_value())
    return {};
  rows.kind = Kind::Reduced;
  if (type == "ReduceMean")
    rows.rows.mode = BagMode::Mean;
  else if (type == "ReduceMax")
    rows.rows.mode = BagMode::Max;
  else if (type != "ReduceSum")
    return {};
  return rows;
}

/// Whether all elements of the constant are zero.
static bool isZero(const LoopValue &value) {
  auto constant =
      value.value ? value.value.getDefiningOp<ConstantOp>() : nullptr;
  std::string error;
  auto data = constant ? getConstantData(constant.getValue(), error)
                       : FailureOr<ConstantData>(failure());
  return succeeded(data) &&
         llvm::all_of(data->bytes, [](char byte) { return byte == 0; });
}

LoopValue BagLoop::evaluateIf(const NodeProto &node,
                              const LoopValue &condition) {
  const auto *then = findAttribute(node, "then_branch"),
             *otherwise = findAttribute(node, "else_branch");
  if (!then || !otherwise || !then->has_g() || !otherwise->has_g() ||
      then->g().output_size() != 1 || otherwise->g().output_size() != 1)
    return {};
  LoopValue a = evaluate(then->g(), {})[0], b = evaluate(otherwise->g(), {})[0];
  bool areAlike = a.kind == b.kind && a.rows == b.rows && a.value == b.value;
  switch (condition.kind) {
  case Kind::IsEmpty:
    return isZero(a) && b.kind == Kind::Reduced ? b : LoopValue();
  case Kind::HasRows: {
    // The sum of no rows is their mean.
    BagRows mean = b.rows;
    mean.mode = a.rows.mode;
    bool isOfNone =
        isZero(b) || (b.kind == Kind::Reduced && b.rows.mode == BagMode::Sum &&
                      mean == a.rows);
    return a.kind == Kind::Reduced && isOfNone ? a : LoopValue();
  }
  case Kind::IsLast:
    return areAlike && b.shift == 0 ? b : LoopValue();
  case Kind::IsNegative: {
    BagRows moved = a.rows;
    if (a.kind != Kind::Id || b.kind != Kind::Id)
      return {};
    moved.padding->rows = 0;
    return moved == b.rows ? a : LoopValue();
  }
  case Kind::IsNoPadding:
    if (a.kind != Kind::Places || b.kind != Kind::Places || !a.isNew ||
        b.isNew || a.rows.offsets != condition.rows.offsets)
      return {};
    a.rows.padding = condition.rows.padding;
    return a;
  default:
    return {};
  }
}

LoopValue BagLoop::evaluatePlaces(const NodeProto &node,
                                  ArrayRef<LoopValue> inputs) {
  const auto *body = findAttribute(node, "body");
  if (inputs.size() != 4 || !node.input(0).empty() || !body || !body->has_g() ||
      body->g().input_size() != 4)
    return {};
  int output = getPlacesOutput(inputs);
  const LoopValue &none = inputs[2 + output], &first = inputs[3 - output];
  if (inputs[1].kind != Kind::HasRows || none.kind != Kind::Outer ||
      !getElementCount(getSizes(none.value), builder.getContext())
           .isConstant(0) ||
      first.kind != Kind::Bound || first.shift != 0 ||
      inputs[1].rows.offsets != first.rows.offsets)
    return {};
  LoopValue places = withKind(first, Kind::Places),
            place = withKind(first, Kind::Place);
  Values given(4, place);
  given[0] = given[1] = {};
  given[2 + output] = places;
  Values outputs = evaluate(body->g(), given);
  if (outputs.size() != 3)
    return {};
  const LoopValue &found = outputs[1 + output], &next = outputs[2 - output];
  if (outputs[0].kind != Kind::GoesOnIn || outputs[0].shift != 1 ||
      found.kind != Kind::Places || !found.isNew || !found.rows.padding ||
      next.kind != Kind::Place || next.shift != 1)
    return {};
  places.rows = found.rows;
  return places;
}

} // namespace fusec::onnx
