// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduce family: one group of threads a row, or a vector of columns.
// Reductions of a region run one after another over the same row, so that a
// softmax or a norm is one kernel; what is stored at every point follows them.

#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static std::string scopeType(ReduceScheduleAttr schedule, bool knowsLength,
                             bool hasPhases) {
  switch (schedule.getScope()) {
  case ReduceScope::Thread:
    return "fusec::ThreadScope";
  case ReduceScope::Warp:
    return schedule.getGroups() == 1
               ? "fusec::WarpScope"
               : fmt::format("fusec::LanesScope<{}>",
                             schedule.getThreadsTogether());
  case ReduceScope::Block:
    return fmt::format("fusec::BlockScope<{}{}>", schedule.getThreads(),
                       knowsLength ? "" : ", true");
  case ReduceScope::Cluster:
    return fmt::format("fusec::ClusterScope<{}, {}>", schedule.getThreads(),
                       schedule.getCluster());
  case ReduceScope::Team:
    return fmt::format("fusec::TeamScope<{}, {}>", schedule.getThreads(),
                       schedule.getGroups());
  case ReduceScope::Columns:
    return fmt::format("fusec::{}Scope<{}, {}>", hasPhases ? "Phase" : "Column",
                       schedule.getThreads(), schedule.getGroups());
  }
  return "";
}

/// With an error where the launch lists other accesses than the two loops have.
static LogicalResult checkNested(StepOp step, VariantAttr variant,
                                 const NestedIteration &nested) {
  int64_t width = cast<ReduceScheduleAttr>(variant.getSchedule()).getVector();
  SmallVector<RegionStore> full = getFullStores(nested.rows),
                           once = getOnceStores(nested.rows);
  return success(
      succeeded(checkLoops(step, variant, 2)) &&
      takeAccesses(step, variant, 0, {nested.items.program, 2, width, {}}) &&
      takeAccesses(step, variant, 1,
                   {nested.rows.program, 1, width, {full, once}}));
}

/// With an error where a team is to reduce what it cannot.
static LogicalResult checkTeam(StepOp step, const RowWalk &walk,
                               ReduceScheduleAttr schedule) {
  if (schedule.isOfTeam() && !fitsTeam(walk, schedule))
    return step.emitOpError(
        "has a schedule of teams, which find what one "
        "meeting of blocks can, of rows of which all threads "
        "keep as many whole accesses");
  return success();
}

FailureOr<KernelSource> fusec::emitReduce(StepOp step, VariantAttr variant,
                                          StringRef symbol) {
  auto schedule = cast<ReduceScheduleAttr>(variant.getSchedule());
  KernelWriter writer(step, symbol, schedule.getIndexBits());
  if (FailureOr<NestedIteration> nested = analyzeNested(step);
      succeeded(nested)) {
    if (failed(checkNested(step, variant, *nested)))
      return failure();
    printNested(writer, *nested, variant);
    return writer.finish(variant);
  }
  FailureOr<RowWalk> walk = takeWalk(step, variant);
  if (failed(walk))
    return failure();
  RowForm form;
  form.hasPhases = areColumnsPhased(walk->iteration, schedule);
  writer.addHeader(form.hasPhases              ? "reduce_phases.h"
                   : schedule.isOfColumns()    ? "reduce_columns.h"
                   : schedule.getCluster() > 1 ? "reduce_cluster.h"
                   : schedule.isOfTeam()       ? "reduce_team.h"
                                               : "reduce.h");
  if (schedule.getKept() && !schedule.isOfColumns())
    writer.addHeader("reduce_kept.h");
  if (walk->pitch)
    writer.addHeader("reduce_span.h");
  if (schedule.getResident() && !schedule.getKept())
    return step.emitOpError("has a schedule of rows of which all is kept, but "
                            "keeps none");
  if (failed(checkTeam(step, *walk, schedule)))
    return failure();
  writer.declareBuffers();
  bool knowsLength = walk->iteration.length.getConstant() || schedule.getKept();
  writer.line("typedef {} Scope;",
              scopeType(schedule, knowsLength, form.hasPhases));
  form.ofColumns = schedule.isOfColumns();
  form.pitch = walk->pitch;
  form.begin = walk->begin;
  // Of wide rows it is of what is stored.
  form.kept = walk->iteration.isWide ? 0 : schedule.getKept();
  if ((form.ofColumns && !form.hasPhases) || sharesWarp(schedule))
    form.leader = "isMine && Scope::rank() == 0";
  if (form.ofColumns)
    form.dims.push_back("column");
  RowPrinter(writer, walk->iteration, form, variant).print();
  return writer.finish(variant);
}
