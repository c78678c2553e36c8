// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cumulative sums along a long axis of few rows, or of few columns, are divided
// over blocks: such a step stores sums of parts of the axis, too, of which each
// block adds those before its own.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/ScanIteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/CutStep.h"
#include "ir/PlanBuffers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_DIVIDESCANS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// What parts must gain: about what the cost model errs by.
static constexpr double leastScanGain = 1.15;
static constexpr int64_t leastPart = 64;
/// Blocks hold those of a row of 2^33 items. One that has none is left to one
/// block: 2^28 floats would take 11 ms for .6.
static constexpr int64_t mostParts = 1 << 20;

namespace {
/// A step with parts, which stands before the one that it replaces.
struct DividedScan {
  StepOp step;
  BufferOp sums;

  void erase() {
    step.erase();
    auto plan = cast<PlanOp>(sums->getParentOp());
    plan.setSlotsAttr(ArrayAttr::get(plan.getContext(),
                                     plan.getSlots().getValue().drop_back()));
    sums.erase();
  }
};

struct DivideScans : fusec::impl::DivideScansBase<DivideScans> {
  using DivideScansBase::DivideScansBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PlanBuffers buffers(plan);
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (step.getFamily() == Family::Scan)
        if (auto scan = analyzeScan(step); succeeded(scan) && !scan->parts)
          tryDivide(step, scan->op);
  }

  void tryDivide(StepOp step, CumSumOp op);

  const Target *target = nullptr;
};
} // namespace

/// The type in which blocks tell one another what they summed: what sums are
/// kept in; null where that is no number of memory.
static Type getSumType(CumSumOp op) {
  Type type = getElementType(op.getOperand());
  if (getElementBytes(type) >= 4)
    return type;
  return isa<FloatType>(type) ? Float32Type::get(op.getContext()) : Type();
}

static DividedScan divide(StepOp step, CumSumOp op, int64_t parts) {
  StepBuilder divided(step, Family::Scan, step.getName());
  auto results = step.getBody().front().getTerminator()->getOperands();
  divided.clone(results);
  OpBuilder &builder = divided.builder;
  Value summed = divided.mapping.lookup(op.getOperand());
  Type type = getSumType(op);
  SmallVector<Expr> sizes = getSizes(summed);
  if (getElementType(summed) != type)
    summed = CastOp::create(builder, op.getLoc(), getTensorType(sizes, type),
                            summed);
  sizes.erase(sizes.begin() + op.getAxis());
  sizes.insert(sizes.begin(), Expr::constant(step.getContext(), parts));
  RankedTensorType sums = getTensorType(sizes, type);
  SmallVector<Value> yielded = llvm::map_to_vector(
      results, [&](Value value) { return divided.mapping.lookup(value); });
  yielded.push_back(ReduceOp::create(builder, op.getLoc(), sums,
                                     ReduceKind::Sum, summed,
                                     ArrayRef<int64_t>{int64_t(op.getAxis())},
                                     builder.getI64IntegerAttr(parts)));
  BufferOp buffer = createSlot(step, "sums", sums);
  SmallVector<Attribute> outputs(step.getOutputs().getValue());
  outputs.push_back(FlatSymbolRefAttr::get(buffer));
  return {divided.finish(outputs, yielded), buffer};
}

void DivideScans::tryDivide(StepOp step, CumSumOp op) {
  std::optional<int64_t> length =
      getSizes(op.getOperand())[op.getAxis()].getConstant();
  if (!length || !getSumType(op))
    return;
  SmallVector<int64_t> dims = getDecisiveDims(step);
  Estimates whole = estimateStep(step, *target, {}, dims);
  // Such end before flags are seen.
  auto isShort = [&](const std::optional<Estimate> &time) {
    return !time || time->microseconds < target->scan.leastMicros;
  };
  if (llvm::any_of(whole, isShort) && !always)
    return;
  double best = always ? 0 : leastScanGain;
  int64_t bestParts = 0;
  // 64, 128, 192, 256, 384 and so on: lengths of parts are multiples of 64.
  for (int64_t part = leastPart; part < *length;
       part = llvm::isPowerOf2_64(part) ? part / 2 * 3 : part / 3 * 4) {
    int64_t parts = llvm::divideCeil(*length, part);
    if (parts > mostParts || part % leastPart != 0)
      continue;
    DividedScan divided = divide(step, op, parts);
    double gain =
        getGain(estimateStep(divided.step, *target, {}, dims), whole, always);
    if (gain > best) {
      best = gain;
      bestParts = parts;
    }
    divided.erase();
  }
  if (!bestParts)
    return;
  divide(step, op, bestParts);
  remarkPassed(remarks::divideScan, step.getLoc())
      << fmt::format("'{}' sums {} parts of the axis, {:.2f} times as fast",
                     step.getName(), bestParts, best);
  step.erase();
}
