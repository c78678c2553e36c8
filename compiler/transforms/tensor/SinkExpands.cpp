// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops on a product run over the product's own dimensions, where they
// can be its epilogue; what splits the rows into batches again comes after
// them.

#include "compiler/transforms/tensor/PointwisePaths.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;

namespace {
/// f(expand(x), y)  ->  expand(f(x, collapse(y))).
struct SinkExpand : OpInterfaceRewritePattern<PointwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PointwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    ExpandOp expand;
    for (Value operand : op->getOperands()) {
      expand = operand.getDefiningOp<ExpandOp>();
      if (expand && getRank(expand.getOperand()) < getRank(operand) &&
          isFromProduct(expand.getOperand()))
        break;
      expand = {};
    }
    if (!expand)
      return rewriter.notifyMatchFailure(op,
                                         "no operand is an expanded product");
    Groups groups = getGroups(expand);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand,
                  operand == expand.getResult()
                      ? expand.getOperand()
                      : createCollapse(rewriter, op.getLoc(), operand, groups));
    Operation *inner = rewriter.clone(*op, mapping);
    Value result = op->getResult(0);
    inner->getResult(0).setType(
        getTensorType(getSizes(expand.getOperand()), getElementType(result)));
    rewriter.replaceOp(op,
                       createExpand(rewriter, op.getLoc(), inner->getResult(0),
                                    getSizes(result), groups));
    return success();
  }
};
} // namespace

void fusec::populateSinkPatterns(RewritePatternSet &patterns) {
  patterns.add<SinkExpand>(patterns.getContext());
}
