// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/reduce/Reduce.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace fusec;

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Latencies that a walk of so many loads one after another takes: by eights,
/// then by halves of that, as many as are on their way together.
static double getRounds(double steps) {
  double whole = std::floor(steps / 8);
  return whole + llvm::popcount(uint64_t(steps - whole * 8));
}

/// Clocks in which what groups of threads found of their columns meets: one
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

/// Microseconds of memory for a walk over columns.
static double getColumnsMemory(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  const ReduceCosts &costs = target.reduce;
  // Where few columns lie side by side, sectors of 32 bytes are read in parts.
  // Later passes mostly hit L2, which is about twice as fast.
  double waste = std::max(1.0, 32.0 / sizes.element / sizes.columns);
  double traffic = sizes.bytes * (1 + costs.laterPass * (sizes.passes - 1)) *
                   std::max(1.0, waste / costs.sectorReuse);
  return traffic /
         getStreamingRate(
             target,
             std::min(16.0, sizes.element * double(schedule.getVector())));
}

static Estimate estimateColumns(const Target &target, const RowSizes &sizes,
                                ReduceScheduleAttr schedule) {
  Overlap time(target);
  double groups = schedule.getGroups(), vector = schedule.getVector(),
         taken = std::ceil(sizes.rows / vector),
         resident = double(target.multiprocessors) * target.threads / groups,
         waves = std::ceil(taken / resident),
         steps = std::ceil(sizes.length / groups);
  double latency = waves * sizes.passes *
                   (getRounds(steps) * target.rates.memoryLatency +
                    getColumnsMeeting(target, schedule)) /
                   (target.rates.clock * 1e3);
  // A row of its own keeps whoever reduces it busy, so that striding over rows
  // is as fast as a block each.
  addPlacing(time, target, std::ceil(sizes.rows / schedule.getRowsAtOnce()),
             schedule.getBlocks());
  double memory = getColumnsMemory(target, sizes, schedule);
  // In one walk either hides the other; between several all wait.
  if (sizes.passes > 1) {
    addExposed(time, target, memory, latency);
  } else {
    time.add(TimeBound::Latency, latency);
    time.add(TimeBound::Memory, memory);
  }
  return time.get();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Rows that a device works on at a time: a multiprocessor's registers, 64 K
/// words, bound its threads.
static double getRowsAtOnce(const Target &target, const RowSizes &sizes,
                            ReduceScheduleAttr schedule) {
  double threads = schedule.getThreads(),
         kept = schedule.getKept() * schedule.getVector() * sizes.element / 4.0,
         fit = std::floor(65536 / ((target.row.registers + kept) * threads)),
         most = std::min(32.0, std::floor(target.threads / threads));
  return target.multiprocessors * std::clamp(fit, 1.0, most) * threads /
         schedule.getThreadsTogether();
}

/// Clocks that one row takes where nothing delays it.
static double getRowClocks(const Target &target, const RowSizes &sizes,
                           ReduceScheduleAttr schedule) {
  const RowCosts &costs = target.row;
  double together = schedule.getThreadsTogether(),
         vector = schedule.getVector(),
         steps = std::ceil(sizes.length / (together * vector)),
         passes = sizes.passes - schedule.getOnline();
  bool isCluster = schedule.getCluster() > 1,
       isBlock = isCluster || schedule.getScope() == ReduceScope::Block;
  double meeting = std::log2(std::min(together, 32.0)) * costs.laneClocks;
  if (isBlock)
    meeting +=
        costs.blockClocks + schedule.getThreads() / 32.0 * costs.warpClocks;
  if (isCluster)
    meeting += costs.clusterClocks;
  // What is kept is on its way at once, and read in one pass; else four loads
  // are.
  double loads = schedule.getKept() ? 1 : passes * std::ceil(steps / 4);
  return loads * costs.loadClocks +
         (sizes.reductions - schedule.getOnline()) * meeting +
         steps * vector * passes * costs.itemClocks;
}

/// Part of the memory's time that is lost while the last rows come in, of rows
/// that are all begun at once: 16384 x 4096, 65536 x 128 on an H100, by parts
/// of a warp to blocks of 512 threads.
static constexpr double lastRows = 0.14;

/// Microseconds that multiprocessors take for threads' accesses in lines of
/// their own, less where lines have several rows: 131072 x 64 in fp16, 131072 x
/// 49 and 1048576 x 16 in fp32, on an H100.
static double getApartMicros(const Target &target, const RowSizes &sizes,
                             ReduceScheduleAttr schedule) {
  constexpr double accessClocks = 2.2, line = 128;
  double ofLine = std::min(1.0, sizes.length * sizes.element / line);
  return sizes.rows * sizes.passes *
         std::ceil(sizes.length / schedule.getVector()) * ofLine * ofLine *
         accessClocks / target.multiprocessors / (target.rates.clock * 1e3);
}

static Estimate estimateRows(const Target &target, const RowSizes &sizes,
                             ReduceScheduleAttr schedule) {
  Overlap time(target);
  double access = sizes.element * schedule.getVector();
  addPlacing(time, target,
             std::ceil(sizes.rows / schedule.getRowsAtOnce()) *
                 schedule.getCluster(),
             schedule.getBlocks());
  double passes = sizes.passes - schedule.getOnline(),
         again = schedule.getKept() ? 0 : passes - 1,
         traffic = sizes.bytes + sizes.rows * sizes.length * sizes.element *
                                     target.reduce.laterPass * again;
  // Threads that walk rows of their own touch sectors in parts.
  if (schedule.getScope() == ReduceScope::Thread && access < 16)
    traffic *= std::max(1.0, std::min(32.0 / sizes.element, sizes.length) /
                                 target.reduce.sectorReuse);
  double memory = traffic / getStreamingRate(target, std::min(16.0, access));
  double waves =
             std::max(1.0, sizes.rows / getRowsAtOnce(target, sizes, schedule)),
         latency = waves * getRowClocks(target, sizes, schedule) /
                   (target.rates.clock * 1e3);
  if (schedule.getScope() == ReduceScope::Thread)
    memory = std::max(memory, getApartMicros(target, sizes, schedule));
  // The last rows find a device that others have left.
  if (!sizes.findsPlaces)
    memory *= 1 + lastRows / waves;
  addExposed(time, target, memory, latency);
  return time.get();
}

//===----------------------------------------------------------------------===//
// Rows of columns
//===----------------------------------------------------------------------===//

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
  double walk = getRounds(steps) * target.rates.memoryLatency +
                (ofWarp ? std::log2(double(schedule.getGroups())) *
                              schedule.getVector() * target.row.laneClocks / 4
                        : getColumnsMeeting(target, schedule)),
         meeting = std::log2(std::min(lanes, 32.0)) * target.row.laneClocks;
  if (lanes > 32)
    meeting += target.row.blockClocks + lanes / 32 * target.row.warpClocks;
  double latency =
      waves * (sizes.passes * schedule.getKept() * walk + ofRows * meeting) /
      (target.rates.clock * 1e3);
  addPlacing(time, target, blocks, schedule.getBlocks());
  // Groups of a warp read items that follow one another: one piece, if a row's
  // lanes have all of its items. Other pieces of less than a line, here and
  // there, lose a fifth, and those of less than a sector what is not theirs.
  double piece = lanes * double(schedule.getVector()) * sizes.element,
         apart = (ofWarp && schedule.getKept() == 1) || piece >= 128
                     ? 1
                     : 1.2 * std::max(1.0, 32 / piece);
  time.add(TimeBound::Latency, latency);
  time.add(TimeBound::Memory,
           apart * getColumnsMemory(target, sizes, schedule));
  return time.get();
}

Estimate fusec::estimateReduce(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  return schedule.isOfColumns() ? estimateColumns(target, sizes, schedule)
                                : estimateRows(target, sizes, schedule);
}
