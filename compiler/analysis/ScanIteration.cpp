// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/ScanIteration.h"

using namespace mlir;
using namespace fusec;

/// Whether it sums what the scan does, in a type that is wide enough.
static bool sumsParts(ReduceOp parts, CumSumOp op) {
  Value summed = parts.getOperand();
  if (auto cast = summed.getDefiningOp<CastOp>();
      cast && summed != op.getOperand())
    summed = cast.getOperand();
  return parts.getKind() == ReduceKind::Sum && summed == op.getOperand() &&
         parts.getAxes() == ArrayRef<int64_t>(op.getAxis());
}

FailureOr<ScanIteration> fusec::analyzeScan(ArrayRef<Value> outputs,
                                            ScalarProgram::Inside isInside,
                                            OutputStrides outputStrides) {
  CumSumOp op;
  ReduceOp parts;
  for (Operation *inside : collectInside(outputs, isInside)) {
    auto scan = dyn_cast<CumSumOp>(inside);
    auto reduce = dyn_cast<ReduceOp>(inside);
    if (isa<ArgReduceOp>(inside) || (scan && op) ||
        (reduce && (parts || !reduce.getParts())))
      return failure();
    if (scan)
      op = scan;
    if (reduce)
      parts = reduce;
  }
  if (!op || (parts && !sumsParts(parts, op)))
    return failure();
  MLIRContext *context = op.getContext();
  SmallVector<Expr> sizes = getSizes(op.getResult());
  ArrayRef<Expr> outer = ArrayRef(sizes).take_front(op.getAxis()),
                 inner = ArrayRef(sizes).drop_front(op.getAxis() + 1);
  SmallVector<Expr> space = {getElementCount(outer, context),
                             sizes[op.getAxis()],
                             getElementCount(inner, context)};
  ScanIteration result{ScalarProgram(space, context), op, 0, 0, {}};
  ScalarProgram &program = result.program;
  SmallVector<Expr> indices = delinearize(Expr::dim(context, 0), outer);
  indices.push_back(Expr::dim(context, 1));
  llvm::append_range(indices, delinearize(Expr::dim(context, 2), inner));
  ExprRanges ranges = program.getRanges();
  for (Expr &index : indices)
    index = ranges.simplify(index);
  result.operand = program.build(op.getOperand(), indices, isInside);
  result.item = skipExactCast(program, result.operand);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (parts && output == parts.getResult()) {
      SmallVector<Expr> at = indices;
      at.erase(at.begin() + op.getAxis());
      at.insert(at.begin(), Expr::dim(context, 1));
      result.parts = {
          int64_t(*parts.getParts()), parts.getLength(), unsigned(i),
          ranges.simplify(getOffset(at, outputStrides(i), context))};
      continue;
    }
    SmallVector<Expr> own = getSizes(output), at = indices;
    if (own != sizes) {
      if (getElementCount(own, context) != getElementCount(sizes, context))
        return failure();
      at = delinearize(linearize(indices, sizes, context), own);
    }
    unsigned node = program.build(output, at, isInside);
    result.stores.push_back(
        {node, unsigned(i),
         ranges.simplify(getOffset(at, outputStrides(i), context))});
  }
  if (parts && !result.parts)
    return failure();
  // Each sum is asked for where it is found.
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Root)
      for (auto [index, expected] :
           llvm::zip_equal(program[n].indices, indices))
        if (ranges.simplify(index) != expected)
          return failure();
  return result;
}

FailureOr<ScanIteration> fusec::analyzeScan(StepOp step) {
  Block &block = step.getBody().front();
  return analyzeScan(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
}
