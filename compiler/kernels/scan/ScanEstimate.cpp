// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time is that of the bytes, or of the tiles that each waits for, one after
// another.

#include "compiler/kernels/scan/ScanProblem.h"
#include "compiler/kernels/scan/device/scan_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// Threads of a multiprocessor at a time. A thread has a tile of columns in
/// registers, of which there are 64 K.
static double getResidentThreads(const Target &target,
                                 ReduceScheduleAttr schedule) {
  double threads = schedule.getThreads(),
         registers = target.scan.tileRegisters + target.scan.itemRegisters *
                                                     scanSteps *
                                                     schedule.getVector();
  if (!schedule.isOfColumns())
    return target.threads;
  return std::min(target.threads / threads,
                  std::floor(65536 / (registers * threads))) *
         threads;
}

/// That the step's bytes take at the rate of such accesses.
double ScanProblem::getMemoryMicros(const Target &target, StepBytes bytes,
                                    int64_t vector) const {
  double access =
      getElementBytes(iteration.program[iteration.operand].type) * vector;
  return (bytes.read + bytes.written) /
         getStreamingRate(target, std::min(16.0, access));
}

Estimate ScanProblem::estimate(StepOp step, const Target &target,
                               ReduceScheduleAttr schedule, int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  double together = schedule.getThreadsTogether(),
         rows = sample(space[0] * space[2], dim),
         length = sample(space[1], dim),
         perTile = together * scanSteps *
                   (schedule.isOfColumns() ? 1 : schedule.getVector()),
         atOnce = schedule.getRowsAtOnce(),
         resident = getResidentThreads(target, schedule) *
                    target.multiprocessors / double(schedule.getThreads()),
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
  addExposed(time, target, getMemoryMicros(target, bytes, schedule.getVector()),
             latency);
  return time.get();
}

/// Bytes of registers that a thread keeps of a part: items, and along rows of
/// each vector its sum and what lies before it.
int64_t ScanProblem::getKeptBytes(ReduceScheduleAttr schedule) const {
  auto getBytes = [&](unsigned node) {
    return int64_t(getElementBytes(iteration.program[node].type));
  };
  constexpr int64_t registerBytes = 4;
  int64_t vector = isRun(iteration, schedule) ? 1 : schedule.getVector(),
          items = std::max(registerBytes, getBytes(iteration.item) * vector),
          sum = std::max(registerBytes, getBytes(iteration.operand));
  return schedule.getKept() * (items + (schedule.isOfColumns() ? 0 : 2 * sum));
}

/// Of shared memory, in which slices of the run are apart, as scan_run.h has
/// them; 0 where the schedule has no place for all columns, or a vector would
/// lie in two slices.
int64_t ScanProblem::getRunBytes(ReduceScheduleAttr schedule) const {
  constexpr int64_t gapBytes = 16;
  int64_t columns = *iteration.program.getSizes()[2].getConstant(),
          slice = schedule.getKept() * columns,
          sum = std::max<int64_t>(
              4, getElementBytes(getElementType(iteration.op->getResult(0))));
  auto length = iteration.parts->length.getConstant();
  if (!length || schedule.getThreads() / schedule.getGroups() < columns ||
      slice % schedule.getVector() != 0)
    return 0;
  return llvm::divideCeil(*length, schedule.getKept()) *
         (slice * sum + gapBytes);
}

Estimate ScanProblem::estimateParts(StepOp step, const Target &target,
                                    ReduceScheduleAttr schedule,
                                    int64_t dim) const {
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  int64_t strips = getSampledValue(getStrips(iteration, schedule), dim);
  ScanFields fields(strips, int(iteration.parts->count));
  double threads = schedule.getThreads(), parts = iteration.parts->count,
         blocks = parts * double(strips),
         registers = target.scan.registers + double(getKeptBytes(schedule)) / 4,
         together = std::clamp(std::floor(65536 / (registers * threads)), 1.0,
                               target.threads / threads);
  if (schedule.getResident())
    together = double(schedule.getResident());
  if (isRun(iteration, schedule))
    together = std::clamp(std::floor(target.scan.heldBytes /
                                     double(getRunBytes(schedule) + 1024)),
                          1.0, together);
  double resident = target.multiprocessors * (areTiles(iteration, schedule)
                                                  ? double(columnTilesTogether)
                                                  : together),
         waves = std::max(1.0, blocks / resident),
         // Half of all parts come before one.
      others = std::ceil(parts / 2 / schedule.getThreadsTogether() / 8);
  // Behind a group of parts of a row, one waits for its sum, too.
  bool inWords = getFlagWords(iteration, schedule).has_value(),
       hasGroups = !schedule.isOfColumns() &&
                   parts > double(getGroupParts(iteration, schedule));
  double clocks = 2 * target.rates.memoryLatency + target.reduce.blockClocks +
                  (inWords ? (hasGroups ? 3 : 2) * target.rates.l2Latency
                           : schedule.getGroups() * target.reduce.treeClocks +
                                 (2 + others) * target.rates.l2Latency);
  double element = getElementBytes(iteration.program[iteration.operand].type),
         waste = 1;
  // Strips of less than what comes from memory together are read in parts.
  if (schedule.isOfColumns() && !isRun(iteration, schedule))
    waste = std::max(
        1.0, target.stream.fetchedBytes /
                 (element *
                  double(std::min(
                      schedule.getRowsAtOnce(),
                      int64_t(sample(iteration.program.getSizes()[2], dim))))));
  addPlacing(time, target, blocks, 0);
  time.expose(target.scan.flagMicros);
  if (isRun(iteration, schedule))
    time.expose(target.scan.runMicros);
  if (!inWords)
    time.add(TimeBound::Latency, (fields.turns - 1) * target.scan.turnMicros);
  // A multiprocessor moves no more than its share.
  double busy = std::min(1.0, blocks / target.multiprocessors);
  addExposed(time, target,
             getMemoryMicros(target, bytes, schedule.getVector()) * waste /
                 busy,
             waves * clocks / (target.rates.clock * 1e3));
  return time.get();
}

