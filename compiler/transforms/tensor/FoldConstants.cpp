// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops on constants become constants; the reference computes them, so that a
// folded value is the one that would have been computed at run time. Weights of
// bytes that few rows are multiplied by stay bytes until the plan knows whether
// a kernel takes them so; what none takes, fusec-fold-steps computes.

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

/// The most rows for which kernels may read weights as bytes; with more, the
/// product takes longer than its weights.
static constexpr int64_t mostRowsOfBytes = 256;

/// Whether the result of the product that reads the weights has so few rows.
static bool hasFewRows(OpOperand &read) {
  Operation *product = read.getOwner();
  auto type = cast<RankedTensorType>(product->getResult(0).getType());
  bool isLeft = isa<MatmulOp>(product) && read.getOperandNumber() == 0;
  return type.hasStaticShape() &&
         type.getNumElements() <=
             mostRowsOfBytes * type.getDimSize(type.getRank() - 1 - isLeft);
}

/// What dequantises weights that a kernel may read as bytes. Small ones are
/// folded, and those of many rows: other patterns look into constants.
static llvm::DenseSet<Operation *> findDequantizations(Block &block) {
  llvm::DenseSet<Operation *> kept;
  for (auto constant : block.getOps<ConstantOp>()) {
    auto type = cast<RankedTensorType>(constant.getType());
    if (type.getNumElements() <= reference::FoldLimits().smallBytes)
      continue;
    OpOperand *read = nullptr;
    SmallVector<Operation *> ops = findDequantization(constant, read);
    if (!ops.empty() && hasFewRows(*read))
      kept.insert_range(ops);
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
