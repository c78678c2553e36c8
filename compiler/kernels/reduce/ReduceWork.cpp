// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread does for an item of a row, in instructions: what decides where
// memory does not, as of GELU below a mean.

#include "compiler/kernels/NodeWork.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Of what is computed at each point of a row.
struct Points {
  const OpCosts &costs;
  const ScalarProgram &program;
  llvm::SmallDenseSet<unsigned> seen;
  double instructions = 0;

  void add(unsigned node) {
    SmallVector<unsigned> open = {node};
    while (!open.empty()) {
      unsigned next = open.pop_back_val();
      if (!program.varies(next, 1) || !seen.insert(next).second)
        continue;
      instructions += getInstructions(costs, program[next]);
      llvm::append_range(open, program[next].operands);
      llvm::append_range(open, program[next].rows);
    }
  }
};
} // namespace

double fusec::countFinding(const OpCosts &costs,
                           const RowIteration &iteration) {
  double all = 0;
  for (ArrayRef<RowReduction> pass : getPasses(iteration)) {
    Points points{costs, iteration.program, {}};
    for (const RowReduction &reduction : getCombined(pass)) {
      points.add(reduction.operand);
      all += isa<ArgReduceOp>(reduction.op) ? costs.find : 1;
    }
    all += points.instructions;
  }
  return all;
}

double fusec::countInstructions(const OpCosts &costs,
                                const RowIteration &iteration) {
  double all = countFinding(costs, iteration);
  Points points{costs, iteration.program, {}};
  for (const RegionStore &store : getFullStores(iteration)) {
    points.add(store.node);
    all += getElementBytes(iteration.program[store.node].type) < 4;
  }
  return all + points.instructions;
}

int64_t fusec::getWidestElement(const ScalarProgram &program) {
  int64_t widest = 1;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Load && program.varies(n, 1))
      widest = std::max(widest, getElementBytes(program[n].type));
  return widest;
}