double ScanProblem::getShownMicros(StepOp step, const Target &target,
                                   double micros, int64_t dim) const {
  StepBytes bytes = getStepBytesAt(step, dim);
  double all = bytes.read + bytes.written,
         least = target.rates.launch + target.scan.flagMicros +
                 all / (target.rates.memory * 1e3),
         exposed = std::clamp(target.scan.exposedBytes / std::max(1.0, all),
                              target.scan.exposedPart, 1.0);
  return micros - (1 - exposed) * std::max(0.0, micros - least);
}

/// Of shared memory that a block of so many threads has, a row for each; 0
/// where rows cannot be held: their length is not known, or too much.
int64_t ScanProblem::getHeldBytes(int64_t threads) const {
  std::optional<int64_t> length = iteration.program.getSizes()[1].getConstant();
  if (iteration.parts || !iteration.isAlongRows() || !length || *length < 2)
    return 0;
  Type sum = getElementType(CumSumOp(iteration.op).getResult());
  int64_t bytes =
      threads * *length * std::max<int64_t>(4, getElementBytes(sum));
  return bytes <= mostHeldBytes ? bytes : 0;
}

Estimate ScanProblem::estimateHeld(StepOp step, const Target &target,
                                   ReduceScheduleAttr schedule,
                                   int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  double threads = schedule.getThreads(), rows = sample(space[0], dim),
         length = sample(space[1], dim), blocks = std::ceil(rows / threads),
         resident = std::clamp(
             std::floor(target.scan.heldBytes /
                        double(getHeldBytes(schedule.getThreads()) + 1024)),
             1.0, target.threads / threads),
         waves = std::max(1.0, blocks / resident / target.multiprocessors),
         // Rows that begin in the same banks wait for one another; an item is
         // read from shared memory and written there.
      sameBank = double(int64_t(length) & -int64_t(length)),
         clocks = 2 * target.rates.memoryLatency +
                  length * std::max(target.scan.itemClocks,
                                    resident * threads / 32 * 2 *
                                        std::min(sameBank, 32.0));
  addPlacing(time, target, blocks, schedule.getBlocks());
  addExposed(time, target, getMemoryMicros(target, bytes, schedule.getVector()),
             waves * clocks / (target.rates.clock * 1e3));
  return time.get();
}

/// All of a row is on its way at once, and its blocks meet once; while some
/// wait, the memory serves others of their multiprocessor, by as much as these
/// hold: 2047 rows of 50257 halves took 105 us by 5 blocks of 128 threads that
/// hold 10 vectors each, by 256 that hold 5, of which fewer have registers,
/// 115.
Estimate ScanProblem::estimateCluster(StepOp step, const Target &target,
                                      ReduceScheduleAttr schedule,
                                      int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  constexpr double few = 8 << 10;
  double threads = schedule.getThreads(), length = sample(space[1], dim),
         blocks = std::max(1.0, sample(space[0], dim)) *
                  double(schedule.getCluster()),
         together = double(getClusterResident(iteration, target.scan, schedule,
                                              getKeptBytes(schedule))),
         share = blocks / target.multiprocessors,
         waves = std::max(1.0, share / together),
         element = getElementBytes(iteration.program[iteration.item].type),
         held = together * threads *
                double(schedule.getKept() * schedule.getVector()) * element,
         // Lanes without items have nothing on their way.
      idle = std::max(
          1.0, double(schedule.getKept() * schedule.getThreadsTogether() *
                      schedule.getVector()) /
                   length),
         clocks = 2 * target.rates.memoryLatency + target.row.clusterClocks +
                  threads / 32 * target.row.warpClocks +
                  double(schedule.getKept()) * target.scan.stepClocks;
  double memory = getMemoryMicros(target, bytes, schedule.getVector()) * idle;
  // A multiprocessor moves no more than so much of its share.
  memory *= std::max(1.0, 1 / (target.scan.mostOfShare * share));
  addExposed(time, target, std::max(memory, blocks * target.scan.placeMicros),
             std::max(1.0, waves * few / held) * clocks /
                 (target.rates.clock * 1e3));
  return time.get();
}
