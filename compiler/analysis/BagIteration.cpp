// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/BagIteration.h"

using namespace mlir;
using namespace fusec;

bool fusec::haveKnownPlaces(const MatrixAccess &indices, Expr count) {
  return (indices.outerStride.isConstant() || indices.outerStride == count) &&
         indices.kStride.isConstant() &&
         llvm::isInt<32>(indices.kStride.getValue()) &&
         indices.batch.isConstant();
}

int64_t BagIteration::getTableBits() const {
  return BagOp(op).getPacked()
             ? 4
             : getElementBytes(BufferOp(tables[0].table).getElementType()) * 8;
}

static FailureOr<BagValues> analyzeValues(StepOp step, Value values) {
  Block &block = step.getBody().front();
  auto access = analyzeMatrix(
      values, [&](Operation *inside) { return inside->getBlock() == &block; },
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); });
  if (failed(access) || !haveKnownPlaces(*access, getSizes(values)[1]))
    return failure();
  return BagValues{step.getInputBuffer(access->value), access->batch.getValue(),
                   access->outerStride.getConstant().value_or(-1),
                   access->kStride.getValue()};
}

FailureOr<BagIteration> fusec::analyzeBag(StepOp step) {
  Block &block = step.getBody().front();
  auto ops = block.getOps<BagOp>();
  if (!llvm::hasSingleElement(ops))
    return failure();
  BagOp op = *ops.begin();
  if (block.getTerminator()->getOperands() != ValueRange(op.getResult()))
    return failure();
  BagIteration iteration{
      op, getSizes(op.getResult())[0], {}, step.getOutputBuffer(0), Expr()};
  iteration.pitch = iteration.result.getStrideExprs()[0];
  if (!iteration.result.getStrideExprs()[1].isConstant(1))
    return failure();
  if (!llvm::all_of(op.getRowOperands(), llvm::IsaPred<BlockArgument>))
    return failure();
  int64_t column = 0;
  for (auto [t, table] : llvm::enumerate(op.getTables())) {
    auto ids = analyzeValues(step, op.getIndices()[t]);
    if (failed(ids))
      return failure();
    BagTable found{};
    found.table = step.getInputBuffer(table);
    found.ids = *ids;
    found.width = op.getWidthOf(t).getValue();
    if (!op.getFactors().empty()) {
      found.factors = step.getInputBuffer(op.getFactors()[t]);
      found.blockWidth =
          found.width / getSizes(op.getFactors()[t])[1].getValue();
    }
    if (!op.getZeros().empty())
      found.zeros = step.getInputBuffer(op.getZeros()[t]);
    found.count = getSizes(op.getIndices()[t])[1];
    if (!op.getOffsets().empty()) {
      auto offsets = analyzeValues(step, op.getOffsets()[t]);
      if (failed(offsets))
        return failure();
      found.offsets = *offsets;
      found.offsetCount = getSizes(op.getOffsets()[t])[1];
    }
    if (!op.getWeights().empty()) {
      auto weights = analyzeValues(step, op.getWeights()[t]);
      if (failed(weights))
        return failure();
      found.weights = *weights;
    }
    if (int64_t measure = op.getMeasureOf(t); measure >= 0) {
      auto lengths = analyzeValues(step, op.getLengths()[measure]);
      if (failed(lengths))
        return failure();
      found.lengths = *lengths;
    }
    found.mode = op.getModeOf(t);
    found.column = column;
    found.scale = op.getScales()[t];
    found.padding = op.getPaddingOf(t);
    iteration.tables.push_back(found);
    column += found.width;
  }
  return iteration;
}
