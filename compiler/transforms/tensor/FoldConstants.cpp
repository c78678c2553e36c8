// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops on constants become constants; the reference computes them, so that a
// folded value is the one that would have been computed at run time. Weights of
// bytes that a product multiplies stay bytes until the plan knows whether its
// kernel takes them so; what it does not take, fusec-fold-steps computes.

#include "ir/reference/FoldConstants.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/QuantizedWeights.h"
#include "ir/FusecOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

static bool hasConstantOperandsOnly(Operation *op) {
  return op->getNumOperands() != 0 &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return operand.getDefiningOp<ConstantOp>() != nullptr;
         });
}

/// What dequantises weights, unless it is small: other patterns look into small
/// constants, and no kernel gains by them.
static llvm::DenseSet<Operation *> findDequantizations(Block &block) {
  llvm::DenseSet<Operation *> kept;
  for (auto constant : block.getOps<ConstantOp>()) {
    auto type = cast<RankedTensorType>(constant.getType());
    OpOperand *read = nullptr;
    if (type.getNumElements() > reference::FoldLimits().smallBytes)
      kept.insert_range(findDequantization(constant, read));
  }
  return kept;
}

static void fold(Operation *op, reference::FoldBudget &budget) {
  std::string reason;
  bool wasExceeded = budget.isExceeded();
  auto values = reference::foldConstants(op, budget, reason);
  if (failed(values)) {
    std::string text = fmt::format("'{}' of constants {}",
                                   op->getName().getStringRef(), reason);
    if (hasConstantOperandsOnly(op))
      remarkMissed(remarks::foldConstants, op->getLoc()) << text;
    // Once, although many more ops may follow.
    if (budget.isExceeded() && !wasExceeded)
      emitWarning(op->getLoc())
          << text << "; it is computed at each run, as may be others";
    return;
  }
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *values))
    result.replaceAllUsesWith(
        ConstantOp::create(builder, op->getLoc(), result.getType(), value));
  remarkPassed(remarks::foldConstants, op->getLoc()) << fmt::format(
      "'{}' of constants is a constant", op->getName().getStringRef());
}

namespace {
struct FoldConstants : fusec::impl::FoldConstantsBase<FoldConstants> {
  explicit FoldConstants(std::shared_ptr<reference::FoldBudget> budget = {})
      : budget(budget ? std::move(budget)
                      : std::make_shared<reference::FoldBudget>()) {}

  void runOnOperation() override {
    budget->open(getOperation());
    Block &block = getOperation().getBody().front();
    llvm::DenseSet<Operation *> kept = findDequantizations(block);
    // In order: an operand is a constant by the time its user is looked at.
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (isa<IndexedOpInterface>(op) && !op.use_empty() && !kept.contains(&op))
        fold(&op, *budget);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  std::shared_ptr<reference::FoldBudget> budget;
};
} // namespace

std::unique_ptr<Pass>
fusec::createFoldConstants(std::shared_ptr<reference::FoldBudget> budget) {
  return std::make_unique<FoldConstants>(std::move(budget));
}
