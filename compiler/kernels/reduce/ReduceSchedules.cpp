// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which schedules there are.

#include "compiler/kernels/reduce/ReduceProblem.h"

using namespace mlir;
using namespace fusec;

/// Each is text of its own in every pass, which NVRTC takes long for.
static constexpr int64_t mostKeptSteps = 32;
/// Of one pass: 39 floats took 58 us by 40 registers, 48 by 20.
static constexpr int64_t mostStepsOfPass = 16, mostKeptOfPass = 128;

int64_t ReduceProblem::getKeptBytes(StepOp step, int64_t vector) const {
  int64_t bytes = 0;
  for (unsigned node : getKeptLoads(step, vector))
    bytes += getElementBytes(iteration.program[node].type);
  return bytes;
}

/// Those of `schedules` that can keep rows.
SmallVector<ReduceScheduleAttr>
ReduceProblem::keep(StepOp step, ArrayRef<ReduceScheduleAttr> schedules,
                    bool isAlone) const {
  SmallVector<ReduceScheduleAttr> keeping;
  std::optional<int64_t> length = getLength().getConstant();
  if (!length || schedules.empty())
    return keeping;
  // Of a span a thread asks for each vector whether it is there.
  if (usesDim(iteration.length, 0) && !(pitch && schedules[0].getVector() > 1))
    return keeping;
  int64_t bytes = getKeptBytes(step, schedules[0].getVector());
  bool isOne = isOnePass(iteration);
  for (ReduceScheduleAttr schedule : schedules) {
    int64_t vector = schedule.getVector(), along = ofColumns ? 1 : vector,
            vectors = llvm::divideCeil(*length, along);
    // Of a span head and tail are a step of their own.
    bool isSpan = pitch && vector > 1;
    vectors -= isSpan;
    int64_t steps = llvm::divideCeil(vectors, schedule.getThreadsTogether());
    int64_t most = isOne ? mostKeptOfPass : getMostKept(schedule);
    if (bytes && (isSpan || *length % along == 0) &&
        steps <= (isOne && !isAlone ? mostStepsOfPass : mostKeptSteps) &&
        steps * vector * bytes <= most)
      keeping.push_back(schedule.withKept(std::max<int64_t>(steps, 1)));
  }
  return keeping;
}

/// Bytes of what is found at once of an item: at least 16, of indices.
static int64_t getMostFound(const RowIteration &iteration) {
  int64_t most = 16;
  for (ArrayRef<RowReduction> pass : getPasses(iteration)) {
    int64_t bytes = 0;
    for (const RowReduction &reduction : pass)
      bytes += getElementBytes(getElementType(reduction.op->getResult(0)));
    most = std::max(most, bytes);
  }
  return most;
}

/// Blocks of columns by phases (reduce_phases.h), whose vectors' lanes meet at
/// once. Max of 4095 x 4097 halves took 16.6 us by pieces of 8 vectors; wider
/// ones leave multiprocessors without a block, of narrower ones much is read
/// twice.
static SmallVector<ReduceScheduleAttr>
getPhasedSchedules(MLIRContext *context, const RowIteration &iteration,
                   int64_t vector, int64_t bits) {
  constexpr int64_t shared = 32 << 10, ofFloat = 4, ofPlace = 16;
  int64_t found = 0;
  for (const RowReduction &reduction : iteration.reductions)
    found += std::max(
        ofFloat, getElementBytes(getElementType(reduction.op->getResult(0))));
  if (findsPlaces(iteration))
    found = ofPlace;
  SmallVector<ReduceScheduleAttr> schedules;
  for (int64_t threads : {1024, 512, 256})
    for (int64_t vectors : {4, 8, 16, 32}) {
      int64_t groups = threads / vectors;
      if (threads * vector * found <= shared && groups % vector == 0)
        schedules.push_back(ReduceScheduleAttr::get(
            context, ReduceScope::Columns, threads, bits, vector, groups));
    }
  return schedules;
}

/// Columns for one block of each multiprocessor, which holds more of them than
/// others do: all begin together, and end so. Sums of 33 x 1001 x 77 took 8.6
/// us by 20 columns a block, 9.4 by 8.
std::optional<ReduceScheduleAttr>
ReduceProblem::getEvenTile(const Target &target, int64_t vector,
                           int64_t bits) const {
  constexpr int64_t shared = 32 << 10, groups = 32, mostThreads = 1024,
                    sector = 32;
  std::optional<int64_t> rows = getRows().getConstant(),
                         length = getLength().getConstant();
  if (!rows || !length || *length <= groups * mostStepsOfPass ||
      !isOnePass(iteration))
    return std::nullopt;
  int64_t vectors =
      llvm::divideCeil(*rows, vector * int64_t(target.multiprocessors));
  if (llvm::isPowerOf2_64(vectors) || vectors * groups > mostThreads ||
      vectors * groups * vector * getMostFound(iteration) > shared ||
      vectors * vector * element < sector)
    return std::nullopt;
  return ReduceScheduleAttr::get(iteration.program.getContext(),
                                 ReduceScope::Columns, vectors * groups, bits,
                                 vector, groups);
}

