// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/StoreApart.h"
#include "compiler/analysis/Iteration.h"

using namespace mlir;
using namespace fusec;

static Expr getCount(Value value) {
  return getElementCount(getSizes(value), value.getContext());
}

/// What of the rows' results others are computed of, down to the reductions.
static SmallVector<Value> findNeeded(ArrayRef<Value> stored, Expr rows,
                                     const llvm::DenseSet<Value> &reduced) {
  SmallVector<Value> needed, open(stored);
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!reduced.contains(value) || !seen.insert(value).second)
      continue;
    if (getCount(value) == rows)
      needed.push_back(value);
    else
      llvm::append_range(open, value.getDefiningOp()->getOperands());
  }
  return needed;
}

std::optional<CutStep> fusec::storeApart(StepOp step) {
  if (step.getFamily() != Family::Reduce)
    return std::nullopt;
  Block &body = step.getBody().front();
  SmallVector<Operation *> reductions;
  llvm::DenseSet<Value> reduced; // what depends on one
  for (Operation &op : body.without_terminator()) {
    bool reduces = isa<ReduceOp, ArgReduceOp>(op);
    if (reduces)
      reductions.push_back(&op);
    if (reduces || llvm::any_of(op.getOperands(), [&](Value operand) {
          return reduced.contains(operand);
        }))
      reduced.insert(op.getResults().begin(), op.getResults().end());
  }
  if (reductions.empty() || reducesLastAxes(reductions[0]))
    return std::nullopt;
  Expr rows = getCount(reductions[0]->getResult(0));
  if (!llvm::all_of(reductions, [&](Operation *op) {
        return getCount(op->getResult(0)) == rows;
      }))
    return std::nullopt;
  SmallVector<Value> ofRows, stored;
  SmallVector<Attribute> rowBuffers, storedBuffers;
  for (auto [value, buffer] : llvm::zip_equal(
           body.getTerminator()->getOperands(), step.getOutputs())) {
    bool isOfRows = getCount(value) == rows;
    (isOfRows ? ofRows : stored).push_back(value);
    (isOfRows ? rowBuffers : storedBuffers).push_back(buffer);
  }
  SmallVector<Value> needed = findNeeded(stored, rows, reduced);
  if (needed.empty())
    return std::nullopt;

  CutStep cut;
  StepBuilder first(step, Family::Reduce, step.getName() + "_rows"),
      second(step, Family::Pointwise, step.getName());
  for (Value value : needed) {
    auto type = cast<RankedTensorType>(value.getType());
    cut.parts.push_back(createSlot(step, "rows", type));
    rowBuffers.push_back(FlatSymbolRefAttr::get(cut.parts.back()));
    second.mapping.map(value, second.addInput(rowBuffers.back(), type));
  }
  llvm::append_range(ofRows, needed);
  auto end = [](StepBuilder &builder, ArrayRef<Attribute> buffers,
                ArrayRef<Value> values) {
    builder.clone(values);
    return builder.finish(buffers,
                          llvm::map_to_vector(values, [&](Value value) {
                            return builder.mapping.lookup(value);
                          }));
  };
  cut.first = end(first, rowBuffers, ofRows);
  cut.second = end(second, storedBuffers, stored);
  return cut;
}
