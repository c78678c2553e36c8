// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the tensor level; those of ops that read through indices are in
// FusecGatherOps.cpp.

#include "ir/FusecOps.h"
#include "ir/ReferenceScalars.h"
#include "ir/ShapeRules.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fusec;

TypeClass fusec::getTypeClass(Type type) {
  if (isa<FloatType>(type))
    return TypeClass::Float;
  if (type.isInteger(1))
    return TypeClass::Bool;
  return type.isUnsignedInteger() ? TypeClass::Unsigned : TypeClass::Signed;
}

/// The result's sizes, or its element type, are not what the rule says.
static LogicalResult expectResult(Operation *op, FailureOr<Sizes> expected,
                                  Type elementType) {
  if (failed(expected))
    return failure();
  Type type = getTensorType(*expected, elementType);
  if (type != op->getResult(0).getType())
    return op->emitOpError("expected result type ")
           << type << ", got " << op->getResult(0).getType();
  return success();
}

#define FUSEC_EMIT [&](const Twine &message) { emitOpError(message); }

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

LogicalResult ReplaceableOp::verify() {
  if (getSlot().getName().empty())
    return emitOpError("expected a name, got ''");
  if (getSlot().getPart() != AdapterPart::Whole && getRank(getResult()) != 2)
    return emitOpError("expected a matrix, got rank ") << getRank(getResult());
  return success();
}

