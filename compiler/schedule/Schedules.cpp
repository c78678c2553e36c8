// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/Schedules.h"
#include "compiler/schedule/TunedSchedules.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

FailureOr<PlanTarget> fusec::getPlanTarget(PlanOp plan, StringRef precision) {
  const Target *target = findTarget(plan.getSymName());
  auto parsed = llvm::StringSwitch<std::optional<Precision>>(precision)
                    .Case("fma", Precision::Fma)
                    .Case("ieee", Precision::Ieee)
                    .Case("tf32", Precision::Tf32)
                    .Default(std::nullopt);
  if (target && parsed)
    return PlanTarget{target, *parsed};
  return plan.emitError("expected a known target and a precision of 'fma', "
                        "'ieee' or 'tf32', got '")
         << plan.getSymName() << "' and '" << precision << "'";
}

Attribute fusec::getPlainSchedule(Family family, MLIRContext *context) {
  switch (family) {
  case Family::Pointwise:
    return PointwiseScheduleAttr::get(context, 256, 1, 64);
  case Family::Reduce:
    return ReduceScheduleAttr::get(context, ReduceScope::Block, 256, 64, 1);
  case Family::Gemm:
    return GemmScheduleAttr::get(context, GemmUnit::Simt, 32, 32, 16, 2, 2, 2);
  case Family::Chain:
    return ChainScheduleAttr::get(context, 1, 128, 1, 64);
  }
  return {};
}

static SmallVector<VariantAttr> chooseAll(StepOp step, const Target &target,
                                          Precision precision) {
  switch (step.getFamily()) {
  case Family::Pointwise:
    return choosePointwiseVariants(step, target);
  case Family::Reduce:
    return chooseReduceVariants(step, target);
  case Family::Gemm:
    return chooseGemmVariants(step, target, precision);
  case Family::Chain:
    return chooseChainVariants(step, target);
  }
  return {};
}

/// Each alternative is a chance to compile without spilling: the nearest ones
/// and, at the end, the smallest.
static VariantAttr keepNearest(VariantAttr variant, size_t limit) {
  ArrayRef<CandidateAttr> all = variant.getAlternatives();
  if (limit == 0 || all.size() < limit)
    return variant;
  SmallVector<CandidateAttr> kept(all.take_front(limit - 1));
  if (!kept.empty())
    kept.back() = all.back();
  return VariantAttr::get(variant.getContext(), variant.getGuards(),
                          variant.getSchedule(), variant.getEstimate(), kept,
                          variant.getMeasured());
}

SmallVector<VariantAttr> fusec::chooseVariants(StepOp step,
                                               const Target &target,
                                               const ChoiceOptions &options) {
  SmallVector<VariantAttr> variants =
      chooseAll(step, target, options.precision);
  if (options.tuning)
    takeTunedSchedules(step, target, options.precision, *options.tuning,
                       variants);
  for (VariantAttr &variant : variants)
    variant = keepNearest(variant, options.limit);
  return variants;
}

VariantAttr fusec::makeVariant(MLIRContext *context, ArrayRef<GuardAttr> guards,
                               SmallVector<Candidate> candidates, int64_t dim,
                               Attribute first) {
  if (candidates.empty())
    return nullptr;
  Attribute smallest = candidates.back().schedule;
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.estimate.microseconds < b.estimate.microseconds;
  });
  auto isFirst = [&](const Candidate &c) { return c.schedule == first; };
  if (auto it = llvm::find_if(candidates, isFirst); it != candidates.end())
    std::rotate(candidates.begin(), it, it + 1);
  auto isSmallest = [&](const Candidate &c) { return c.schedule == smallest; };
  auto small = llvm::find_if(candidates, isSmallest);
  if (small != candidates.begin())
    std::rotate(small, std::next(small), candidates.end());
  SmallVector<CandidateAttr> all =
      llvm::map_to_vector(candidates, [&](const Candidate &candidate) {
        auto estimate = EstimateAttr::get(
            context,
            static_cast<int64_t>(
                std::min(candidate.estimate.microseconds, 1e12) * 1000),
            candidate.estimate.bound, dim);
        return CandidateAttr::get(context, candidate.schedule, estimate);
      });
  return VariantAttr::get(context, guards, all[0].getSchedule(),
                          all[0].getEstimate(), ArrayRef(all).drop_front());
}

/// A schedule serves a sampled size too if it is this little slower there than
/// that size's own.
static constexpr double bucketTolerance = 1.2;

static double getTime(ArrayRef<Candidate> candidates, Attribute schedule) {
  for (const Candidate &candidate : candidates)
    if (candidate.schedule == schedule)
      return candidate.estimate.microseconds;
  return INFINITY;
}

Candidate fusec::getFastest(ArrayRef<Candidate> candidates) {
  return *llvm::min_element(candidates, [](auto &a, auto &b) {
    return a.estimate.microseconds < b.estimate.microseconds;
  });
}

void fusec::addBuckets(
    Expr size, ArrayRef<GuardAttr> under,
    llvm::function_ref<SmallVector<Candidate>(int64_t dim)> candidatesAt,
    SmallVectorImpl<VariantAttr> &variants) {
  MLIRContext *context = size.getContext();
  if (size.isConstant()) {
    variants.push_back(makeVariant(context, under, candidatesAt(typicalDim)));
    return;
  }
  SmallVector<Candidate> current;
  Attribute chosen;       // the bucket's schedule
  int64_t currentDim = 0; // what `current` was estimated for
  auto finish = [&](std::optional<int64_t> above) {
    SmallVector<GuardAttr> all(under);
    if (above)
      all.push_back(GuardAttr::get(context, GuardKind::Gt, size.getAttr(),
                                   Expr::constant(context, *above).getAttr(),
                                   nullptr));
    variants.push_back(makeVariant(context, all, current, currentDim, chosen));
  };
  for (int64_t dim : llvm::reverse(scheduledDims)) {
    SmallVector<Candidate> here = candidatesAt(dim);
    if (chosen &&
        getTime(here, chosen) >
            bucketTolerance * getFastest(here).estimate.microseconds) {
      finish(getTypicalValue(size, dim));
      chosen = {};
    }
    // What is said of a bucket is said of the size nearest to the typical one.
    if (!chosen || dim >= typicalDim) {
      if (!chosen)
        chosen = getFastest(here).schedule;
      current = std::move(here);
      currentDim = dim;
    }
  }
  finish(std::nullopt);
}

IndexWidth fusec::getIndexWidth(StepOp step) {
  MLIRContext *context = step.getContext();
  // Slack for the threads of the grid behind the last element, and for vectors.
  Expr limit = Expr::constant(context, (int64_t(1) << 31) - (int64_t(1) << 24));
  SmallVector<Expr> extents;
  auto addExtent = [&](BufferOp buffer) {
    SmallVector<Expr> sizes = getSizes(buffer.getType());
    Expr extent = Expr::constant(context, 1);
    for (auto [size, stride] : llvm::zip_equal(sizes, buffer.getStrideExprs()))
      extent = extent + size * stride;
    extents.push_back(extent);
  };
  for (BlockArgument argument : step.getBody().getArguments())
    addExtent(step.getInputBuffer(argument));
  for (unsigned i = 0; i < step.getOutputs().size(); ++i)
    addExtent(step.getOutputBuffer(i));
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
