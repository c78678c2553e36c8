// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/NestedIteration.h"

using namespace mlir;
using namespace fusec;

/// Whether the op reduces the last dims of such a value, and how many.
static std::optional<size_t> countLastAxes(Operation *op,
                                           ArrayRef<Expr> sizes) {
  SmallVector<int64_t> axes = getReducedAxes(op);
  if (getSizes(op->getOperand(0)) != sizes || getReducedParts(op))
    return std::nullopt;
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis != int64_t(sizes.size() - axes.size() + i))
      return std::nullopt;
  return axes.size();
}

FailureOr<NestedIteration> fusec::analyzeNested(StepOp step) {
  MLIRContext *context = step.getContext();
  Block &block = step.getBody().front();
  auto isInside = [&](Operation *op) { return op->getBlock() == &block; };
  SmallVector<Value> outputs =
      llvm::to_vector(block.getTerminator()->getOperands());
  SmallVector<Operation *> items, others;
  for (Operation *op : collectInside(outputs, isInside)) {
    if (!isa<ReduceOp, ArgReduceOp>(op))
      continue;
    bool isItem =
        items.empty() ||
        (getSizes(op->getOperand(0)) == getSizes(items[0]->getOperand(0)) &&
         getReducedAxes(op) == getReducedAxes(items[0]));
    (isItem ? items : others).push_back(op);
    if (isItem && getReducedParts(op))
      return failure();
  }
  if (others.empty())
    return failure();
  SmallVector<Expr> sizes = getSizes(items[0]->getResult(0));
  std::optional<size_t> inner = countLastAxes(others[0], sizes);
  for (Operation *op : others)
    if (!inner || countLastAxes(op, sizes) != inner)
      return failure();
  Expr outer = getElementCount(ArrayRef(sizes).drop_back(*inner), context),
       across = getElementCount(ArrayRef(sizes).take_back(*inner), context);
  std::optional<int64_t> columns = across.getConstant();
  if (!columns || *columns < 1 || *columns > mostNestedColumns)
    return failure();
  auto rows = analyzeRowsOf(items, outputs, isInside, [&](unsigned i) {
    return step.getOutputBuffer(i).getStrideExprs();
  });
  SmallVector<Value> found = llvm::map_to_vector(
      items, [](Operation *op) -> Value { return op->getResult(0); });
  auto each = analyzeRows(found, isInside, [&](unsigned) {
    return getDenseStrides(sizes, context);
  });
  if (failed(rows) || failed(each))
    return failure();
  NestedIteration nested{std::move(*rows), splitRows(*each, outer, across),
                         *columns};
  if (!liesAcrossRows(step, nested.items))
    return failure();
  return nested;
}
