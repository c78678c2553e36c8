// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of ops that read through indices.

#include "ir/FusecOps.h"

using namespace mlir;
using namespace fusec;

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
  if (op.getPadsBy() != PadsBy::Row && !op.getPadding())
    return op.emitOpError("expected the numbers of padding that is told by "
                          "indices");
  if ((offsets && offsets != count) || (weights && weights != count))
    return op.emitOpError(
               "expected offsets and weights for all tables or none, got ")
           << count << " tables, " << offsets << " offsets and " << weights
           << " weights";
  if ((factors && factors != count) || (zeros && zeros != factors))
    return op.emitOpError("expected factors, and zeros beside them, for all "
                          "tables or none, got ")
           << factors << " factors and " << zeros << " zeros";
  for (OperandRange group :
       {op.getTables(), op.getIndices(), op.getOffsets(), op.getWeights(),
        op.getLengths(), op.getFactors(), op.getZeros()})
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

/// Lengths of bags of several indices, and the tables that are compared.
static LogicalResult verifyLengths(BagOp op) {
  int64_t count = op.getLengths().size(), tables = op.getTables().size();
  for (int64_t table : op.getMaxima().value_or(ArrayRef<int64_t>()))
    if (table < 0 || table >= tables || op.getMode() == BagMode::Max)
      return op.emitOpError("expected numbers of tables beside sums or means, "
                            "got maxima of table ")
             << table;
  if (count == 0 && !op.getMeasured() && !op.getLeast() && !op.getFill())
    return success();
  if (count == 0 || !op.getOffsets().empty() || !op.getMeasured() ||
      int64_t(op.getMeasured()->size()) != tables)
    return op.emitOpError("expected lengths, of bags without offsets, and for "
                          "each table which of them it has or -1");
  for (Value lengths : op.getLengths()) {
    SmallVector<Expr> sizes = getSizes(lengths);
    if (!isa<IntegerType>(getElementType(lengths)) ||
        getElementType(lengths).isInteger(1) ||
        sizes[0] != getSizes(op.getResult())[0] || !sizes[1].isConstant(1))
      return op.emitOpError("expected lengths [bags, 1] of integers, got ")
             << lengths.getType();
  }
  for (int64_t table = 0; table < tables; ++table) {
    int64_t measure = op.getMeasureOf(table);
    if (measure < -1 || measure >= count)
      return op.emitOpError("expected one of ")
             << count << " lengths or -1, got " << measure;
    if (measure >= 0 && getSizes(op.getIndices()[table])[1].isConstant(1))
      return op.emitOpError("expected lengths of bags of several indices, got ")
             << op.getIndices()[table].getType();
  }
  return success();
}

/// Rows of as many bytes as their columns of 4 bits take.
static LogicalResult verifyPacked(BagOp op) {
  ArrayRef<int64_t> widths = *op.getPacked();
  if (op.getFactors().empty() || widths.size() != op.getTables().size())
    return op.emitOpError("expected factors, and a number of columns for each "
                          "table that is packed, got ")
           << op.getFactors().size() << " factors and " << widths.size()
           << " numbers of " << op.getTables().size() << " tables";
  for (auto [width, table] : llvm::zip_equal(widths, op.getTables()))
    if (width < 1 || !getSizes(table)[1].isConstant(llvm::divideCeil(width, 2)))
      return op.emitOpError("expected rows of as many bytes as ")
             << width << " columns of 4 bits take, got " << table.getType();
  return success();
}

/// Floats, or integers with factors.
static LogicalResult verifyTables(BagOp op) {
  if (op.getPacked() && failed(verifyPacked(op)))
    return failure();
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
        op.getWidthOf(t).getValue() % sizes[1].getValue() != 0 ||
        (!op.getZeros().empty() &&
         op.getZeros()[t].getType() != factors.getType()))
      return op.emitOpError("expected factors and zeros of one type, as many a "
                            "row as divide its width, got ")
             << factors.getType() << " of " << op.getTables()[t].getType();
  }
  return success();
}

Expr BagOp::getWidthOf(unsigned t) {
  return getPacked() ? Expr::constant(getContext(), (*getPacked())[t])
                     : getSizes(getTables()[t])[1];
}

BagMode BagOp::getModeOf(unsigned table) {
  return getMaxima() && llvm::is_contained(*getMaxima(), table) ? BagMode::Max
                                                                : getMode();
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
    if (getOffsets().empty() && sizes[0] != rows)
      return emitOpError("expected indices [")
             << rows.str() << ", as many as a bag has], got "
             << indices.getType();
    if (getOffsets().empty() && sizes[1].isConstant(0))
      return emitOpError("expected bags of at least one index, got ")
             << indices.getType();
    if (!getOffsets().empty() &&
        (sizes[0] != one || getSizes(getOffsets()[t])[0] != one))
      return emitOpError("expected indices and offsets of one row, got ")
             << indices.getType() << " and " << getOffsets()[t].getType();
    if (!getWeights().empty() && getSizes(getWeights()[t]) != sizes)
      return emitOpError("expected weights of the sizes of indices, got ")
             << getWeights()[t].getType() << " and " << indices.getType();
    columns = columns + getWidthOf(t);
  }
  if (failed(verifyLengths(*this)))
    return failure();
  if (getSizes(getResult())[1] != columns)
    return emitOpError("expected as many columns as tables have, ")
           << columns.str() << ", got " << getResult().getType();
  return success();
}
