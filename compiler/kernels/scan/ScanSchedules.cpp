// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows by a warp or a block, columns by vectors of them. The time is that of
// the bytes, or of the tiles that each waits for, one after another.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/scan/Scan.h"
#include "compiler/kernels/scan/device/scan_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

namespace {
/// What schedules depend on.
struct ScanProblem {
  ScanIteration iteration;
  VectorAccesses accesses;

  Estimate estimate(StepOp step, const Target &target,
                    ReduceScheduleAttr schedule) const;
  SmallVector<ReduceScheduleAttr>
  getSchedules(MLIRContext *context, int64_t vector, int64_t bits) const;
  VariantAttr getVariant(StepOp step, const Target &target,
                         ArrayRef<GuardAttr> guards, int64_t vector,
                         int64_t bits) const;
};
} // namespace

Estimate ScanProblem::estimate(StepOp step, const Target &target,
                               ReduceScheduleAttr schedule) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  auto sample = [&](Expr size) {
    return double(getSampledValue(size, typicalDim));
  };
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  Overlap time(target);
  double together = schedule.getThreadsTogether(),
         rows = sample(space[0] * space[2]), length = sample(space[1]),
         perTile = together * scanSteps *
                   (schedule.isOfColumns() ? 1 : schedule.getVector()),
         atOnce = schedule.getRowsAtOnce(),
         resident = target.multiprocessors * target.threads /
                    double(schedule.getThreads()),
         turns = std::ceil(std::ceil(rows / atOnce) / resident),
         // Of columns, sums of groups meet one after another.
      meeting = target.reduce.blockClocks +
                target.reduce.treeClocks *
                    (schedule.isOfColumns() ? together * schedule.getVector()
                                            : std::log2(together)),
         latency = turns * std::ceil(length / perTile) *
                   (target.rates.memoryLatency + meeting) /
                   (target.rates.clock * 1e3);
  addPlacing(time, target, std::ceil(rows / atOnce), schedule.getBlocks());
  double access = getElementBytes(iteration.program[iteration.operand].type) *
                  schedule.getVector();
  addExposed(time, target,
             (bytes.read + bytes.written) /
                 getStreamingRate(target, std::min(16.0, access)),
             latency);
  return time.get();
}

/// The smallest last.
SmallVector<ReduceScheduleAttr> ScanProblem::getSchedules(MLIRContext *context,
                                                          int64_t vector,
                                                          int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  auto add = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups = 1) {
    schedules.push_back(ReduceScheduleAttr::get(context, scope, threads, bits,
                                                elements, groups));
  };
  if (iteration.isAlongRows()) {
    for (int64_t threads : {128, 256, 512})
      add(ReduceScope::Block, threads, vector);
    add(ReduceScope::Warp, 128, vector);
    return schedules;
  }
  for (; vector >= 1; vector /= 2)
    for (int64_t groups : {1, 2, 4, 8, 16, 32})
      add(ReduceScope::Columns, 256, vector, groups);
  return schedules;
}

VariantAttr ScanProblem::getVariant(StepOp step, const Target &target,
                                    ArrayRef<GuardAttr> guards, int64_t vector,
                                    int64_t bits) const {
  MLIRContext *context = step.getContext();
  ArrayRef<Expr> space = iteration.program.getSizes();
  SmallVector<Candidate> candidates;
  for (ReduceScheduleAttr unlimited : getSchedules(context, vector, bits)) {
    Expr atOnce = Expr::constant(context, unlimited.getRowsAtOnce());
    candidates.push_back(chooseGridLimit(
        target, unlimited.getThreads(), (space[0] * space[2]).ceilDiv(atOnce),
        [&](int64_t limit) -> Candidate {
          auto schedule = unlimited.withBlocks(limit);
          return {schedule, estimate(step, target, schedule)};
        }));
  }
  return makeVariant(context, guards, candidates);
}

SmallVector<VariantAttr>
fusec::chooseScanVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  auto iteration = analyzeScan(step);
  if (failed(iteration))
    return {
        VariantAttr::get(context, {}, getPlainSchedule(Family::Scan, context))};
  VectorAccesses accesses = analyzeVectorAccesses(
      step, iteration->program, iteration->stores,
      iteration->isAlongRows() ? 1 : 2, /*hasTail=*/false);
  ScanProblem problem{std::move(*iteration), std::move(accesses)};
  IndexWidth width = getIndexWidth(step);
  SmallVector<GuardAttr> guards = getAlignmentGuards(problem.accesses.aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      problem.getVariant(step, target, guards, problem.accesses.width,
                         width.neverNarrow ? 64 : 32)};
  if (!guards.empty())
    variants.push_back(
        problem.getVariant(step, target, {}, 1, width.alwaysNarrow ? 32 : 64));
  return variants;
}