/// Where blocks have all columns of a row, of which there is no power of two,
/// and multiprocessors two blocks: each reads what lies side by side. Means of
/// GELUs of 197 x 768 halves took 26.3 us, by two thirds of a row a block 26.7;
/// by one block of a multiprocessor others took 3 to 9% longer.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getWholeRows(const Target &target, int64_t vector,
                            int64_t bits) const {
  constexpr int64_t leastThreads = 256, mostThreads = 512, warp = 32, wide = 16;
  SmallVector<ReduceScheduleAttr> schedules;
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  std::optional<int64_t> planes = sizes[0].getConstant(),
                         columns = sizes[2].getConstant();
  if (!planes || *planes <= int64_t(target.multiprocessors) || !columns ||
      *columns % vector || vector * element < wide ||
      llvm::isPowerOf2_64(*columns / vector))
    return schedules;
  for (int64_t groups : {4, 8, 16}) {
    int64_t threads = *columns / vector * groups;
    if (threads % warp == 0 && threads > leastThreads && threads < mostThreads)
      schedules.push_back(ReduceScheduleAttr::get(
          iteration.program.getContext(), ReduceScope::Columns, threads, bits,
          vector, groups));
  }
  return schedules;
}

/// Those that keep columns behind those that load them in every pass, of each
/// width.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getColumnSchedules(StepOp step, const Target &target,
                                  int64_t vector, int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  // What a block's find meets in shared memory.
  constexpr int64_t shared = 32 << 10, vectors = 8, sector = 32;
  int64_t mostItems = shared / getMostFound(iteration);
  std::optional<int64_t> rows = getRows().getConstant();
  // More would be without items.
  int64_t mostGroups =
      std::max<int64_t>(getLength().getConstant().value_or(1), 1);
  bool isShifted = vector > 1 && !accesses.shifted.empty();
  if (isShifted && vector == getPhasedVector())
    return getPhasedSchedules(step.getContext(), iteration, vector, bits);
  for (; vector >= 1; vector = isShifted ? 0 : vector / 2) {
    auto get = [&](int64_t threads, int64_t groups) {
      return ReduceScheduleAttr::get(step.getContext(), ReduceScope::Columns,
                                     threads, bits, vector, groups);
    };
    // Columns of which a multiprocessor has a block at most want all of its
    // threads.
    bool areFew = rows && *rows <= vectors * vector * target.multiprocessors;
    // Of halves that are shifted into place, as many bytes as of singles.
    for (int64_t threads : {1024, 512})
      if (areFew && threads * vector <= (isShifted ? 2 : 1) * mostItems)
        schedules.push_back(get(threads, threads / vectors));
    // Where twice as many blocks have a multiprocessor each: sums of 4099 x 257
    // took 7.2 us by 65 of them, 7.8 by 33.
    if (areFew && 2 * *rows <= vectors * vector * target.multiprocessors &&
        1024 * vector <= mostItems)
      schedules.push_back(get(1024, 2 * 1024 / vectors));
    llvm::append_range(schedules, getWholeRows(target, vector, bits));
    for (int64_t groups : {1, 2, 4, 8, 16, 32})
      schedules.push_back(get(256, groups));
    SmallVector<ReduceScheduleAttr> tiles;
    for (int64_t threads : {512, 256})
      for (int64_t groups = 1;
           threads * vector <= mostItems && groups <= mostGroups &&
           threads / groups * vector * element >= sector;
           groups *= 2)
        tiles.push_back(get(threads, groups));
    llvm::append_range(schedules, keep(step, tiles));
    if (auto even = getEvenTile(target, vector, bits))
      llvm::append_range(schedules, keep(step, *even, /*isAlone=*/true));
  }
  return schedules;
}

