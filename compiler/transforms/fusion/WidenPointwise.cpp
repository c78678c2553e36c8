// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside a kernel, chains of 16-bit floats compute in fp32: a value is rounded
// where it is stored, not after each op.

#include "compiler/Passes.h"
#include "compiler/analysis/Views.h"
#include "ir/FusecOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_WIDENPOINTWISE
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

static bool isNarrow(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return element.isF16() || element.isBF16();
}

namespace {
/// The fp32 versions of a region's 16-bit values.
class RegionWidener {
public:
  explicit RegionWidener(Block &block)
      : block(block), builder(block.getParentOp()->getContext()) {}
  void run();

private:
  Type widen(Type type) {
    return getTensorType(getSizes(type), builder.getF32Type());
  }
  Value getWide(Value value, Location loc);
  bool computesWide(Operation *op) const;

  Block &block;
  OpBuilder builder;
  DenseMap<Value, Value> wide;
};
} // namespace

/// Whether the value goes to memory and nowhere else.
static bool isOnlyStored(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<YieldOp>(user) ||
           (isView(user) && isOnlyStored(user->getResult(0)));
  });
}

/// Whether the op only widens what one reduction reads: that may read what was
/// computed, as ops of 16 bits do. Rows that several ops read are kept in
/// registers, of which 16 bits take half.
static bool widensForReduction(Operation *op) {
  return isa<CastOp>(op) && isNarrow(op->getOperand(0).getType()) &&
         cast<RankedTensorType>(op->getResult(0).getType())
             .getElementType()
             .isF32() &&
         op->hasOneUse() && isa<ReduceOp>(*op->getUsers().begin());
}

/// Whether the op's fp32 form is the op with fp32 types. Casts of the model
/// stay what they are.
bool RegionWidener::computesWide(Operation *op) const {
  if (isa<CastOp, YieldOp, GatherOp, LookupOp, ArgReduceOp, PairProductOp,
          BagOp>(op))
    return false;
  if (isa<ContractionOp>(op))
    return isNarrow(op->getResult(0).getType());
  auto narrowOperand = [](Value v) { return isNarrow(v.getType()); };
  if (llvm::none_of(op->getOperands(), narrowOperand))
    return false;
  // A view moves what is wide already. One that is only stored moves what has
  // been rounded: the store sees through it, slice by slice.
  if (isView(op))
    return !isOnlyStored(op->getResult(0)) &&
           llvm::all_of(op->getOperands(),
                        [&](Value v) { return wide.count(v); });
  return true;
}

Value RegionWidener::getWide(Value value, Location loc) {
  if (!isNarrow(value.getType()))
    return value;
  Value &result = wide[value];
  if (!result)
    result = CastOp::create(builder, loc, widen(value.getType()), value);
  return result;
}

void RegionWidener::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    builder.setInsertionPoint(&op);
    if (auto splat = dyn_cast<SplatOp>(op);
        splat && isNarrow(splat.getType())) {
      APFloat value = cast<FloatAttr>(splat.getValue()).getValue();
      bool lost;
      value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
      wide[splat] =
          SplatOp::create(builder, op.getLoc(), widen(splat.getType()),
                          FloatAttr::get(builder.getF32Type(), value));
      continue;
    }
    if (Value value =
            widensForReduction(&op) ? wide.lookup(op.getOperand(0)) : Value()) {
      op.getResult(0).replaceAllUsesWith(value);
      op.erase();
      continue;
    }
    if (!computesWide(&op))
      continue;
    // Matrices stay in memory as they are; the sum is kept as accumulated.
    bool isRoot = isa<ContractionOp>(op);
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(isRoot ? operand : getWide(operand, op.getLoc()));
    Operation *clone = op.clone();
    builder.insert(clone);
    clone->setOperands(operands);
    for (auto [result, old] :
         llvm::zip_equal(clone->getResults(), op.getResults())) {
      if (!isNarrow(old.getType()))
        continue;
      result.setType(widen(old.getType()));
      wide[old] = result;
    }
    // Other readers see the rounded value.
    builder.setInsertionPointAfter(clone);
    for (auto [result, old] :
         llvm::zip_equal(clone->getResults(), op.getResults())) {
      Value replacement = result;
      if (isNarrow(old.getType())) {
        replacement =
            CastOp::create(builder, op.getLoc(), old.getType(), result);
        wide[replacement] = result;
      }
      old.replaceAllUsesWith(replacement);
    }
    op.erase();
  }
  // Roundings that nobody reads, and narrow constants.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!isa<YieldOp>(op) && op.use_empty())
      op.erase();
}

namespace {
struct WidenPointwise : fusec::impl::WidenPointwiseBase<WidenPointwise> {
  void runOnOperation() override {
    getOperation().walk(
        [](FusionOp fusion) { RegionWidener(fusion.getBody().front()).run(); });
  }
};
} // namespace
