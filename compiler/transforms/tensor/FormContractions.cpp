// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products in the form that kernels have: accumulators times
// K-segments, or pointwise where K is 1.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_FORMCONTRACTIONS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

static Expr getInnerSize(MatmulOp op) {
  Sizes lhs = getSizes(op.getLhs());
  return lhs[lhs.size() - (op.getTransposeLhs() ? 2 : 1)];
}

namespace {
/// [.., m, 1] . [.., 1, n] is one product an element: pointwise.
struct OuterProductToMul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (!getInnerSize(op).isConstant(1))
      return rewriter.notifyMatchFailure(op, "K is not 1");
    Sizes sizes = getSizes(op.getResult());
    int64_t rank = sizes.size();
    auto spread = [&](Value value, bool left, bool transposed) {
      unsigned inner = rank - (left != transposed ? 1 : 2);
      value = dropUnitDim(rewriter, op.getLoc(), value, inner);
      auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
      dims.push_back(left ? rank - 2 : rank - 1);
      return createBroadcast(rewriter, op.getLoc(), value, sizes, dims);
    };
    Value lhs = spread(op.getLhs(), true, op.getTransposeLhs());
    Value rhs = spread(op.getRhs(), false, op.getTransposeRhs());
    remarkPassed(remarks::outerProductToMul, op.getLoc())
        << "a product with K = 1 is pointwise";
    rewriter.replaceOpWithNewOp<MulOp>(op, lhs, rhs);
    return success();
  }
};

/// A right operand that all batches share: its batches are more rows of M.
/// [b, m, k] . broadcast [k, n] -> [b * m, k] . [k, n].
struct FoldBatchIntoRows : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Sizes lhsSizes = getSizes(op.getLhs());
    int64_t rank = lhsSizes.size();
    if (rank < 3)
      return rewriter.notifyMatchFailure(op, "there is no batch");
    if (op.getTransposeLhs())
      return rewriter.notifyMatchFailure(
          op, "rows are not neighbours of the batch");
    auto broadcast = op.getRhs().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(
          op, "the right operand has its own batches");
    Value matrix = broadcast.getOperand();
    ArrayRef<int64_t> dims = broadcast.getDimensions();
    Sizes sizes = getSizes(matrix), full = getSizes(op.getRhs());
    // The matrix itself must not be spread, and everything else must be.
    unsigned batch = dims.size() < 2 ? 0 : dims.size() - 2;
    if (dims.size() < 2 || dims[batch] != rank - 2 ||
        dims[batch + 1] != rank - 1 || sizes[batch] != full[rank - 2] ||
        sizes[batch + 1] != full[rank - 1])
      return rewriter.notifyMatchFailure(
          op, "the right operand is spread within a matrix");
    for (unsigned i = 0; i < batch; ++i)
      if (!sizes[i].isConstant(1))
        return rewriter.notifyMatchFailure(
            op, "the right operand has its own batches");
    for (unsigned i = 0; i < batch; ++i)
      matrix = dropUnitDim(rewriter, op.getLoc(), matrix, 0);

    Groups groups(2);
    groups[0] = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
    groups[1].push_back(rank - 1);
    Sizes result = getSizes(op.getResult());
    Value lhs = createCollapse(rewriter, op.getLoc(), op.getLhs(), groups);
    Sizes flat = {getSizes(lhs)[0], result.back()};
    Value product = MatmulOp::create(
        rewriter, op.getLoc(), getTensorType(flat, getElementType(lhs)), lhs,
        matrix, UnitAttr(), op.getTransposeRhsAttr());
    rewriter.replaceOp(
        op, createExpand(rewriter, op.getLoc(), product, result, groups));
    return success();
  }
};

struct MatmulToContraction : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    if (op.getTransposeLhs())
      lhs = createMatrixTranspose(rewriter, op.getLoc(), lhs);
    if (op.getTransposeRhs())
      rhs = createMatrixTranspose(rewriter, op.getLoc(), rhs);
    rewriter.replaceOpWithNewOp<ContractionOp>(op, op->getResultTypes(), lhs,
                                               rhs);
    return success();
  }
};

struct FormContractions : fusec::impl::FormContractionsBase<FormContractions> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<OuterProductToMul>(&getContext(), /*benefit=*/3);
    patterns.add<FoldBatchIntoRows>(&getContext(), /*benefit=*/2);
    patterns.add<MatmulToContraction>(&getContext(), /*benefit=*/1);
    // Transposes and collapses of operands that are views.
    populateReshapePatterns(patterns);
    // Behind the expands of batches that became rows.
    populateSinkPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
