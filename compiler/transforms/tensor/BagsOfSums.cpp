// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding bags that are added become one, side by side, of whose columns the
// sum is: what adds them is a kernel, and was one of many.

#include "compiler/transforms/tensor/BagPatterns.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;

namespace {
struct SumOfBags : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

/// The add whose sum is all that reads the value, if it is one of as many
/// elements.
static AddOp getOnlyAdd(Value value) {
  if (!value.hasOneUse())
    return {};
  auto add = dyn_cast<AddOp>(*value.getUsers().begin());
  return add && add.getType() == value.getType() ? add : AddOp();
}

/// The adds of which only this one's sum is left, each behind its operands, and
/// the bags that nothing else reads.
static void collectSum(AddOp sum, SmallVectorImpl<Operation *> &adds,
                       SmallVectorImpl<BagOp> &bags) {
  SmallVector<Operation *> pending = {sum};
  while (!pending.empty()) {
    Operation *add = pending.pop_back_val();
    adds.push_back(add);
    for (Value operand : add->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || !getOnlyAdd(operand))
        continue;
      if (auto bag = dyn_cast<BagOp>(source))
        bags.push_back(bag);
      else if (isa<AddOp>(source))
        pending.push_back(source);
    }
  }
  std::reverse(adds.begin(), adds.end());
  llvm::sort(bags, [](BagOp a, BagOp b) { return a->isBeforeInBlock(b); });
}

LogicalResult SumOfBags::matchAndRewrite(AddOp op,
                                         PatternRewriter &rewriter) const {
  if (getOnlyAdd(op.getResult()))
    return rewriter.notifyMatchFailure(op, "is part of another sum");
  SmallVector<Operation *> adds;
  SmallVector<BagOp> bags;
  collectSum(op, adds, bags);
  if (bags.size() < 2)
    return rewriter.notifyMatchFailure(op, "adds no two bags");
  SmallVector<JoinedBags> joined = joinBags(bags, rewriter);
  if (joined.empty())
    return rewriter.notifyMatchFailure(op, "adds no two bags of one kind");
  MLIRContext *context = op.getContext();
  IRMapping mapping;
  for (const JoinedBags &each : joined) {
    Expr column = Expr::constant(context, 0);
    for (BagOp bag : each.parts) {
      SmallVector<Expr> sizes = getSizes(bag.getResult());
      mapping.map(bag.getResult(),
                  createSlice(rewriter, bag.getLoc(), each.bag,
                              {Expr::constant(context, 0), column}, sizes,
                              {1, 1}));
      column = column + sizes[1];
    }
  }
  Operation *sum = nullptr;
  for (Operation *add : adds)
    sum = rewriter.clone(*add, mapping);
  rewriter.replaceOp(op, sum->getResults());
  return success();
}

void fusec::populateBagsOfSums(RewritePatternSet &patterns) {
  patterns.add<SumOfBags>(patterns.getContext());
}
