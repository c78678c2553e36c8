// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/BagIteration.h"

using namespace mlir;
using namespace fusec;

bool fusec::haveConstantPlaces(const MatrixAccess &indices) {
  return indices.outerStride.isConstant() && indices.kStride.isConstant() &&
         llvm::isInt<32>(indices.kStride.getValue()) &&
         indices.batch.isConstant();
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
  int64_t column = 0;
  for (auto [table, indices, scale] :
       llvm::zip_equal(op.getTables(), op.getIndices(), op.getScales())) {
    auto access = analyzeMatrix(
        indices,
        [&](Operation *inside) { return inside->getBlock() == &block; },
        [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); });
    if (failed(access) || !haveConstantPlaces(*access) ||
        !isa<BlockArgument>(table))
      return failure();
    int64_t width = getSizes(table)[1].getValue();
    iteration.tables.push_back(
        {step.getInputBuffer(table), step.getInputBuffer(access->value),
         access->batch.getValue(), access->outerStride.getValue(),
         access->kStride.getValue(), getSizes(indices)[1].getValue(), width,
         column, scale});
    column += width;
  }
  return iteration;
}
