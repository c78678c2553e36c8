// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return ReduceScheduleAttr::get(context, ReduceScope::Block, 256, 64, 1);
}

/// Blocks for which a multiprocessor is to have registers.
static int64_t countResident(StepOp step, const RowWalk &walk,
                             ReduceScheduleAttr schedule) {
  // The compiler knows how many vectors a span has, and takes registers to load
  // fourteen of them together. With fewer there is room for another block,
  // whose loads are on their way while the threads of one meet: ArgMax of 512
  // rows of 50257 halves took 20.0 us by two blocks of 512 threads, 22.2 by
  // one, of 2048 rows of bf16 59.1 by three of 256, 60.9 by two. More blocks of
  // 128 took up to 2% longer.
  constexpr int64_t least = 256, together = 768;
  int64_t threads = schedule.getThreads(),
          rows =
              getSampledValue(walk.iteration.program.getSizes()[0], typicalDim);
  if (walk.pitch && findsPlaces(walk.iteration) && !schedule.getKept() &&
      schedule.getScope() == ReduceScope::Block && schedule.getVector() > 1 &&
      schedule.getIndexBits() == 32 && threads >= least)
    return std::clamp<int64_t>(
        llvm::divideCeil(rows, int64_t(getTarget(step).multiprocessors)), 1,
        llvm::divideCeil(together, threads));
  return std::max({schedule.getResident(), int64_t(1),
                   getColumnSteps(step, walk.iteration, schedule).resident});
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  if (auto nested = analyzeNested(step); succeeded(nested)) {
    Expr atOnce = Expr::constant(
        step.getContext(), getNestedRowsAtOnce(nested->columns, schedule));
    return LaunchAttr::get(
               limitBlocks(nested->rows.program.getSizes()[0].ceilDiv(atOnce),
                           schedule.getBlocks()),
               schedule.getThreads())
        .withResident(std::max<int64_t>(1, schedule.getResident()))
        .withAccesses(getNestedAccesses(step, variant, *nested));
  }
  FailureOr<RowIteration> iteration = analyzeRows(step);
  if (failed(iteration))
    return {};
  Expr rows = iteration->program.getSizes()[0],
       atOnce = Expr::constant(step.getContext(), schedule.getRowsAtOnce());
  FailureOr<RowWalk> walk = analyzeWalk(step, schedule);
  if (succeeded(walk) && areColumnsShifted(walk->iteration, schedule)) {
    ArrayRef<Expr> sizes = walk->iteration.program.getSizes();
    Expr vector = Expr::constant(step.getContext(), schedule.getVector());
    rows = sizes[0] * sizes[2].ceilDiv(vector) * vector;
  }
  Expr blocks = rows.ceilDiv(atOnce) * schedule.getStoring();
  if (succeeded(walk) && areColumnsPhased(walk->iteration, schedule))
    blocks = getPhasedBlocks(walk->iteration, schedule);
  int64_t together = schedule.getBlocksTogether();
  auto launch = LaunchAttr::get(
      limitBlocks(blocks, schedule.getBlocks() / together) * together,
      schedule.getThreads(), /*shared=*/0, schedule.getCluster());
  if (failed(walk))
    return launch;
  return launch.withResident(countResident(step, *walk, schedule))
      .withAccesses(getAccesses(step, variant, *walk));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  if (auto nested = analyzeNested(step); succeeded(nested)) {
    ArrayRef<Expr> sizes = nested->items.program.getSizes();
    return {{"rows", sizes[0]}, {"length", sizes[1]}, {"columns", sizes[2]}};
  }
  auto iteration = analyzeRows(step);
  if (failed(iteration))
    return {};
  ArrayRef<Expr> sizes = iteration->program.getSizes();
  return {{"rows", sizes[0]}, {"length", sizes[1]}};
}

const KernelFamily fusec::reduceFamily = {
    getPlain,  chooseReduceVariants, estimateReduceStep,
    getLaunch, emitReduce,           getNamedSizes};
