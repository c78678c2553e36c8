// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of narrow columns whose rows begin anywhere in memory.

#include "compiler/analysis/ShiftedLoads.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Of a vector of phases, and of one that is shifted: two loads of less gain
/// nothing over single elements, more are slower.
static constexpr int64_t phasedBytes = 16, shiftedBytes = 8;
/// Of wider elements a warp loads whole lines singly: sums of 4099 x 257 floats
/// took 8.8 us by phases, 8.1 singly.
static constexpr int64_t mostBytes = 2;

/// Vectors of a row, for phases: a block has one more than it finds results of.
/// Of 31 halves that cost 12%.
static constexpr int64_t leastPhased = 8;

/// What is read of columns.
static SmallVector<unsigned> getColumnReads(const ScalarProgram &program) {
  SmallVector<unsigned> reads;
  for (unsigned read : getReads(program))
    if (program.varies(read, 2))
      reads.push_back(read);
  return reads;
}

Expr fusec::getReadExtent(StepOp step, const ScalarProgram &program,
                          unsigned read) {
  BufferOp buffer = step.getInputBuffer(program[read].value);
  return getExtent(getSizes(buffer.getType()), buffer.getStrideExprs());
}

SmallVector<RegionStore> fusec::getReduced(const RowIteration &columns) {
  Expr nowhere = Expr::constant(columns.program.getContext(), 0);
  return llvm::map_to_vector(
      columns.reductions, [&](const RowReduction &reduction) {
        return RegionStore{reduction.operand, /*output=*/0, nowhere};
      });
}

bool fusec::areColumnsShifted(const RowIteration &columns,
                              ReduceScheduleAttr schedule) {
  Expr vector =
      Expr::constant(columns.program.getContext(), schedule.getVector());
  return schedule.isOfColumns() && schedule.getVector() > 1 &&
         !columns.program.getSizes()[2].mod(vector).isConstant(0);
}

bool fusec::areColumnsPhased(const RowIteration &columns,
                             ReduceScheduleAttr schedule) {
  if (!areColumnsShifted(columns, schedule))
    return false;
  SmallVector<unsigned> reads = getColumnReads(columns.program);
  return !reads.empty() &&
         schedule.getVector() *
                 getElementBytes(columns.program[reads[0]].type) ==
             phasedBytes;
}

Expr fusec::getPhasedBlocks(const RowIteration &columns,
                            ReduceScheduleAttr schedule) {
  ArrayRef<Expr> sizes = columns.program.getSizes();
  MLIRContext *context = columns.program.getContext();
  int64_t owned = schedule.getThreads() / schedule.getGroups() - 1;
  return sizes[0] * sizes[2]
                        .ceilDiv(Expr::constant(context, schedule.getVector()))
                        .ceilDiv(Expr::constant(context, owned));
}

AccessesAttr fusec::getPhasedAccesses(StepOp step, const RowIteration &columns,
                                      ReduceScheduleAttr schedule,
                                      size_t stores) {
  SmallVector<int64_t> loads;
  for (unsigned read : getReads(columns.program))
    loads.push_back(columns.program.varies(read, 2) ? schedule.getVector() : 1);
  return getAccesses(step.getContext(), Walk::Memory, schedule.getVector(),
                     loads, SmallVector<int64_t>(stores, 1),
                     getPassingReads(step, columns, schedule));
}

/// Whether lanes may lie before the first column and behind the last: all of a
/// point comes from its loads, which lie at one place.
static bool canHavePhases(StepOp step, const RowIteration &columns,
                          ArrayRef<unsigned> reads) {
  const ScalarProgram &program = columns.program;
  Expr place = getLoadOffset(step, program, reads[0]),
       extent = getReadExtent(step, program, reads[0]);
  return isOnePass(columns) &&
         llvm::all_of(reads,
                      [&](unsigned read) {
                        return getLoadOffset(step, program, read) == place &&
                               getReadExtent(step, program, read) == extent;
                      }) &&
         llvm::all_of(columns.reductions, [&](const RowReduction &reduction) {
           return !isComputedOf(program, reduction.operand, [&](unsigned node) {
             return program.varies(node, 2) &&
                    program[node].kind != Kind::Load &&
                    program[node].kind != Kind::Compute;
           });
         });
}

VectorAccesses fusec::analyzeShiftedColumns(StepOp step,
                                            const RowIteration &columns) {
  const ScalarProgram &program = columns.program;
  std::optional<int64_t> count = program.getSizes()[2].getConstant();
  SmallVector<unsigned> reads = getColumnReads(program);
  if (reads.empty() || !count || !getFullStores(columns).empty())
    return {};
  int64_t bytes = getElementBytes(program[reads[0]].type);
  VectorAccesses accesses;
  for (unsigned read : reads) {
    if (program[read].kind != Kind::Load || bytes > mostBytes ||
        getElementBytes(program[read].type) != bytes)
      return {};
    accesses.shifted.push_back(read);
    accesses.aligned.push_back(step.getInputBuffer(program[read].value));
  }
  auto areShiftable = [&](int64_t width) {
    SmallVector<unsigned> shiftable =
        findShiftableLoads(step, program, getReduced(columns), 2, width,
                           /*beginAnywhere=*/true, getAlignmentIfGuarded);
    return *count >= width && llvm::all_of(reads, [&](unsigned read) {
      return llvm::is_contained(shiftable, read);
    });
  };
  int64_t phased = phasedBytes / bytes;
  if (*count >= leastPhased * phased && areShiftable(phased) &&
      canHavePhases(step, columns, reads))
    accesses.width = phased;
  else if (areShiftable(shiftedBytes / bytes))
    accesses.width = shiftedBytes / bytes;
  else
    return {};
  return accesses;
}
