// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/StepBytes.h"

using namespace mlir;

namespace fusec {

/// The number that a count of elements is taken for.
using Count = llvm::function_ref<int64_t(Expr count)>;

static uint64_t getBytes(Type type, Count countOf) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t count = 1;
  if (!tensor.hasStaticShape()) {
    count = countOf(getElementCount(getSizes(type), type.getContext()));
  } else {
    for (int64_t size : tensor.getShape())
      if (llvm::MulOverflow(count, size, count))
        count = INT64_MAX;
  }
  return llvm::SaturatingMultiply(
      uint64_t(std::max<int64_t>(count, 0)),
      uint64_t(getElementBytes(tensor.getElementType())));
}

static uint64_t getUsedBytes(Value value, Count countOf);

/// Of an operand, as far as this use goes.
static uint64_t getUsedBytes(OpOperand &use, Count countOf) {
  // The same elements under other indices: what is read of them counts.
  if (isa<CollapseOp, ExpandOp, TransposeOp>(use.getOwner()))
    return getUsedBytes(use.getOwner()->getResult(0), countOf);
  uint64_t whole = getBytes(use.get().getType(), countOf);
  if (auto gather = dyn_cast<GatherOp>(use.getOwner()))
    if (gather.getSource() == use.get())
      return std::min(whole, getBytes(gather.getType(), countOf));
  if (auto lookup = dyn_cast<LookupOp>(use.getOwner()))
    if (use.get() != lookup.getIndices())
      return std::min(whole, getBytes(lookup.getType(), countOf) /
                                 lookup.getTables().size());
  if (auto slice = dyn_cast<SliceOp>(use.getOwner()))
    return std::min(whole, getBytes(slice.getType(), countOf));
  return whole;
}

/// Of a value, by all of its uses.
static uint64_t getUsedBytes(Value value, Count countOf) {
  uint64_t used = 0;
  for (OpOperand &use : value.getUses())
    used += getUsedBytes(use, countOf);
  return std::min(used, getBytes(value.getType(), countOf));
}

static StepBytes sumBytes(StepOp step, Count countOf) {
  StepBytes bytes;
  Block &body = step.getBody().front();
  for (BlockArgument argument : body.getArguments())
    bytes.read += getUsedBytes(argument, countOf);
  for (Type type : body.getTerminator()->getOperandTypes())
    bytes.written += getBytes(type, countOf);
  return bytes;
}

StepBytes getStepBytes(StepOp step,
                       const std::map<std::string, int64_t> &dims) {
  return sumBytes(step, [&](Expr count) {
    auto value = count.evaluate([&](Expr leaf) -> std::optional<int64_t> {
      if (leaf.getKind() != ExprKind::Symbol)
        return std::nullopt;
      auto it = dims.find(leaf.getName().str());
      return it == dims.end() ? typicalDim : it->second;
    });
    return value.value_or(0);
  });
}

StepBytes getStepBytesAt(StepOp step, int64_t dim) {
  return sumBytes(step,
                  [&](Expr count) { return getSampledValue(count, dim); });
}

StepBytes getPlanBytes(PlanOp plan,
                       const std::map<std::string, int64_t> &dims) {
  StepBytes total;
  for (StepOp step : plan.getOps<StepOp>()) {
    StepBytes bytes = getStepBytes(step, dims);
    total.read += bytes.read;
    total.written += bytes.written;
  }
  return total;
}

std::vector<std::string> getDimNames(ModelOp model) {
  std::vector<std::string> names;
  for (Type type : model.getBody().front().getArgumentTypes())
    for (Expr size : getSizes(type))
      size.walkLeaves([&](Expr leaf) {
        if (leaf.getKind() == ExprKind::Symbol &&
            !llvm::is_contained(names, leaf.getName()))
          names.push_back(leaf.getName().str());
      });
  return names;
}

} // namespace fusec
