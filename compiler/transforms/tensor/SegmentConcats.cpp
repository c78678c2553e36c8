// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of a concat along K has a segment for each of its values, which
// then need no copy: [a | b] . W  ->  a . W[:k] + b . W[k:], in one kernel.

#include "compiler/Passes.h"
#include "compiler/transforms/tensor/PointwisePaths.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_SEGMENTCONCATS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// A kernel has text, and prefetches maps, for each.
static constexpr size_t mostSegments = 4;
/// Elements along K that a segment is worth: a tile's step, which narrower ones
/// fill in part.
static constexpr int64_t leastK = 64;

static bool isLeftOfProduct(OpOperand &use) {
  if (isa<ContractionOp>(use.getOwner()))
    return use.getOperandNumber() == 0;
  auto matmul = dyn_cast<MatmulOp>(use.getOwner());
  return matmul && use.getOperandNumber() == 0 && !matmul.getTransposeLhs();
}

/// Whether a kernel of its own computes the value anyway, or nothing has to:
/// other values are computed as they are written to the concat's memory.
static bool isInMemory(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || !value.hasOneUse() || isFromProduct(value);
}

static bool canBeSegment(Value value) {
  Expr k = getSizes(value).back();
  return k.isConstant() && k.getValue() >= leastK &&
         k.getValue() * getElementBytes(getElementType(value)) % 16 == 0 &&
         isInMemory(value);
}

namespace {
struct ConcatToSegments : OpRewritePattern<ContractionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ContractionOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumSegments() != 1 || op.getNumAccumulators() != 1)
      return rewriter.notifyMatchFailure(op, "has segments already");
    Value left = op.getLhs()[0];
    auto collapse = left.getDefiningOp<CollapseOp>();
    if (collapse && getGroups(collapse).back().size() == 1)
      left = collapse.getOperand();
    auto concat = left.getDefiningOp<ConcatOp>();
    if (!concat || concat.getAxis() + 1 != unsigned(getRank(left)) ||
        concat.getValues().size() > mostSegments ||
        !llvm::all_of(concat.getValues(), canBeSegment))
      return rewriter.notifyMatchFailure(op, "multiplies no concat along K");
    bool isCopied = !llvm::all_of(op.getLhs()[0].getUses(), isLeftOfProduct) ||
                    (left != op.getLhs()[0] && !left.hasOneUse());
    if (isCopied)
      return rewriter.notifyMatchFailure(op, "others read the concat");

    Value weights = op.getRhs()[0];
    unsigned k = getRank(weights) - 2;
    Sizes sizes = getSizes(weights);
    SmallVector<Expr> offsets(sizes.size(), Expr::constant(getContext(), 0));
    SmallVector<int64_t> steps(sizes.size(), 1);
    SmallVector<Value> lhs, rhs;
    for (Value value : concat.getValues()) {
      sizes[k] = getSizes(value).back();
      rhs.push_back(
          createSlice(rewriter, op.getLoc(), weights, offsets, sizes, steps));
      offsets[k] = offsets[k] + sizes[k];
      lhs.push_back(left == op.getLhs()[0]
                        ? value
                        : createCollapse(rewriter, op.getLoc(), value,
                                         getGroups(collapse)));
    }
    auto product = rewriter.replaceOpWithNewOp<ContractionOp>(
        op, op->getResultTypes(), lhs, rhs);
    product->setLoc(rewriter.getFusedLoc({concat.getLoc(), product.getLoc()}));
    return success();
  }
};

struct SegmentConcats : fusec::impl::SegmentConcatsBase<SegmentConcats> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ConcatToSegments>(&getContext());
    // Collapses of the concat's values.
    populateReshapePatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
