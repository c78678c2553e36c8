// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of weights that lie side by side in one matrix, of which each part
// is used apart: gate and value of one projection. Slices move before the
// product, so that the parts can be accumulators of one kernel.

#include "compiler/Passes.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"
#include "compiler/transforms/tensor/PointwisePaths.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_SLICEPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
/// The slices of a value, or of its expand, that is used in no other way.
struct Parts {
  SmallVector<SliceOp> slices;
  ExpandOp expand; // null where there is none between
};
} // namespace

/// Those of `value` if they are of equal size, along its last dimension, and
/// meet through pointwise ops; else none.
static Parts getMeetingParts(Value value) {
  Parts parts;
  if (value.hasOneUse())
    parts.expand = dyn_cast<ExpandOp>(*value.user_begin());
  if (parts.expand) {
    if (getGroups(parts.expand).back().size() != 1)
      return {};
    value = parts.expand.getResult();
  }
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice ||
        (!parts.slices.empty() && slice.getType() != parts.slices[0].getType()))
      return {};
    parts.slices.push_back(slice);
  }
  // Users have no order of their own.
  llvm::sort(parts.slices,
             [](SliceOp a, SliceOp b) { return a->isBeforeInBlock(b); });
  int64_t count = parts.slices.size();
  if (count < 2 || count > wgmmaMaxAccumulators)
    return {};
  Sizes whole = getSizes(value), part = getSizes(parts.slices[0].getResult());
  if (ArrayRef(part).drop_back() != ArrayRef(whole).drop_back() ||
      !part.back().isConstant() || !whole.back().isConstant() ||
      part.back().getValue() * count > whole.back().getValue())
    return {};
  auto meetsAnother = [&](SliceOp slice) {
    return llvm::any_of(parts.slices, [&](SliceOp other) {
      return other != slice && meetThroughPointwise(slice, other);
    });
  };
  return llvm::all_of(parts.slices, meetsAnother) ? parts : Parts();
}

/// The slice's part of another value, of the same sizes or with the last
/// dimension at `dim`.
static Value slicePart(PatternRewriter &rewriter, SliceOp part, Value value,
                       unsigned dim) {
  unsigned last = getRank(part.getOperand()) - 1;
  Sizes sizes = getSizes(value);
  SmallVector<Expr> offsets(sizes.size(),
                            Expr::constant(rewriter.getContext(), 0));
  SmallVector<int64_t> steps(sizes.size(), 1);
  sizes[dim] = getSizes(part.getResult())[last];
  offsets[dim] = Expr(cast<ExprAttr>(part.getOffsets()[last]));
  steps[dim] = part.getSteps()[last];
  return createSlice(rewriter, part.getLoc(), value, offsets, sizes, steps);
}

/// The value takes the place of one of the parts.
static void replacePart(PatternRewriter &rewriter, const Parts &parts,
                        SliceOp part, Value value) {
  if (parts.expand)
    value = createExpand(rewriter, part.getLoc(), value,
                         getSizes(part.getResult()), getGroups(parts.expand));
  rewriter.replaceOp(part, value);
}

static void eraseWhole(PatternRewriter &rewriter, const Parts &parts,
                       Operation *op) {
  if (parts.expand)
    rewriter.eraseOp(parts.expand);
  rewriter.eraseOp(op);
}

namespace {
/// slice(f(product, y))  ->  f(slice(product), slice(y)).
struct SliceBeforePointwise : OpInterfaceRewritePattern<PointwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PointwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    Value result = op->getResult(0);
    Parts parts = getMeetingParts(result);
    if (parts.slices.empty() || !isFromProduct(result))
      return rewriter.notifyMatchFailure(op, "no parts of a product meet");
    for (SliceOp part : parts.slices) {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand,
                    slicePart(rewriter, part, operand, getRank(operand) - 1));
      Operation *own = rewriter.clone(*op, mapping);
      own->setLoc(rewriter.getFusedLoc({op.getLoc(), part.getLoc()}));
      Sizes sizes = getSizes(result);
      sizes.back() = getSizes(part.getResult()).back();
      own->getResult(0).setType(getTensorType(sizes, getElementType(result)));
      replacePart(rewriter, parts, part, own->getResult(0));
    }
    eraseWhole(rewriter, parts, op);
    return success();
  }
};

/// slice(x W)  ->  x slice(W).
struct SliceBeforeProduct : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Parts parts = getMeetingParts(op.getResult());
    if (parts.slices.empty())
      return rewriter.notifyMatchFailure(op, "no parts of the product meet");
    unsigned columns = getRank(op.getRhs()) - (op.getTransposeRhs() ? 2 : 1);
    for (SliceOp part : parts.slices) {
      Value weights = slicePart(rewriter, part, op.getRhs(), columns);
      Sizes sizes = getSizes(op.getResult());
      sizes.back() = getSizes(part.getResult()).back();
      Value own = MatmulOp::create(
          rewriter, rewriter.getFusedLoc({op.getLoc(), part.getLoc()}),
          getTensorType(sizes, getElementType(op.getResult())), op.getLhs(),
          weights, op.getTransposeLhsAttr(), op.getTransposeRhsAttr());
      replacePart(rewriter, parts, part, own);
    }
    eraseWhole(rewriter, parts, op);
    return success();
  }
};

struct SliceProducts : fusec::impl::SliceProductsBase<SliceProducts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SliceBeforePointwise, SliceBeforeProduct>(&getContext());
    // Slices of weights that are slices.
    populateSlicePatterns(patterns);
    // Parts meet behind the expands of a batch.
    populateSinkPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
