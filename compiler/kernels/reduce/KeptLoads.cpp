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

SmallVector<unsigned>
fusec::getKeptLoads(const RowIteration &iteration, unsigned lanesDim,
                    llvm::function_ref<bool(unsigned)> isAccess, bool ahead) {
  const ScalarProgram &program = iteration.program;
  std::vector<unsigned> passes(program.size());
  llvm::SmallDenseSet<unsigned> seen;
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
  // Last, so that `seen` is what stores need.
  count(
      llvm::map_to_vector(getFullStores(iteration),
                          [](const RegionStore &store) { return store.node; }));
  // In one pass over columns, to have all of a thread's loads on their way.
  unsigned least = lanesDim == 2 && isOnePass(iteration) ? 1 : 2;
  SmallVector<unsigned> kept;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && program.varies(n, lanesDim) &&
        (passes[n] >= least || (ahead && seen.contains(n))) && isAccess(n))
      kept.push_back(n);
  return kept;
}

int64_t fusec::getMostKept(ReduceScheduleAttr schedule) {
  int64_t threads = schedule.getThreads();
  bool areAlone =
      threads > 256 && schedule.getCluster() == 1 && !schedule.isOfColumns();
  return threads > 512 || areAlone ? 96 : 256;
}
