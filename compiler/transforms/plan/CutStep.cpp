// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/CutStep.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

void CutStep::erase() {
  second.erase();
  first.erase();
  auto plan = cast<PlanOp>(parts[0]->getParentOp());
  // Theirs are the last of the slots.
  plan.setSlotsAttr(ArrayAttr::get(
      plan.getContext(), plan.getSlots().getValue().drop_back(parts.size())));
  for (BufferOp buffer : parts)
    buffer.erase();
}

SmallVector<int64_t> fusec::getDecisiveDims(StepOp step) {
  auto results = step.getBody().front().getTerminator()->getOperandTypes();
  bool isConstant = llvm::all_of(results, [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  });
  return isConstant ? SmallVector<int64_t>{typicalDim}
                    : llvm::to_vector(sampledDims);
}

/// What the steps may lose at one of the sizes: about what the cost model errs
/// by.
static constexpr double mostLoss = 1.03;

CutGain fusec::getGain(ArrayRef<StepOp> steps, const Estimates &whole,
                       const Target &target, Products products,
                       ArrayRef<int64_t> dims, bool always) {
  SmallVector<double> times(dims.size(), -estimateOverlap(target) *
                                             double(steps.size() - 1));
  for (StepOp step : steps)
    for (auto [time, estimate] :
         llvm::zip_equal(times, estimateStep(step, target, products, dims)))
      time += estimate ? estimate->microseconds : INFINITY;
  double gained = 0, most = 0;
  CutGain gain;
  for (auto [dim, one, apart] : llvm::zip_equal(dims, whole, times)) {
    if (!one || std::isinf(apart))
      return {};
    double factor = one->microseconds / apart;
    if (factor < 1 / mostLoss && !always)
      return {};
    if (factor > most) {
      most = factor;
      gain = {0, one->microseconds, apart, dim};
    }
    gained += std::log(factor);
  }
  gain.factor = std::exp(gained / dims.size());
  return gain;
}

double fusec::getGain(const Estimates &instead, const Estimates &whole,
                      bool always) {
  double gained = 0;
  for (auto [one, other] : llvm::zip_equal(whole, instead)) {
    if (!one || !other)
      return 0;
    double factor = one->microseconds / other->microseconds;
    if (factor < 1 / mostLoss && !always)
      return 0;
    gained += std::log(factor);
  }
  return std::exp(gained / whole.size());
}

StepBuilder::StepBuilder(StepOp from, Family family, const Twine &name)
    : from(from), builder(from) {
  MLIRContext *context = from.getContext();
  auto plain = VariantAttr::get(context, {}, getPlainSchedule(family, context));
  step = StepOp::create(builder, from.getLoc(), name.str(), family,
                        builder.getArrayAttr({}), builder.getArrayAttr({}),
                        builder.getArrayAttr({plain}), from.getSources(),
                        /*lead=*/nullptr);
  builder.setInsertionPointToEnd(&step.getBody().emplaceBlock());
}

Value StepBuilder::addInput(Attribute ref, Type type) {
  inputs.push_back(ref);
  return step.getBody().front().addArgument(type, step.getLoc());
}

void StepBuilder::clone(ValueRange values) {
  llvm::SmallPtrSet<Operation *, 16> needed;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (mapping.contains(value))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Attribute ref = from.getInputs()[argument.getArgNumber()];
      mapping.map(value, addInput(ref, value.getType()));
    } else if (needed.insert(value.getDefiningOp()).second) {
      llvm::append_range(open, value.getDefiningOp()->getOperands());
    }
  }
  for (Operation &op : from.getBody().front())
    if (needed.contains(&op))
      builder.clone(op, mapping);
}

StepOp StepBuilder::finish(ArrayRef<Attribute> outputs, ValueRange yielded) {
  YieldOp::create(builder, step.getLoc(), yielded);
  step.setInputsAttr(builder.getArrayAttr(inputs));
  step.setOutputsAttr(builder.getArrayAttr(outputs));
  return step;
}

StepOp StepBuilder::finishAll() {
  auto results = from.getBody().front().getTerminator()->getOperands();
  clone(results);
  return finish(from.getOutputs().getValue(),
                llvm::map_to_vector(results, [&](Value value) {
                  return mapping.lookup(value);
                }));
}

BufferOp fusec::createSlot(StepOp before, StringRef name,
                           RankedTensorType type) {
  auto plan = cast<PlanOp>(before->getParentOp());
  MLIRContext *context = plan.getContext();
  SmallVector<Attribute> slots(plan.getSlots().getValue());
  SmallVector<Expr> sizes = getSizes(type);
  OpBuilder builder(*plan.getOps<StepOp>().begin());
  SmallVector<Attribute> strides =
      llvm::map_to_vector(getDenseStrides(sizes, context),
                          [](Expr e) { return Attribute(e.getAttr()); });
  std::string free = name.str();
  for (unsigned i = 0; SymbolTable::lookupSymbolIn(plan, free); ++i)
    free = fmt::format("{}_{}", name, i);
  auto buffer = BufferOp::create(
      builder, before.getLoc(), builder.getStringAttr(free),
      BufferKindAttr::get(context, BufferKind::Slot),
      builder.getI64IntegerAttr(slots.size()),
      Expr::constant(context, 0).getAttr(), builder.getArrayAttr(strides),
      TypeAttr::get(type), ElementsAttr(), ReplaceableAttr());
  slots.push_back(
      (getElementCount(sizes, context) * getElementBytes(type.getElementType()))
          .getAttr());
  plan.setSlotsAttr(builder.getArrayAttr(slots));
  return buffer;
}
