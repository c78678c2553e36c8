// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/PairIteration.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/Views.h"

using namespace mlir;
using namespace fusec;

FailureOr<PairIteration> fusec::analyzePairs(StepOp step) {
  Block &block = step.getBody().front();
  auto roots = block.getOps<PairProductOp>();
  if (!llvm::hasSingleElement(roots))
    return failure();
  PairProductOp root = *roots.begin();
  if (!llvm::equal(block.getTerminator()->getOperands(), root->getResults()))
    return failure();
  auto x = analyzeMatrix(root.getX(), isViewOfOne, [&](Value value) {
    return step.getInputBuffer(value).getStrideExprs();
  });
  if (failed(x) || !x->isAlongK() || !isa<BlockArgument>(root.getWeights()))
    return failure();
  SmallVector<Expr> sizes = getSizes(root.getSums());
  BufferOp sums = step.getOutputBuffer(0);
  if (sums.getStrideExprs() != getDenseStrides(sizes, step.getContext()))
    return failure();
  return PairIteration{root,
                       step.getInputBuffer(x->value),
                       step.getInputBuffer(root.getWeights()),
                       sums,
                       x->batch,
                       x->outerStride,
                       sizes[1],
                       sizes[0],
                       getSizes(root.getX())[1].getValue(),
                       sizes[2].getValue()};
}
