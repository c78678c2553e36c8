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

/// What the step computes of a bag that it does not store as it is.
static LogicalResult analyzeFollowing(StepOp step, BagIteration &iteration,
                                      std::string &reason) {
  Block &block = step.getBody().front();
  BagOp op = iteration.op;
  MLIRContext *context = step.getContext();
  SmallVector<Value> outputs(block.getTerminator()->getOperands());
  auto isInside = [&](Operation *inside) {
    return inside->getBlock() == &block;
  };
  EpilogueRoot root{op, getSizes(op.getResult()), 0};
  bool reduces = llvm::any_of(block, llvm::IsaPred<ReduceOp, ArgReduceOp>);
  int64_t width = iteration.tables[0].width;
  if (reduces) {
    // One text for all tables, whose lanes hold a row together.
    if (llvm::any_of(iteration.tables, [&](const BagTable &table) {
          return table.width != width;
        })) {
      reason = "rows that are reduced have one width in all tables";
      return failure();
    }
    if (width > mostHeldColumns) {
      reason = ("a warp holds rows of at most " + Twine(mostHeldColumns) +
                " columns, these have " + Twine(width))
                   .str();
      return failure();
    }
  }
  if (reduces && iteration.tables.size() > 1) {
    Expr bags = Expr::dim(context, 0), table = Expr::dim(context, 1),
         column = Expr::dim(context, 2);
    root = {op,
            {iteration.bags,
             Expr::constant(context, int64_t(iteration.tables.size())),
             Expr::constant(context, width)},
            1,
            {bags, table * width + column}};
  }
  auto epilogue = analyzeEpilogue(
      root, outputs, isInside,
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(epilogue)) {
    reason = "it is computed at other points than the bags, or reads more than "
             "scalars, rows, columns and tiles";
    return failure();
  }
  // In 16-byte accesses of halves, a lane has eight columns of narrow rows.
  int64_t columns =
      std::max<int64_t>(8, reduces ? llvm::divideCeil(width, 32) : 0);
  if (columns * int64_t(1 + epilogue->operands.size()) > mostHeldValues) {
    reason = ("a lane holds at most " + Twine(mostHeldValues) +
              " values, of a row and of what is read beside it")
                 .str();
    return failure();
  }
  iteration.epilogue = std::move(*epilogue);
  return success();
}

FailureOr<BagIteration> fusec::analyzeBag(StepOp step) {
  std::string reason;
  return analyzeBag(step, reason);
}

FailureOr<BagIteration> fusec::analyzeBag(StepOp step, std::string &reason) {
  reason = "each kernel has one op of bags";
  Block &block = step.getBody().front();
  auto ops = block.getOps<BagOp>();
  if (!llvm::hasSingleElement(ops))
    return failure();
  BagOp op = *ops.begin();
  reason = "bags read tables and indices from memory";
  BagIteration iteration{op, getSizes(op.getResult())[0], {}, {}, Expr()};
  bool isStored =
      block.getTerminator()->getOperands() == ValueRange(op.getResult());
  if (isStored) {
    iteration.result = step.getOutputBuffer(0);
    iteration.pitch = iteration.result.getStrideExprs()[0];
    if (!iteration.result.getStrideExprs()[1].isConstant(1))
      return failure();
  }
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
  if (!isStored && failed(analyzeFollowing(step, iteration, reason)))
    return failure();
  return iteration;
}