/// For as many blocks of a multiprocessor as it has registers for, if it has,
/// and for one less, which is there for kernels that would spill else. Norms of
/// 64 rows of 262144 floats took 41.3 us by three blocks, 44.2 by two. Of an
/// item so many bytes are kept.
static SmallVector<ReduceScheduleAttr>
getResidents(const Target &target, ReduceScheduleAttr schedule, int64_t bytes) {
  // Of little but what it keeps does a thread need much at a time, but halves
  // are widened some time before they are stored: of more than so many there
  // are registers where a block of many threads is alone.
  constexpr int64_t words = 1 << 16, ofWord = 4, least = 48, mostHalves = 64,
                    alone = 512;
  // Teams that a device has room for at a time, at least (reduce_team.h).
  constexpr int64_t leastTeams = 4;
  int64_t items = schedule.getKept() * schedule.getVector(),
          threads = schedule.getThreads(),
          // A single half has a register as well.
      ofItem = schedule.getVector() > 1 ? bytes : llvm::alignTo(bytes, 4),
          registers = std::max(
              items * ofItem / ofWord + (bytes % ofWord ? 36 : 20), least),
          most = words / (registers * threads);
  SmallVector<ReduceScheduleAttr> schedules;
  if (bytes % ofWord && items > mostHalves && threads < alone)
    return schedules;
  for (int64_t resident : {most, most - 1})
    if (leastTeams * schedule.getBlocksTogether() <=
        resident * target.multiprocessors)
      schedules.push_back(schedule.withResident(resident));
  return schedules;
}

/// Of rows that few blocks cannot hold.
SmallVector<ReduceScheduleAttr> ReduceProblem::getTeams(StepOp step,
                                                        const Target &target,
                                                        int64_t vector,
                                                        int64_t bits) const {
  SmallVector<ReduceScheduleAttr> teams, all;
  if (target.major < 9 || (pitch && vector > 1) || !canTeamFind(iteration))
    return all;
  for (int64_t threads : {256, 512})
    for (int64_t blocks : {16, 32, 64})
      teams.push_back(ReduceScheduleAttr::get(
          step.getContext(), ReduceScope::Team, threads, bits, vector, blocks));
  for (ReduceScheduleAttr schedule : keep(step, teams))
    if (fitsTeam(*this, schedule))
      llvm::append_range(
          all, getResidents(target, schedule, getKeptBytes(step, vector)));
  return all;
}

/// The smallest last.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getSchedules(StepOp step, const Target &target, int64_t vector,
                            int64_t bits) const {
  if (ofColumns)
    return getColumnSchedules(step, target, vector, bits);
  MLIRContext *context = step.getContext();
  auto get = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups = 1) {
    return ReduceScheduleAttr::get(context, scope, threads, bits, elements,
                                   groups);
  };
  SmallVector<ReduceScheduleAttr> schedules;
  for (int64_t threads : {256, 512, 1024, 128})
    schedules.push_back(get(ReduceScope::Block, threads, vector));
  // Groups of a warp have no spans: none has as many threads as a head and a
  // tail have items.
  bool isSpan = pitch && vector > 1;
  auto getWarps = [&](int64_t vector) {
    SmallVector<ReduceScheduleAttr> warps;
    for (int64_t groups : {1, 2, 4, 8})
      if (groups == 1 || !isSpan)
        warps.push_back(get(ReduceScope::Warp, 128, vector, groups));
    return warps;
  };
  llvm::append_range(schedules, getWarps(vector));
  // Of the shortest rows there are most, so that it takes time to place blocks.
  if (!isSpan)
    schedules.push_back(get(ReduceScope::Warp, 256, vector, 8));
  SmallVector<ReduceScheduleAttr> all = schedules;
  if (target.major >= 9)
    for (int64_t threads : {256, 512, 1024})
      for (int64_t blocks : {2, 4, 8})
        all.push_back(get(ReduceScope::Cluster, threads, vector, blocks));
  SmallVector<ReduceScheduleAttr> keeping = keep(step, all);
  llvm::append_range(keeping, getTeams(step, target, vector, bits));
  // Rows that nothing holds.
  if (keeping.empty() && getLength().isConstant() &&
      !getKeptLoads(step, vector).empty()) {
    schedules = all;
    // Parts of rows can be as short as it takes to keep them.
    if (findOnlinePair(iteration) &&
        !getReducedParts(iteration.reductions[0].op))
      for (ReduceScheduleAttr schedule : all)
        schedules.push_back(schedule.asOnline());
  }
  llvm::append_range(schedules, keeping);
  // Where half as wide accesses leave fewer lanes without items.
  auto getHeld = [](ReduceScheduleAttr schedule) {
    return schedule.getThreadsTogether() * schedule.getKept() *
           schedule.getVector();
  };
  if (vector > 2)
    for (ReduceScheduleAttr narrow : keep(step, getWarps(vector / 2)))
      if (llvm::any_of(keeping, [&](ReduceScheduleAttr schedule) {
            return schedule.getScope() == ReduceScope::Warp &&
                   schedule.getGroups() == narrow.getGroups() &&
                   getHeld(narrow) < getHeld(schedule);
          }))
        schedules.push_back(narrow);
  schedules.push_back(get(ReduceScope::Thread, 128, vector));
  return schedules;
}