LogicalResult ModelOp::verify() {
  Block &block = getBody().front();
  auto output = dyn_cast<OutputOp>(block.getTerminator());
  if (!output)
    return emitOpError("expected 'fusec.output' at the end");
  if (getInputNames().size() != block.getNumArguments())
    return emitOpError("expected ")
           << block.getNumArguments() << " input names, got "
           << getInputNames().size();
  if (getOutputNames().size() != output.getNumOperands())
    return emitOpError("expected ")
           << output.getNumOperands() << " output names, got "
           << getOutputNames().size();
  for (ArrayAttr names : {getInputNames(), getOutputNames()}) {
    llvm::StringSet<> seen;
    for (StringAttr name : names.getAsRange<StringAttr>())
      if (!seen.insert(name.getValue()).second)
        return emitOpError("name ") << name << " is used twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Generated values
//===----------------------------------------------------------------------===//

LogicalResult SplatOp::verify() {
  auto value = cast<TypedAttr>(getValue());
  if (value.getType() != getElementType(getResult()))
    return emitOpError("expected a value of type ")
           << getElementType(getResult()) << ", got " << value.getType();
  if (!isa<IntegerAttr, FloatAttr>(getValue()))
    return emitOpError("expected an integer or a float value");
  return success();
}

LogicalResult IotaOp::verify() {
  if (getAxis() >= getRank(getResult()))
    return emitOpError("expected an axis below rank ")
           << getRank(getResult()) << ", got " << getAxis();
  return success();
}

LogicalResult SizeValueOp::verify() {
  if (getRank(getResult()) != 0)
    return emitOpError("expected a scalar result, got ")
           << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult CollapseOp::verify() {
  SmallVector<Expr> sizes = getSizes(getOperand());
  auto groups =
      ::fusec::getReassociation(getReassociation(), sizes.size(), FUSEC_EMIT);
  if (failed(groups))
    return failure();
  return expectResult(*this, collapseSizes(sizes, *groups, getContext()),
                      getElementType(getOperand()));
}

LogicalResult ExpandOp::verify() {
  SmallVector<Expr> sizes = getSizes(getResult());
  auto groups =
      ::fusec::getReassociation(getReassociation(), sizes.size(), FUSEC_EMIT);
  if (failed(groups))
    return failure();
  Sizes collapsed = collapseSizes(sizes, *groups, getContext());
  if (getTensorType(collapsed, getElementType(getResult())) !=
      getOperand().getType())
    return emitOpError("expected an operand of sizes ")
           << toString(collapsed) << ", got " << getOperand().getType();
  return success();
}

LogicalResult TransposeOp::verify() {
  return expectResult(
      *this,
      inferTransposeSizes(getSizes(getOperand()), getPermutation(), FUSEC_EMIT),
      getElementType(getOperand()));
}

LogicalResult SliceOp::verify() {
  SmallVector<Expr> operand = getSizes(getOperand()),
                    result = getSizes(getResult());
  if (getOffsets().size() != operand.size() ||
      getSteps().size() != operand.size() || result.size() != operand.size())
    return emitOpError("expected an offset, a step and a size for each of ")
           << operand.size() << " dimensions";
  if (getElementType(getOperand()) != getElementType(getResult()))
    return emitOpError("expected the operand's element type");
  ExprRanges ranges({});
  for (auto [i, attr] : llvm::enumerate(getOffsets().getAsRange<ExprAttr>())) {
    int64_t step = getSteps()[i];
    if (step == 0)
      return emitOpError("expected a step other than 0 in dimension ") << i;
    if (result[i].isConstant(0))
      continue;
    // Both ends inside, as far as sizes tell: a bound that is known wrong is an
    // error, one that depends on names is checked when inputs are bound.
    Expr first(attr), last = first + (result[i] - 1) * step;
    for (Expr end : {first, last}) {
      auto upper = ranges.upperBound(end);
      auto aboveEnd = ranges.lowerBound(end - operand[i]);
      if ((upper && *upper < 0) || (aboveEnd && *aboveEnd >= 0))
        return emitOpError("reads index ")
               << end.str() << " of dimension " << i << ", whose size is "
               << operand[i].str();
    }
  }
  return success();
}

LogicalResult BroadcastOp::verify() {
  SmallVector<Expr> operand = getSizes(getOperand()),
                    result = getSizes(getResult());
  if (getDimensions().size() != operand.size())
    return emitOpError("expected ")
           << operand.size() << " dimensions, got " << getDimensions().size();
  if (getElementType(getOperand()) != getElementType(getResult()))
    return emitOpError("expected the operand's element type");
  int64_t previous = -1;
  for (auto [i, d] : llvm::enumerate(getDimensions())) {
    if (d <= previous || d >= static_cast<int64_t>(result.size()))
      return emitOpError("expected ascending dimensions below rank ")
             << result.size() << ", got " << d;
    previous = d;
    if (operand[i] != result[d] && !operand[i].isConstant(1))
      return emitOpError("expected size 1 or ")
             << result[d].str() << " in dimension " << i << ", got "
             << operand[i].str();
  }
  return success();
}

LogicalResult ConcatOp::verify() {
  SmallVector<Sizes> operands;
  for (Value value : getValues()) {
    if (getElementType(value) != getElementType(getResult()))
      return emitOpError("expected operands of the result's element type");
    operands.push_back(getSizes(value));
  }
  return expectResult(*this, inferConcatSizes(operands, getAxis(), FUSEC_EMIT),
                      getElementType(getResult()));
}

//===----------------------------------------------------------------------===//
// Reductions, matmul
//===----------------------------------------------------------------------===//

/// With as many results of parts as the op asks for.
template <class Op>
static LogicalResult expectReduced(Op op, ArrayRef<int64_t> axes,
                                   Type element) {
  auto sizes =
      inferReduceSizes(getSizes(op.getOperand()), axes,
                       [&](const Twine &message) { op.emitOpError(message); });
  if (auto parts = op.getParts(); parts && succeeded(sizes)) {
    if (*parts < 1)
      return op.emitOpError("expected at least one part, got ") << *parts;
    sizes->insert(sizes->begin(), Expr::constant(op.getContext(), *parts));
  }
  return expectResult(op, sizes, element);
}

LogicalResult ReduceOp::verify() {
  if (getElementType(getOperand()).isInteger(1) &&
      getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError("expected max or min on bool");
  return expectReduced(*this, getAxes(), getElementType(getOperand()));
}

LogicalResult ArgReduceOp::verify() {
  return expectReduced(*this, int64_t(getAxis()), getElementType(getResult()));
}

LogicalResult CumSumOp::verify() {
  int64_t axis = getAxis(), rank = getRank(getOperand());
  if (axis < 0 || axis >= rank)
    return emitOpError("expected an axis of ") << rank << ", got " << axis;
  return expectResult(*this,
                      FailureOr<SmallVector<Expr>>(getSizes(getOperand())),
                      getElementType(getOperand()));
}

LogicalResult MatmulOp::verify() {
  Type type = getElementType(getLhs());
  if (type != getElementType(getRhs()))
    return emitOpError("expected operands of one element type");
  return expectResult(*this,
                      inferMatmulSizes(getSizes(getLhs()), getSizes(getRhs()),
                                       getTransposeLhs(), getTransposeRhs(),
                                       FUSEC_EMIT),
                      type);
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

static LogicalResult inferCompare(ValueRange operands,
                                  SmallVectorImpl<Type> &types) {
  types.push_back(getTensorType(getSizes(operands[0]),
                                IntegerType::get(operands[0].getContext(), 1)));
  return success();
}
#define FUSEC_INFER_COMPARE(Op)                                                \
  LogicalResult Op::inferReturnTypes(MLIRContext *, std::optional<Location>,   \
                                     ValueRange operands, DictionaryAttr,      \
                                     OpaqueProperties, RegionRange,            \
                                     SmallVectorImpl<Type> &types) {           \
    return inferCompare(operands, types);                                      \
  }
FUSEC_INFER_COMPARE(EqualOp)
FUSEC_INFER_COMPARE(LessOp)
FUSEC_INFER_COMPARE(LessOrEqualOp)

LogicalResult fusec::verifyPointwise(Operation *op) {
  SmallVector<Expr> sizes = getSizes(op->getResult(0));
  for (Value operand : op->getOperands())
    if (getSizes(operand) != sizes)
      return op->emitOpError("expected operands of the result's sizes ")
             << toString(sizes) << ", got " << operand.getType()
             << "; broadcast it";
  if (isa<CastOp>(op))
    return success();
  Type type = getElementType(op->getOperands().back());
  if (cast<PointwiseOpInterface>(op)
          .getCudaSpelling(getTypeClass(type))
          .empty())
    return op->emitOpError("is not defined for elements of type ") << type;
  return success();
}
