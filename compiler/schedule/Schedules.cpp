// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Schedules.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

Attribute fusec::getPlainSchedule(Family family, MLIRContext *context) {
  switch (family) {
  case Family::Pointwise:
    return PointwiseScheduleAttr::get(context, 256, 1, 64);
  case Family::Reduce:
    return ReduceScheduleAttr::get(context, ReduceScope::Block, 256, 64);
  case Family::Gemm:
    return GemmScheduleAttr::get(context, GemmUnit::Simt, 32, 32, 16, 2, 2, 2);
  }
  return {};
}

SmallVector<VariantAttr>
fusec::chooseVariants(StepOp step, const Target &target, Precision precision) {
  switch (step.getFamily()) {
  case Family::Pointwise:
    return choosePointwiseVariants(step, target);
  case Family::Reduce:
    return chooseReduceVariants(step, target);
  case Family::Gemm:
    return chooseGemmVariants(step, target, precision);
  }
  return {};
}

int64_t fusec::getTypicalValue(Expr expr) {
  return expr
      .evaluate([](Expr) { return std::optional<int64_t>(typicalSymbol); })
      .value_or(INT64_MAX);
}

static BufferOp lookup(StepOp step, Attribute ref) {
  return SymbolTable::lookupNearestSymbolFrom<BufferOp>(
      step, cast<FlatSymbolRefAttr>(ref));
}
BufferOp fusec::getInputBuffer(StepOp step, Value argument) {
  return lookup(step,
                step.getInputs()[cast<BlockArgument>(argument).getArgNumber()]);
}
BufferOp fusec::getOutputBuffer(StepOp step, unsigned output) {
  return lookup(step, step.getOutputs()[output]);
}
SmallVector<Expr> fusec::getStrides(BufferOp buffer) {
  return llvm::map_to_vector(buffer.getStrides().getAsRange<ExprAttr>(),
                             [](ExprAttr attr) { return Expr(attr); });
}

IndexWidth fusec::getIndexWidth(StepOp step) {
  MLIRContext *context = step.getContext();
  // Slack for the threads of the grid behind the last element, and for vectors.
  Expr limit = Expr::constant(context, (int64_t(1) << 31) - (int64_t(1) << 24));
  SmallVector<Expr> extents;
  auto addExtent = [&](BufferOp buffer) {
    SmallVector<Expr> sizes = getSizes(buffer.getType());
    Expr extent = Expr::constant(context, 1);
    for (auto [size, stride] : llvm::zip_equal(sizes, getStrides(buffer)))
      extent = extent + size * stride;
    extents.push_back(extent);
  };
  for (Attribute ref : step.getInputs())
    addExtent(lookup(step, ref));
  for (Attribute ref : step.getOutputs())
    addExtent(lookup(step, ref));
  for (Operation &op : step.getBody().front().without_terminator())
    extents.push_back(getElementCount(
        cast<IndexedOpInterface>(op).getIterationSizes(), context));
  IndexWidth width;
  width.alwaysNarrow = true;
  std::optional<Expr> largest;
  for (Expr extent : extents) {
    if (auto value = extent.getConstant()) {
      width.neverNarrow |= *value >= limit.getValue();
      continue;
    }
    largest = largest ? Expr::max(*largest, extent) : extent;
  }
  width.alwaysNarrow = !width.neverNarrow && !largest;
  if (largest && !width.neverNarrow)
    width.guards.push_back(GuardAttr::get(
        context, GuardKind::Lt, largest->getAttr(), limit.getAttr(), nullptr));
  return width;
}

SmallVector<GuardAttr> fusec::getAlignmentGuards(ArrayRef<BufferOp> buffers) {
  SmallVector<GuardAttr> guards;
  llvm::SetVector<StringRef> seen;
  for (BufferOp buffer : buffers) {
    if (buffer.getKind() != BufferKind::Input &&
        buffer.getKind() != BufferKind::Output)
      continue;
    // The guard is about the user's address; a slice of it is as aligned as its
    // offset, which the emitter knows.
    if (!seen.insert(buffer.getSymName()))
      continue;
    MLIRContext *context = buffer.getContext();
    guards.push_back(GuardAttr::get(
        context, GuardKind::Aligned, Expr::constant(context, 0).getAttr(),
        Expr::constant(context, 16).getAttr(),
        FlatSymbolRefAttr::get(buffer.getSymNameAttr())));
  }
  return guards;
}
