// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reductions of columns take.

#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace fusec;

double fusec::getColumnsTraffic(const Target &target, const RowSizes &sizes,
                                double passes) {
  const ReduceCosts &costs = target.reduce;
  // Where few columns lie side by side, sectors of 32 bytes are read in parts.
  double waste = std::max(1.0, 32.0 / sizes.element / sizes.columns);
  return sizes.bytes * (1 + costs.laterPass * (passes - 1)) *
         std::max(1.0, waste / costs.sectorReuse);
}

/// Those that a thread meets; of more, the others meet by levels at the same
/// time.
static double getMeetingGroups(double groups) {
  constexpr double inOneGo = 8;
  return groups > 1 ? std::min(groups, inOneGo) : 0;
}

/// Clocks of 128 lanes that a thread takes for all of its passes.
static double getColumnsThreadClocks(const Target &target,
                                     const RowSizes &sizes,
                                     ReduceScheduleAttr schedule,
                                     double steps) {
  const ColumnCosts &costs = target.columns;
  constexpr int64_t ofWarp = 32, fewRows = 4;
  bool isApart =
      ofWarp * schedule.getGroups() > fewRows * schedule.getThreads();
  double vector = schedule.getVector(),
         meeting = getMeetingGroups(schedule.getGroups()) * vector *
                   costs.laneClocks * (sizes.findsPlaces ? costs.findTimes : 1),
         stepClocks = costs.stepClocks * (isApart ? costs.apartPart : 1);
  return sizes.passes * (steps * stepClocks + meeting) +
         steps * vector * sizes.instructions * costs.itemPart +
         costs.threadClocks;
}

/// How often groups of threads meet in shared memory until all have.
static double getMeetingLevels(double groups) {
  double levels = groups > 1;
  for (double left = groups; left > 32; left /= std::min(left / 8, 8.0))
    ++levels;
  return levels;
}

/// What comes from memory together, and the least part of it.
static constexpr double line = 128, sector = 32;

/// What threads beside each other read in one piece: of a row, or, where rows
/// are shorter than a sector, of several that follow one another, but where
/// threads keep to rows of one phase, or shift vectors of each row: by these a
/// maximum of 1000003 x 7 halves took 14.7 us for 14.2.
static double getPieceBytes(const RowSizes &sizes,
                            ReduceScheduleAttr schedule) {
  double columns = double(schedule.getThreads() / schedule.getGroups() *
                          schedule.getVector());
  if (sizes.columns <= columns && sizes.columns * sizes.element < sector &&
      !sizes.phasesLoad && !sizes.areShifted)
    return line;
  return std::min(sizes.columns, columns) * sizes.element;
}

/// By how much longer memory takes for pieces of less than a line.
static double getPiecesLoss(double lost, double pieceBytes) {
  return pieceBytes < line ? 1 + lost * (line / pieceBytes - 1) : 1;
}

static Estimate estimateKeptColumns(const Target &target, const RowSizes &sizes,
                                    ReduceScheduleAttr schedule) {
  const KeptColumnCosts &costs = target.keptColumns;
  Overlap time(target);
  double groups = schedule.getGroups(), vector = schedule.getVector(),
         threads = schedule.getThreads(), steps = schedule.getKept(),
         blocks = std::max(
             1.0, std::ceil(sizes.rows / double(schedule.getRowsAtOnce()))),
         share = blocks / target.multiprocessors,
         resident = double(getResidentBlocks(target, sizes, schedule)),
         clocksPerMicro = target.rates.clock * 1e3,
         memory =
             sizes.bytes *
             getPiecesLoss(costs.piecesLose, getPieceBytes(sizes, schedule)) /
             (costs.memoryPart * target.rates.memory * 1e3),
         levels = getMeetingLevels(groups) *
                  (sizes.findsPlaces ? target.columns.findTimes : 1),
         alone = costs.waitMicros +
                 sizes.reductions * levels * costs.levelMicros +
                 sizes.passes * steps * costs.stepMicros,
         waves = share / resident,
         work =
             share * threads * vector *
             (steps * sizes.instructions * costs.itemPart +
              sizes.reductions * getMeetingGroups(groups) * costs.laneClocks) /
             target.rates.issuedThreads / clocksPerMicro;
  if (waves < target.row.wholeWaves)
    waves = std::ceil(waves);
  double beside = std::min(resident, std::max(share, 1.0)),
         latency = waves * (alone + memory / share *
                                        std::pow(beside, costs.besidePower));
  addPlacing(time, target, blocks, schedule.getBlocks());
  time.expose(costs.startMicros);
  exposeFirstTurn(time, target, sizes.bytes);
  addBeside(time, costs.exposed, memory, latency, work);
  return time.get();
}

static Estimate estimateLoadedColumns(const Target &target,
                                      const RowSizes &sizes,
                                      ReduceScheduleAttr schedule) {
  const ColumnCosts &costs = target.columns;
  Overlap time(target);
  double groups = schedule.getGroups(), threads = schedule.getThreads(),
         blocks = std::ceil(sizes.rows / schedule.getRowsAtOnce()),
         resident = double(getResidentBlocks(target, sizes, schedule)),
         share = blocks / target.multiprocessors,
         // Of blocks that begin together some multiprocessors have one more
         // than others.
      most = share <= resident ? std::ceil(share) : share,
         steps = std::ceil(sizes.length / groups),
         clocksPerMicro = target.rates.clock * 1e3,
         latency = std::max(1.0, share / resident) * sizes.passes *
                   (getRounds(steps) * target.rates.memoryLatency +
                    getMeetingLevels(groups) * costs.levelClocks *
                        (sizes.findsPlaces ? costs.findTimes : 1)) /
                   clocksPerMicro,
         work = most * threads *
                getColumnsThreadClocks(target, sizes, schedule, steps) /
                target.rates.issuedThreads / clocksPerMicro,
         memory =
             getColumnsTraffic(target, sizes, sizes.passes) /
             target.rates.memory / 1e3 *
             getPiecesLoss(costs.piecesLose, getPieceBytes(sizes, schedule));
  // A second wave of few begins when all of the first have ended: 171 blocks of
  // 1024 threads took 24.0 us, 74 of 17.6.
  if (sizes.phasesLoad && share > resident &&
      share / resident < target.row.wholeWaves)
    most = std::ceil(share / resident) * resident;
  if (share > 1)
    memory *= most / share;
  if (sizes.areShifted)
    memory *= costs.shiftedPart;
  // Of few columns a few multiprocessors load all.
  if (sizes.phasesLoad)
    memory = std::max(memory, sizes.read * sizes.phasesLoad /
                                  (std::min(1.0, share) *
                                   target.multiprocessors * costs.phasesRate) /
                                  1e3);
  // A row of its own keeps whoever reduces it busy, so that striding over rows
  // is as fast as a block each.
  addPlacing(time, target, blocks, schedule.getBlocks());
  time.expose(costs.startMicros);
  addBeside(time, costs.exposed, memory, latency, work);
  return time.get();
}

Estimate fusec::estimateColumns(const Target &target, const RowSizes &sizes,
                                ReduceScheduleAttr schedule) {
  return schedule.getKept() ? estimateKeptColumns(target, sizes, schedule)
                            : estimateLoadedColumns(target, sizes, schedule);
}
