// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread keeps of its rows or columns in registers.

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Adds the loads of what the node computes at each point of a row.
static void collectLoads(const ScalarProgram &program, unsigned node,
                         llvm::SmallDenseSet<unsigned> &seen) {
  SmallVector<unsigned> open = {node};
  while (!open.empty()) {
    unsigned next = open.pop_back_val();
    if (!program.varies(next, 1) || !seen.insert(next).second)
      continue;
    // What only some points need is not loaded for all.
    if (program[next].kind == Kind::Compute)
      llvm::append_range(open, program[next].operands);
  }
}

bool fusec::isOnePass(const RowIteration &iteration) {
  return getPasses(iteration).size() == 1 && getFullStores(iteration).empty();
}

/// How many passes need each node; and in `stored`, what the stores need, which
/// are the last.
static std::vector<unsigned>
countPasses(const RowIteration &iteration,
            llvm::SmallDenseSet<unsigned> &stored) {
  const ScalarProgram &program = iteration.program;
  std::vector<unsigned> passes(program.size());
  llvm::SmallDenseSet<unsigned> &seen = stored;
  auto count = [&](ArrayRef<unsigned> nodes) {
    seen.clear();
    for (unsigned node : nodes)
      collectLoads(program, node, seen);
    for (unsigned node : seen)
      ++passes[node];
  };
  for (ArrayRef<RowReduction> pass : getPasses(iteration))
    count(llvm::map_to_vector(
        pass, [](const RowReduction &reduction) { return reduction.operand; }));
  count(
      llvm::map_to_vector(getFullStores(iteration),
                          [](const RegionStore &store) { return store.node; }));
  return passes;
}

SmallVector<unsigned>
fusec::getKeptLoads(const RowIteration &iteration, unsigned lanesDim,
                    llvm::function_ref<bool(unsigned)> isAccess, bool ahead) {
  const ScalarProgram &program = iteration.program;
  llvm::SmallDenseSet<unsigned> stored;
  std::vector<unsigned> passes = countPasses(iteration, stored);
  // In one pass over columns, to have all of a thread's loads on their way.
  unsigned least = lanesDim == 2 && isOnePass(iteration) ? 1 : 2;
  SmallVector<unsigned> kept;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && program.varies(n, lanesDim) &&
        (passes[n] >= least || (ahead && stored.contains(n))) && isAccess(n))
      kept.push_back(n);
  return kept;
}

SmallVector<unsigned>
fusec::getLaneLoads(const RowIteration &iteration,
                    llvm::function_ref<bool(unsigned)> isOfLanes) {
  const ScalarProgram &program = iteration.program;
  llvm::SmallDenseSet<unsigned> stored;
  std::vector<unsigned> passes = countPasses(iteration, stored);
  SmallVector<unsigned> loads;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && program.varies(n, 1) && isOfLanes(n))
      loads.append(passes[n], n);
  return loads;
}

int64_t fusec::getMostKept(ReduceScheduleAttr schedule) {
  int64_t threads = schedule.getThreads();
  bool areAlone = threads > 256 && schedule.getBlocksTogether() == 1 &&
                  !schedule.isOfColumns();
  return threads > 512 || areAlone ? 96 : 256;
}

bool fusec::loadsAheadByWarps(ReduceScheduleAttr schedule) {
  return schedule.getAhead() && schedule.getScope() == ReduceScope::Warp &&
         schedule.getThreads() <= 128;
}

bool fusec::paysAhead(const Target &target, const RowSizes &kept,
                      const RowSizes &ahead, ReduceScheduleAttr schedule) {
  double items = double(schedule.getKept() * schedule.getVector()),
         loads = double(ahead.keptLoads) - double(kept.keptLoads);
  if (loads <= 0 || !schedule.getKept() || schedule.isOfTeam() ||
      !hasRegisters(target, ahead, schedule))
    return false;
  if (loadsAheadByWarps(schedule.asAhead()) && schedule.getVector() > 1)
    return loads * items <= target.row.mostAheadOfWarps &&
           (!ahead.keepsNarrow ||
            ahead.keptLoads * items <= target.row.mostNarrowOfWarps);
  if (isFollowed(target, kept, schedule))
    return schedule.getScope() == ReduceScope::Block &&
           schedule.getVector() > 1 && kept.keptLoads == 1 && loads == 1;
  return loads * items <= target.row.mostAhead;
}
