// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Tables.h"
#include "ir/IndexMap.h"

using namespace mlir;
using namespace fusec;

/// Whether the use reads rows by an index, each as a whole or in part.
static bool readsRows(OpOperand &use) {
  unsigned operand = use.getOperandNumber();
  if (auto gather = dyn_cast<GatherOp>(use.getOwner()))
    return operand == 0 && !gather.getPositions().empty() &&
           gather.getPositions()[0] < 0 &&
           llvm::all_of(gather.getPositions().drop_front(),
                        [](int64_t position) { return position >= 0; });
  if (auto lookup = dyn_cast<LookupOp>(use.getOwner()))
    return operand < lookup.getTables().size();
  if (auto bag = dyn_cast<BagOp>(use.getOwner()))
    return operand < bag.getTables().size();
  return false;
}

static bool isDense(BufferOp buffer) {
  return llvm::equal(
      buffer.getStrideExprs(),
      getDenseStrides(getSizes(buffer.getType()), buffer.getContext()));
}

llvm::DenseSet<Operation *> fusec::findTables(PlanOp plan) {
  llvm::DenseSet<Operation *> tables, others;
  for (StepOp step : plan.getOps<StepOp>())
    for (BlockArgument argument : step.getBody().getArguments()) {
      BufferOp buffer = step.getInputBuffer(argument);
      if (buffer.getKind() != BufferKind::Weight)
        continue;
      bool isTable =
          isDense(buffer) && llvm::all_of(argument.getUses(), readsRows);
      (isTable ? tables : others).insert(buffer);
    }
  for (Operation *other : others)
    tables.erase(other);
  return tables;
}
