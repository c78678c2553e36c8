// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of regions with reductions: rows, and points along them.

#include "compiler/analysis/NestedIteration.h"

using namespace mlir;
using namespace fusec;

SmallVector<Operation *> fusec::collectInside(ArrayRef<Value> outputs,
                                              ScalarProgram::Inside isInside) {
  SmallVector<Operation *> ordered;
  llvm::SmallPtrSet<Operation *, 16> seen;
  // An explicit stack: chains in models can be longer than a thread's stack.
  SmallVector<std::pair<Operation *, bool>> stack;
  for (Value output : llvm::reverse(outputs))
    if (Operation *op = output.getDefiningOp())
      stack.push_back({op, false});
  while (!stack.empty()) {
    auto [op, done] = stack.pop_back_val();
    if (done) {
      ordered.push_back(op);
      continue;
    }
    if (!isInside(op) || !seen.insert(op).second)
      continue;
    stack.push_back({op, true});
    for (Value operand : llvm::reverse(op->getOperands()))
      if (Operation *producer = operand.getDefiningOp())
        stack.push_back({producer, false});
  }
  return ordered;
}

SmallVector<int64_t> fusec::getReducedAxes(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    SmallVector<int64_t> axes(reduce.getAxes());
    llvm::sort(axes);
    return axes;
  }
  return {static_cast<int64_t>(cast<ArgReduceOp>(op).getAxis())};
}

std::optional<int64_t> fusec::getReducedParts(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? reduce.getParts() : std::nullopt;
}

FailureOr<RowIteration> fusec::analyzeRows(ArrayRef<Value> outputs,
                                           ScalarProgram::Inside isInside,
                                           OutputStrides outputStrides) {
  return analyzeRowsOf({}, outputs, isInside, outputStrides);
}

/// Whether every reduction is asked for at its own row, and every item at its
/// place.
static bool areInPlace(const ScalarProgram &program,
                       ArrayRef<Operation *> items, ArrayRef<Expr> ofRow,
                       ArrayRef<Expr> ofItem) {
  ExprRanges ranges = program.getRanges();
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != ScalarNode::Kind::Root)
      continue;
    ArrayRef<Expr> place = llvm::is_contained(items, node.op) ? ofItem : ofRow;
    if (node.indices.size() != place.size())
      return false;
    for (auto [index, expected] : llvm::zip_equal(node.indices, place))
      if (index != ranges.simplify(expected))
        return false;
  }
  return true;
}

FailureOr<RowIteration> fusec::analyzeRowsOf(ArrayRef<Operation *> items,
                                             ArrayRef<Value> outputs,
                                             ScalarProgram::Inside isInside,
                                             OutputStrides outputStrides) {
  auto isBehindItems = [&](Operation *op) {
    return isInside(op) && !llvm::is_contained(items, op);
  };
  SmallVector<Operation *> reduces;
  for (Operation *op : collectInside(outputs, isBehindItems))
    if (isa<ReduceOp, ArgReduceOp>(op))
      reduces.push_back(op);
  if (reduces.empty())
    return failure();
  MLIRContext *context = reduces[0]->getContext();
  SmallVector<Expr> sizes = getSizes(reduces[0]->getOperand(0));
  SmallVector<int64_t> axes = getReducedAxes(reduces[0]);
  std::optional<int64_t> parts = getReducedParts(reduces[0]);
  for (Operation *op : reduces)
    if (getSizes(op->getOperand(0)) != sizes || getReducedAxes(op) != axes ||
        getReducedParts(op) != parts)
      return failure();

  // Dim 0 is the row, dim 1 the position in it.
  SmallVector<Expr> kept, reduced;
  if (parts)
    kept.push_back(Expr::constant(context, *parts));
  for (auto [i, size] : llvm::enumerate(sizes))
    (llvm::is_contained(axes, static_cast<int64_t>(i)) ? reduced : kept)
        .push_back(size);
  Expr rows = getElementCount(kept, context),
       length = getElementCount(reduced, context);
  if (parts)
    length = cast<ReduceOp>(reduces[0]).getLength();
  SmallVector<Expr> space = {rows, length};
  RowIteration result{ScalarProgram(space, context), length, {}, {}};
  ScalarProgram &program = result.program;
  ExprRanges ranges = program.getRanges();
  Expr row = Expr::dim(context, 0), k = Expr::dim(context, 1);
  SmallVector<Expr> rowIndices = delinearize(row, kept);
  if (parts) {
    Expr start = ranges.simplify(rowIndices[0] * length);
    k = start + k;
    // The last part may have fewer.
    Expr left = ranges.simplify(getElementCount(reduced, context) - start);
    if (!ranges.isNonNegative(left - length))
      result.length =
          Expr::min(length, Expr::max(left, Expr::constant(context, 0)));
  }
  SmallVector<Expr> innerIndices = delinearize(k, reduced), full;
  size_t nextKept = parts ? 1 : 0, nextReduced = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    full.push_back(llvm::is_contained(axes, static_cast<int64_t>(i))
                       ? innerIndices[nextReduced++]
                       : rowIndices[nextKept++]);
  for (Operation *op : reduces)
    result.reductions.push_back(
        {op, program.build(op->getOperand(0), full, isInside)});

  Expr count = getElementCount(sizes, context);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    SmallVector<Expr> own = getSizes(output);
    Expr ownCount = getElementCount(own, context);
    bool isFull = own == sizes;
    SmallVector<Expr> indices;
    if (isFull)
      indices = full;
    else if (ownCount == rows)
      indices = own == kept ? rowIndices : delinearize(row, own);
    else if (ownCount == count) {
      isFull = true;
      indices = delinearize(linearize(full, sizes, context), own);
    } else
      return failure();
    unsigned node = program.build(output, indices, isInside);
    Expr offset =
        ranges.simplify(getOffset(indices, outputStrides(i), context));
    if (!isFull && program.varies(node, 1))
      return failure();
    result.stores.push_back({{node, static_cast<unsigned>(i), offset}, isFull});
  }
  if (!areInPlace(program, items, rowIndices, full))
    return failure();
  return result;
}

FailureOr<RowIteration> fusec::analyzeRows(StepOp step) {
  Block &block = step.getBody().front();
  return analyzeRows(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
}
