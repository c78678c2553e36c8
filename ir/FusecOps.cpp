// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the tensor level.

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
// Gather, reductions, matmul
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  SmallVector<Expr> source = getSizes(getSource()),
                    result = getSizes(getResult());
  if (getPositions().size() != source.size())
    return emitOpError("expected ")
           << source.size() << " positions, got " << getPositions().size();
  if (getElementType(getSource()) != getElementType(getResult()))
    return emitOpError("expected the source's element type");
  for (auto [i, position] : llvm::enumerate(getPositions())) {
    bool valid =
        position >= 0
            ? position < static_cast<int64_t>(result.size()) &&
                  result[position] == source[i]
            : -1 - position < static_cast<int64_t>(getIndices().size());
    if (!valid)
      return emitOpError("position ")
             << position << " of source dimension " << i
             << " is neither a result dimension of its size nor an index "
                "operand";
  }
  for (Value index : getIndices())
    if (getSizes(index) != result)
      return emitOpError("expected index operands of the result's sizes, got ")
             << index.getType();
  return success();
}

LogicalResult LookupOp::verify() {
  SmallVector<Expr> indices = getSizes(getIndices()),
                    result = getSizes(getResult());
  if (indices.size() != 2 || result.size() != 3 || getTables().empty() ||
      indices[0] != result[0] || indices[1] != result[1] ||
      !indices[1].isConstant(getTables().size()))
    return emitOpError(
        "expected indices [n, tables] and a result [n, tables, width]");
  for (Value table : getTables())
    if (getRank(table) != 2 || getSizes(table)[1] != result[2] ||
        getElementType(table) != getElementType(getResult()))
      return emitOpError("expected tables [rows, ")
             << result[2].str() << "], got " << table.getType();
  return success();
}

/// Operands of a bag that each table has one of, or none has.
static LogicalResult verifyBagOperands(BagOp op) {
  size_t count = op.getTables().size(), offsets = op.getOffsets().size(),
         weights = op.getWeights().size(), factors = op.getFactors().size(),
         zeros = op.getZeros().size();
  size_t padding = op.getPadding() ? op.getPadding()->size() : count;
  if (count == 0 || op.getIndices().size() != count ||
      op.getScales().size() != count || padding != count)
    return op.emitOpError(
               "expected indices and a scale for each of at least one "
               "table, got ")
           << count << " tables, " << op.getIndices().size() << " indices, "
           << op.getScales().size() << " scales and " << padding << " paddings";
  if ((offsets && offsets != count) || (weights && weights != count))
    return op.emitOpError(
               "expected offsets and weights for all tables or none, got ")
           << count << " tables, " << offsets << " offsets and " << weights
           << " weights";
  if ((factors && factors != count) || (zeros && zeros != factors))
    return op.emitOpError("expected factors, and zeros beside them, for all "
                          "tables or none, got ")
           << factors << " factors and " << zeros << " zeros";
  for (OperandRange group : {op.getTables(), op.getIndices(), op.getOffsets(),
                             op.getWeights(), op.getFactors(), op.getZeros()})
    for (Value value : group)
      if (getRank(value) != 2 ||
          getElementType(value) != getElementType(group[0]))
        return op.emitOpError("expected matrices of one type, got ")
               << value.getType() << " beside " << group[0].getType();
  if (weights && !isa<FloatType>(getElementType(op.getWeights()[0])))
    return op.emitOpError("expected weights of floats, got ")
           << op.getWeights()[0].getType();
  return success();
}

/// Floats, or integers with factors.
static LogicalResult verifyTables(BagOp op) {
  Type type = getElementType(op.getTables()[0]);
  bool isNarrow = type.isInteger(8);
  if (op.getFactors().empty() ? !isa<FloatType>(type) : !isNarrow)
    return op.emitOpError("expected tables of floats, or of 8-bit integers "
                          "with factors, got ")
           << op.getTables()[0].getType();
  for (auto [t, factors] : llvm::enumerate(op.getFactors())) {
    SmallVector<Expr> table = getSizes(op.getTables()[t]),
                      sizes = getSizes(factors);
    if (!isa<FloatType>(getElementType(factors)) || sizes[0] != table[0] ||
        !sizes[1].isConstant() || sizes[1].getValue() < 1 ||
        !table[1].isConstant() ||
        table[1].getValue() % sizes[1].getValue() != 0 ||
        (!op.getZeros().empty() &&
         op.getZeros()[t].getType() != factors.getType()))
      return op.emitOpError("expected factors and zeros of one type, as many a "
                            "row as divide its width, got ")
             << factors.getType() << " of " << op.getTables()[t].getType();
  }
  return success();
}

SmallVector<Value> BagOp::getRowOperands() {
  SmallVector<Value> values(getTables());
  llvm::append_range(values, getFactors());
  llvm::append_range(values, getZeros());
  return values;
}

LogicalResult BagOp::verify() {
  if (failed(verifyBagOperands(*this)) || failed(verifyTables(*this)))
    return failure();
  if (!isa<FloatType>(getElementType(getResult())) || getRank(getResult()) != 2)
    return emitOpError("expected rows of floats, got ")
           << getResult().getType();
  Expr rows = getSizes(getResult())[0],
       columns = Expr::constant(getContext(), 0);
  Expr one = Expr::constant(getContext(), 1);
  for (auto [t, indices] : llvm::enumerate(getIndices())) {
    SmallVector<Expr> sizes = getSizes(indices);
    if (!getSizes(getTables()[t])[1].isConstant())
      return emitOpError("expected tables [rows, constant width], got ")
             << getTables()[t].getType();
    if (getOffsets().empty() && (sizes[0] != rows || !sizes[1].isConstant()))
      return emitOpError("expected indices [")
             << rows.str() << ", constant], got " << indices.getType();
    if (!getOffsets().empty() &&
        (sizes[0] != one || getSizes(getOffsets()[t])[0] != one))
      return emitOpError("expected indices and offsets of one row, got ")
             << indices.getType() << " and " << getOffsets()[t].getType();
    if (!getWeights().empty() && getSizes(getWeights()[t]) != sizes)
      return emitOpError("expected weights of the sizes of indices, got ")
             << getWeights()[t].getType() << " and " << indices.getType();
    columns = columns + getSizes(getTables()[t])[1];
  }
  if (getSizes(getResult())[1] != columns)
    return emitOpError("expected as many columns as tables have, ")
           << columns.str() << ", got " << getResult().getType();
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getElementType(getOperand()).isInteger(1) &&
      getKind() != ReduceKind::Max && getKind() != ReduceKind::Min)
    return emitOpError("expected max or min on bool");
  auto sizes = inferReduceSizes(getSizes(getOperand()), getAxes(), FUSEC_EMIT);
  if (auto parts = getParts(); parts && succeeded(sizes)) {
    if (*parts < 1)
      return emitOpError("expected at least one part, got ") << *parts;
    sizes->insert(sizes->begin(), Expr::constant(getContext(), *parts));
  }
  return expectResult(*this, sizes, getElementType(getOperand()));
}

LogicalResult ArgReduceOp::verify() {
  int64_t axis = getAxis();
  return expectResult(
      *this, inferReduceSizes(getSizes(getOperand()), axis, FUSEC_EMIT),
      getElementType(getResult()));
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
