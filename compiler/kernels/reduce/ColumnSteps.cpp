// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How threads walk along columns: how many vectors they ask for together, and
// where they begin.

#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

/// Registers that the blocks of a multiprocessor leave each thread.
static int64_t getRegisters(int64_t blocks, ReduceScheduleAttr schedule) {
  constexpr int64_t words = 1 << 16, unit = 8;
  return words / (blocks * schedule.getThreads()) / unit * unit;
}

/// Bytes that a thread loads in each step; 0 where some vectors are narrow: of
/// 8 bytes sixteen together took 4% longer, by sums of GELUs of 133 x 768
/// halves.
static int64_t getBytesOfStep(const ScalarProgram &program, int64_t vector) {
  constexpr int64_t least = 16;
  int64_t all = 0;
  for (unsigned read : getReads(program)) {
    if (!program.varies(read, 1) || !program.varies(read, 2))
      continue;
    int64_t bytes = vector * getElementBytes(program[read].type);
    if (bytes < least)
      return 0;
    all += bytes;
  }
  return all;
}

/// Whether what is read of each plane lies a multiple of so many bytes behind
/// that of the one before.
static bool areApart(StepOp step, const ScalarProgram &program, int64_t bytes) {
  return llvm::all_of(getReads(program), [&](unsigned read) {
    if (!program.varies(read, 1))
      return true;
    if (program[read].kind != ScalarNode::Kind::Load)
      return false;
    auto pitch = getDimCoefficient(getLoadOffset(step, program, read), 0);
    std::optional<int64_t> items = pitch ? pitch->getConstant() : std::nullopt;
    return items && *items * getElementBytes(program[read].type) % bytes == 0;
  });
}

/// All blocks walk at one pace, and what they read of planes so far apart seems
/// to compete for the memory's banks. Where each begins behind the one before,
/// minima of 32 x 4096 x 512 halves took 39.2 us for 40.5, of floats 71.4 for
/// 72.4; but means of planes of 1 and 2 MB up to 2% more.
static int64_t getRowsBehind(StepOp step, const RowIteration &columns,
                             int64_t length) {
  constexpr int64_t far = 4 << 20;
  std::optional<int64_t> planes = columns.program.getSizes()[0].getConstant();
  return planes && *planes > 1 && areApart(step, columns.program, far)
             ? length / *planes
             : 0;
}

ColumnSteps fusec::getColumnSteps(StepOp step, const RowIteration &columns,
                                  ReduceScheduleAttr schedule) {
  constexpr int64_t together = 16, ofWord = 4;
  // Of a thread beside what it loads: sums of vectors of eight, addresses.
  constexpr int64_t beside = 16;
  if (!schedule.isOfColumns())
    return {};
  ArrayRef<Expr> sizes = columns.program.getSizes();
  std::optional<int64_t> length = columns.length.getConstant(),
                         rows = (sizes[0] * sizes[2]).getConstant();
  if (schedule.getKept() || schedule.getBlocks() || !rows || !length ||
      *length < 2 * together * schedule.getGroups() || !isOnePass(columns) ||
      findsPlaces(columns) || areColumnsShifted(columns, schedule))
    return {};
  int64_t blocks =
              llvm::divideCeil(std::max<int64_t>(*rows, 1),
                               schedule.getRowsAtOnce() *
                                   int64_t(getTarget(step).multiprocessors)),
          bytes = getBytesOfStep(columns.program, schedule.getVector());
  ColumnSteps steps;
  steps.behind = getRowsBehind(step, columns, *length);
  if (bytes &&
      together * bytes / ofWord + beside <= getRegisters(blocks, schedule)) {
    steps.together = together;
    steps.resident = blocks;
  }
  return steps;
}
