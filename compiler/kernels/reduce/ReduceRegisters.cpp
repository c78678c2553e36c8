// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many registers a schedule takes, and for how many blocks a multiprocessor
// has them.

#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace fusec;

/// Registers of many items of a row. The compiler, told of how many blocks it
/// is to leave registers for, keeps little else at a time, but for what
/// quotients take, and a cluster's turns beside what is stored.
static double getManyRegisters(const RowCosts &costs, const RowSizes &sizes,
                               ReduceScheduleAttr schedule, double items) {
  bool stores = sizes.passes > sizes.reductions;
  return items - costs.manySpared +
         (sizes.divides ? costs.quotientRegisters : 0) +
         (stores && schedule.getCluster() > 1 ? costs.turnRegisters : 0);
}

/// Registers in which a thread keeps items: what several passes compute of
/// them is there, too.
static double getKeptRegisters(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  const RowCosts &costs = target.row;
  double each =
      sizes.keepsNarrow ? costs.keptNarrowRegisters : costs.keptRegisters;
  if (schedule.getVector() == 1 && !schedule.isOfColumns())
    each += sharesWarp(schedule) ? costs.keptSharedSingleRegisters
                                 : costs.keptSingleRegisters;
  if (sizes.selects && !sizes.keepsNarrow)
    each += costs.keptSelectedRegisters;
  double items =
      sizes.keptLoads * double(schedule.getKept() * schedule.getVector());
  bool areMany = schedule.getResident() && !sizes.keepsNarrow &&
                 !sizes.selects && schedule.getVector() > 1 &&
                 items >= costs.manyItems;
  return areMany ? getManyRegisters(costs, sizes, schedule, items)
                 : each * items;
}

/// They are given out by eights.
static double getKeptColumnRegisters(const Target &target,
                                     const RowSizes &sizes,
                                     ReduceScheduleAttr schedule) {
  const KeptColumnCosts &costs = target.keptColumns;
  // Of one pass halves stay two a register.
  bool isNarrow = sizes.keepsNarrow, areHalves = isNarrow && sizes.passes == 1;
  double vector = schedule.getVector(),
         column = areHalves  ? costs.halfColumnRegisters
                  : isNarrow ? costs.narrowColumnRegisters
                             : costs.columnRegisters,
         item = areHalves ? costs.halfItemRegisters : costs.itemRegisters,
         all = costs.registers + column * vector +
               item * sizes.keptLoads * double(schedule.getKept()) * vector;
  return 8 * std::ceil(all / 8);
}

static double getRegisters(const Target &target, const RowSizes &sizes,
                           ReduceScheduleAttr schedule) {
  if (schedule.isOfColumns() && schedule.getKept())
    return getKeptColumnRegisters(target, sizes, schedule);
  const ColumnCosts &columns = target.columns;
  double walking = schedule.isOfColumns()
                       ? columns.registers + columns.itemRegisters *
                                                 double(schedule.getVector())
                       : target.row.registers;
  return walking + getKeptRegisters(target, sizes, schedule);
}

/// How many blocks a multiprocessor has at a time: its registers are 64 K
/// words.
int64_t fusec::getResidentBlocks(const Target &target, const RowSizes &sizes,
                                 ReduceScheduleAttr schedule) {
  double threads = schedule.getThreads(),
         registers = getRegisters(target, sizes, schedule),
         spared =
             schedule.isOfColumns() && schedule.getKept() && !sizes.keepsNarrow
                 ? target.keptColumns.spared
                 : 0;
  return int64_t(std::clamp(
      std::floor(65536 / (registers * threads) + spared), 1.0,
      std::min(target.rates.mostBlocks, std::floor(target.threads / threads))));
}

bool fusec::hasRegisters(const Target &target, const RowSizes &sizes,
                         ReduceScheduleAttr schedule) {
  constexpr double ofBlock = 64 << 10, ofThread = 255;
  return !schedule.getKept() ||
         getRegisters(target, sizes, schedule) <=
             std::min(ofThread, ofBlock / double(schedule.getThreads()));
}
