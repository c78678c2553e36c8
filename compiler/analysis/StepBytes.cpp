// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/StepBytes.h"

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

// Sums are of numbers, or of expressions.
template <typename Sum> using BytesOf = llvm::function_ref<Sum(Type tensor)>;

static uint64_t least(uint64_t a, uint64_t b) { return std::min(a, b); }
static Expr least(Expr a, Expr b) { return Expr::min(a, b); }
static uint64_t divide(uint64_t bytes, size_t by) { return bytes / by; }
static Expr divide(Expr bytes, size_t by) {
  return bytes.floorDiv(Expr::constant(bytes.getContext(), by));
}

/// Of a table whose width is known.
static int64_t getRowBytes(Value table) {
  return getSizes(table)[1].getValue() * getElementBytes(getElementType(table));
}

/// How many elements are read for each that is kept: those between neighbours
/// of a row come in the same sectors.
static int64_t countFetched(SliceOp slice) {
  constexpr int64_t sectorBytes = 32;
  if (slice.getSteps().empty())
    return 1;
  int64_t most =
      sectorBytes / getElementBytes(getElementType(slice.getResult()));
  return std::clamp<int64_t>(std::abs(slice.getSteps().back()), 1, most);
}

template <typename Sum>
static Sum getUsedBytes(Value value, Sum none, BytesOf<Sum> bytesOf);

/// Of an operand, as far as this use goes.
template <typename Sum>
static Sum getUsedBytes(OpOperand &use, Sum none, BytesOf<Sum> bytesOf) {
  // The same elements under other indices: what is read of them counts.
  if (isa<CollapseOp, ExpandOp, TransposeOp>(use.getOwner()))
    return getUsedBytes<Sum>(use.getOwner()->getResult(0), none, bytesOf);
  Sum whole = bytesOf(use.get().getType());
  if (auto gather = dyn_cast<GatherOp>(use.getOwner()))
    if (gather.getSource() == use.get())
      return least(whole, bytesOf(gather.getType()));
  if (auto lookup = dyn_cast<LookupOp>(use.getOwner()))
    if (use.get() != lookup.getIndices())
      return least(
          whole, divide(bytesOf(lookup.getType()), lookup.getTables().size()));
  if (auto bag = dyn_cast<BagOp>(use.getOwner())) {
    unsigned number = use.getOperandNumber(), tables = bag.getTables().size();
    if (number < tables || number >= tables + bag.getPlaced().size()) {
      unsigned table =
          number < tables ? number : number - bag.getLengths().size();
      Value ids = bag.getIndices()[table % tables];
      Type indices = ids.getType();
      int64_t element = getElementBytes(getElementType(ids));
      return least(whole,
                   divide(bytesOf(indices) * getRowBytes(use.get()), element));
    }
  }
  if (auto slice = dyn_cast<SliceOp>(use.getOwner()))
    return least(whole, bytesOf(slice.getType()) * countFetched(slice));
  return whole;
}

/// Of a value, by all of its uses.
template <typename Sum>
static Sum getUsedBytes(Value value, Sum none, BytesOf<Sum> bytesOf) {
  Sum used = none;
  for (OpOperand &use : value.getUses())
    used = used + getUsedBytes<Sum>(use, none, bytesOf);
  return least(used, bytesOf(value.getType()));
}

/// Read and written.
template <typename Sum>
static std::pair<Sum, Sum> sumBytes(StepOp step, Sum none,
                                    BytesOf<Sum> bytesOf) {
  Sum read = none, written = none;
  Block &body = step.getBody().front();
  for (BlockArgument argument : body.getArguments())
    read = read + getUsedBytes<Sum>(argument, none, bytesOf);
  for (Type type : body.getTerminator()->getOperandTypes())
    written = written + bytesOf(type);
  return {read, written};
}

static StepBytes sumBytes(StepOp step, Count countOf) {
  auto [read, written] = sumBytes<uint64_t>(
      step, 0, [&](Type type) { return getBytes(type, countOf); });
  return {read, written};
}

static Expr getCount(Type type) {
  return getElementCount(getSizes(type), type.getContext());
}

static Expr countOperations(Operation *op) {
  if (auto root = dyn_cast<ContractionOp>(op)) {
    Expr depth = Expr::constant(op->getContext(), 0);
    for (unsigned s = 0; s < root.getNumSegments(); ++s)
      depth = depth + root.getDepth(s);
    return getCount(root.getAccumulators()[0].getType()) * depth *
           (2 * int64_t(root.getNumAccumulators()));
  }
  if (auto pairs = dyn_cast<PairProductOp>(op)) {
    // Slices by columns by what a slice has, for each row.
    SmallVector<Expr> weights = getSizes(pairs.getWeights());
    return getSizes(pairs.getX())[0] * getSizes(pairs.getSums())[2] *
           weights[0] * weights[2] * 2;
  }
  if (auto bag = dyn_cast<BagOp>(op)) {
    Expr sums = Expr::constant(op->getContext(), 0);
    for (auto [t, indices] : llvm::enumerate(bag.getIndices()))
      sums = sums + getCount(indices.getType()) * bag.getWidthOf(t);
    return sums;
  }
  if (isa<ReduceOp, ArgReduceOp, CumSumOp>(op))
    return getCount(op->getOperand(0).getType());
  if (isa<PointwiseOpInterface>(op) && !isa<CastOp>(op))
    return getCount(op->getResult(0).getType());
  return Expr::constant(op->getContext(), 0);
}

StepWork getStepWork(StepOp step) {
  Expr none = Expr::constant(step.getContext(), 0);
  auto [read, written] = sumBytes<Expr>(step, none, [](Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    return getCount(type) * getElementBytes(element);
  });
  Expr operations = none;
  step.getBody().walk(
      [&](Operation *op) { operations = operations + countOperations(op); });
  return {read, written, operations};
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
