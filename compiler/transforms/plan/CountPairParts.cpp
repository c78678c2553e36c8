// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs in as many parts as fill the plan's target. What they find
// is added up, so that their number is nobody else's concern.

#include "compiler/transforms/plan/CountPairParts.h"
#include "compiler/analysis/PairIteration.h"
#include "compiler/kernels/pairs/Pairs.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

/// Whether all that the value is read for is its sum over the parts.
static bool isOnlySummed(Value parts) {
  return llvm::all_of(parts.getUsers(), [](Operation *user) {
    auto sum = dyn_cast<ReduceOp>(user);
    return sum && sum.getKind() == ReduceKind::Sum &&
           sum.getAxes() == ArrayRef<int64_t>{0};
  });
}

/// What steps read of the buffer.
static SmallVector<BlockArgument> getReaders(PlanOp plan, BufferOp buffer) {
  SmallVector<BlockArgument> readers;
  for (StepOp step : plan.getOps<StepOp>())
    for (BlockArgument argument : step.getBody().front().getArguments())
      if (step.getInputBuffer(argument) == buffer)
        readers.push_back(argument);
  return readers;
}

void fusec::countPairParts(PlanOp plan, const Target &target) {
  PlanBuffers buffers(plan);
  SmallVector<Attribute> slots(plan.getSlots().getValue());
  for (StepOp step : plan.getOps<StepOp>()) {
    FailureOr<PairIteration> pairs = analyzePairs(step);
    if (failed(pairs) || pairs->sums.getKind() != BufferKind::Slot)
      continue;
    SmallVector<BlockArgument> readers = getReaders(plan, pairs->sums);
    Expr parts = countPairParts(pairs->rows, pairs->features, pairs->columns,
                                target.multiprocessors);
    if (parts == pairs->parts || !llvm::all_of(readers, isOnlySummed))
      continue;
    RankedTensorType type = getTensorType(
        {parts, pairs->rows, Expr::constant(plan.getContext(), pairs->columns)},
        pairs->sums.getElementType());
    pairs->root.getSums().setType(type);
    for (BlockArgument reader : readers)
      reader.setType(type);
    pairs->sums.setType(type);
    slots[pairs->sums.getIndex()] =
        (getElementCount(getSizes(type), plan.getContext()) *
         getElementBytes(type.getElementType()))
            .getAttr();
  }
  plan.setSlotsAttr(ArrayAttr::get(plan.getContext(), slots));
}
