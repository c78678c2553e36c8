// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bags by offsets that begin at multiples of a number have as many rows each.

#include "compiler/kernels/bag/device/bag_config.h"
#include "compiler/transforms/tensor/BagPatterns.h"

using namespace mlir;
using namespace fusec;

/// The number whose multiples from 0 on a row of offsets is.
static std::optional<int64_t> getStep(Value offsets) {
  if (auto expand = offsets.getDefiningOp<ExpandOp>())
    offsets = expand.getOperand();
  int64_t step = 1;
  if (auto product = offsets.getDefiningOp<MulOp>()) {
    Value iota = product.getLhs(), by = product.getRhs();
    if (!iota.getDefiningOp<IotaOp>())
      std::swap(iota, by);
    auto factor = dyn_cast_if_present<IntegerAttr>(getSplatValue(by));
    if (!factor)
      return std::nullopt;
    step = factor.getInt();
    offsets = iota;
  }
  auto iota = offsets.getDefiningOp<IotaOp>();
  if (!iota || int64_t(iota.getAxis()) != getRank(iota) - 1 || step < 1 ||
      step > mostOfBag)
    return std::nullopt;
  return step;
}

namespace {
struct BagOfSteps : OpRewritePattern<BagOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BagOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getTables().size() != 1 || op.getOffsets().empty())
      return rewriter.notifyMatchFailure(op, "has no offsets of its own");
    Expr bags = getSizes(op.getResult())[0];
    auto step = getStep(op.getOffsets()[0]);
    Sizes from = getSizes(op.getIndices()[0]);
    if (!step || bags * *step != from[1])
      return rewriter.notifyMatchFailure(op, "offsets are no multiples");
    Sizes to = {bags, Expr::constant(op.getContext(), *step)};
    auto groups = getReshapeGroups(from, to);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "indices have no rows");
    auto reshape = [&](Value values) {
      return createReshape(rewriter, op.getLoc(), values, to, *groups);
    };
    SmallVector<Value> weights;
    for (Value each : op.getWeights())
      weights.push_back(reshape(each));
    BagMode mode = op.getMode();
    double scale = op.getScales()[0];
    if (mode == BagMode::Mean && !op.getPadding()) {
      mode = BagMode::Sum;
      scale /= *step;
    }
    rewriter.replaceOpWithNewOp<BagOp>(
        op, op.getType(), mode, op.getTables(), reshape(op.getIndices()[0]),
        ValueRange(), weights, op.getFactors(), op.getZeros(), op.getPolicy(),
        ArrayRef<double>(scale), op.getPaddingAttr(), op.getPadsBy());
    return success();
  }
};
} // namespace

void fusec::populateBagsOfSteps(RewritePatternSet &patterns) {
  patterns.add<BagOfSteps>(patterns.getContext());
}
