// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/reduce/Reduce.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace fusec;

/// Clocks in which partial results meet: in a tree, of a block through shared
/// memory; of columns one after another.
static double getMeeting(const ReduceCosts &costs,
                         ReduceScheduleAttr schedule) {
  double threads = schedule.getThreadsTogether();
  bool isCluster = schedule.getCluster() > 1,
       isShared = threads > 1 && (schedule.isOfColumns() || isCluster ||
                                  schedule.getScope() == ReduceScope::Block);
  double steps = schedule.isOfColumns()
                     ? (threads - 1) * schedule.getVector() / 4
                     : std::log2(threads);
  return steps * costs.treeClocks + (isShared ? costs.blockClocks : 0) +
         (isCluster ? costs.clusterClocks : 0);
}

/// Latencies that a walk of so many loads one after another takes, as many as
/// are on their way together.
static double getRounds(ReduceScheduleAttr schedule, double steps) {
  if (!schedule.isOfColumns())
    return std::ceil(steps / 4);
  // Of columns by eights, then by halves of that.
  double whole = std::floor(steps / 8);
  return whole + llvm::popcount(uint64_t(steps - whole * 8));
}

/// How many times the bytes that it needs a walk touches, in sectors of 32:
/// threads that walk rows of their own where neighbours lie along them, and
/// columns of which few lie side by side.
static double getWaste(const RowSizes &sizes, ReduceScheduleAttr schedule) {
  double most = std::max(1.0, 32.0 / sizes.element);
  if (schedule.isOfColumns())
    return std::max(1.0, most / sizes.columns);
  bool isAlone = schedule.getScope() == ReduceScope::Thread;
  return isAlone ? std::min(most, std::max(sizes.length, 1.0)) : 1;
}

/// Threads of a multiprocessor, which has registers for 64 K words.
static double getResident(const Target &target, const RowSizes &sizes,
                          ReduceScheduleAttr schedule) {
  double kept = schedule.getKept() * schedule.getVector() * sizes.element / 4.0,
         blocks = std::floor(65536 / (40 + kept) / schedule.getThreads());
  return std::min<double>(target.threads, blocks * schedule.getThreads());
}

Estimate fusec::estimateReduce(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  const ReduceCosts &costs = target.reduce;
  Overlap time(target);
  double threads = schedule.getThreadsTogether();
  double vector = schedule.getVector();
  double taken =
      schedule.isOfColumns() ? std::ceil(sizes.rows / vector) : sizes.rows;
  double resident =
      target.multiprocessors * getResident(target, sizes, schedule) / threads;
  double waves = std::ceil(taken / resident);
  double steps = std::ceil(sizes.length /
                           (threads * (schedule.isOfColumns() ? 1 : vector)));
  // What is kept is on its way at once, and read in one pass.
  bool isKept = schedule.getKept();
  double loaded = isKept ? 1 : sizes.passes * getRounds(schedule, steps);
  time.addClocks(TimeBound::Latency,
                 waves * (loaded * target.rates.memoryLatency +
                          sizes.passes * getMeeting(costs, schedule)));
  double waste = getWaste(sizes, schedule);
  // A row of its own keeps whoever reduces it busy, so that striding over rows
  // is as fast as a block each.
  addPlacing(time, target,
             std::ceil(sizes.rows / schedule.getRowsAtOnce()) *
                 schedule.getCluster(),
             schedule.getBlocks());
  // Later passes mostly hit L2, which is about twice as fast.
  double readAgain = isKept ? 0 : sizes.passes - 1;
  double traffic = sizes.bytes * (1 + costs.laterPass * readAgain) *
                   std::max(1.0, waste / costs.sectorReuse);
  time.add(TimeBound::Memory,
           traffic / getStreamingRate(target,
                                      std::min(16.0, sizes.element * vector)));
  return time.get();
}
