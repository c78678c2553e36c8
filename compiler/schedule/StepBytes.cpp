// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/StepBytes.h"

using namespace mlir;

namespace fusec {

namespace {
struct DimSizes {
  const std::map<std::string, int64_t> &given;
  int64_t other;
};
} // namespace

static uint64_t getBytes(Type type, const DimSizes &dims) {
  uint64_t bytes =
      getElementBytes(cast<RankedTensorType>(type).getElementType());
  for (Expr size : getSizes(type)) {
    std::optional<int64_t> value =
        size.evaluate([&](Expr leaf) -> std::optional<int64_t> {
          if (leaf.getKind() != ExprKind::Symbol)
            return std::nullopt;
          auto it = dims.given.find(leaf.getName().str());
          return it == dims.given.end() ? dims.other : it->second;
        });
    bytes *= value ? std::max<int64_t>(*value, 0) : 0;
  }
  return bytes;
}

/// Of an operand, as far as this use goes.
static uint64_t getUsedBytes(OpOperand &use, const DimSizes &dims) {
  uint64_t whole = getBytes(use.get().getType(), dims);
  if (auto gather = dyn_cast<GatherOp>(use.getOwner()))
    if (gather.getSource() == use.get())
      return std::min(whole, getBytes(gather.getType(), dims));
  if (auto lookup = dyn_cast<LookupOp>(use.getOwner()))
    if (use.get() != lookup.getIndices())
      return std::min(whole, getBytes(lookup.getType(), dims) /
                                 lookup.getTables().size());
  if (auto slice = dyn_cast<SliceOp>(use.getOwner()))
    return std::min(whole, getBytes(slice.getType(), dims));
  return whole;
}

StepBytes getStepBytes(StepOp step, const std::map<std::string, int64_t> &given,
                       int64_t other) {
  DimSizes dims{given, other};
  StepBytes bytes;
  Block &body = step.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    uint64_t used = 0;
    for (OpOperand &use : argument.getUses())
      used += getUsedBytes(use, dims);
    bytes.read += std::min(used, getBytes(argument.getType(), dims));
  }
  for (Type type : body.getTerminator()->getOperandTypes())
    bytes.written += getBytes(type, dims);
  return bytes;
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
