// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of rows whose items are results of reductions of columns.

#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace fusec;

/// Clocks in which what groups of threads found of items' columns meets: one
/// after another, more than 32 by levels first. 16 and 32 have levels too, but
/// took their places in the model before they had.
static double getColumnsMeeting(const Target &target,
                                ReduceScheduleAttr schedule) {
  const ReduceCosts &costs = target.reduce;
  double clocks = 0, groups = schedule.getGroups(),
         vector = schedule.getVector();
  auto meet = [&](double each) {
    clocks += costs.blockClocks + (each - 1) * vector / 4 * costs.treeClocks;
    groups /= each;
  };
  while (groups > 32)
    meet(std::min(groups / 8, 8.0));
  if (groups > 1)
    meet(groups);
  return clocks;
}

Estimate fusec::estimateNested(const Target &target, const RowSizes &sizes,
                               double columns, double ofRows,
                               ReduceScheduleAttr schedule) {
  Overlap time(target);
  double threads = schedule.getThreads(),
         lanes = getNestedLanes(columns, schedule),
         blocks = std::ceil(sizes.rows / columns /
                            getNestedRowsAtOnce(columns, schedule)),
         resident = double(target.multiprocessors) * target.threads / threads,
         waves = std::ceil(blocks / resident),
         steps = std::ceil(sizes.length / schedule.getGroups());
  bool ofWarp = !schedule.isOfColumns();
  double walk =
             (schedule.getResident() ? 1 : getRounds(steps)) *
                 target.rates.memoryLatency +
             (ofWarp ? std::log2(double(schedule.getGroups())) *
                           schedule.getVector() * target.nested.laneClocks / 4
                     : getColumnsMeeting(target, schedule)),
         meeting = std::log2(std::min(lanes, 32.0)) * target.nested.laneClocks;
  if (lanes > 32)
    meeting +=
        target.nested.blockClocks + lanes / 32 * target.nested.warpClocks;
  double latency =
      waves * (sizes.passes * schedule.getKept() * walk + ofRows * meeting) /
      (target.rates.clock * 1e3);
  addPlacing(time, target, blocks, schedule.getBlocks());
  // Loads, and results that meet twice behind all of them.
  time.exposeClocks(target.rates.memoryLatency + target.rates.l2Latency);
  // Groups of a warp read items that follow one another: one piece, if a row's
  // lanes have all of its items. Other pieces of less than a line, here and
  // there, lose some, and those of less than a sector what is not theirs.
  double piece = lanes * double(schedule.getVector()) * sizes.element,
         apart = (ofWarp && schedule.getKept() == 1) || piece >= 128
                     ? 1
                     : target.nested.piecesTimes * std::max(1.0, 32 / piece);
  // What threads compute, and rows that wait for one another, are not modelled.
  double unmodelled = target.nested.unmodelled;
  double access = std::min(16.0, sizes.element * double(schedule.getVector())),
         share = blocks / target.multiprocessors,
         // A multiprocessor moves no more than so much of its share.
      alone = std::max(1.0, 1 / (target.row.mostOfShare * share));
  time.add(TimeBound::Latency, unmodelled * latency);
  time.add(TimeBound::Memory,
           unmodelled * apart * alone *
               getColumnsTraffic(target, sizes, sizes.passes) /
               getStreamingRate(target, access));
  Estimate estimate = time.get();
  estimate.microseconds += getReadMicros(target, sizes, estimate.microseconds);
  return estimate;
}
