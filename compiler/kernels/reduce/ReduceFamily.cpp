// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return ReduceScheduleAttr::get(context, ReduceScope::Block, 256, 64, 1);
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
  int64_t cluster = schedule.getCluster();
  auto launch = LaunchAttr::get(
      limitBlocks(blocks, schedule.getBlocks() / cluster) * cluster,
      schedule.getThreads(), /*shared=*/0, cluster);
  if (failed(walk))
    return launch;
  return launch.withResident(std::max<int64_t>(1, schedule.getResident()))
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
