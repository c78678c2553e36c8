// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread does for an item of a row, in instructions: what decides where
// memory does not, as of GELU below a mean.

#include "compiler/kernels/reduce/Reduce.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// A special function takes the place of eight instructions in its unit, and
/// some more around it.
static double getInstructions(Operation *op) {
  return TypeSwitch<Operation *, double>(op)
      // Between numbers that are computed in one type.
      .Case<CastOp>([](auto) { return 0; })
      .Case<DivOp, ExpOp, ReciprocalOp, SqrtOp, RsqrtOp>(
          [](auto) { return 10; })
      .Case<Expm1Op, LogOp, Log1pOp, SinOp, CosOp>([](auto) { return 12; })
      .Case<SigmoidOp, SiluOp, SoftplusOp, TanhOp>([](auto) { return 18; })
      .Case<ErfOp, GeluOp, GeluTanhOp>([](auto) { return 26; })
      .Case<PowOp, ModOp, RemainderOp>([](auto) { return 60; })
      .Default([](auto) { return 1; });
}

static double getInstructions(const ScalarNode &node) {
  switch (node.kind) {
  case Kind::Compute:
    return getInstructions(node.op);
  case Kind::Load: // of what is computed in a wider type
    return getElementBytes(node.type) < 4 ? 1 : 0;
  case Kind::Index:
  case Kind::Piecewise:
    return 1;
  case Kind::GatherRow:
  case Kind::Gather:
  case Kind::Lookup:
    return 4;
  case Kind::Root:
  case Kind::Splat:
    return 0;
  }
  return 0;
}

namespace {
/// Of what is computed at each point of a row.
struct Points {
  const ScalarProgram &program;
  llvm::SmallDenseSet<unsigned> seen;
  double instructions = 0;

  void add(unsigned node) {
    SmallVector<unsigned> open = {node};
    while (!open.empty()) {
      unsigned next = open.pop_back_val();
      if (!program.varies(next, 1) || !seen.insert(next).second)
        continue;
      instructions += getInstructions(program[next]);
      llvm::append_range(open, program[next].operands);
      llvm::append_range(open, program[next].rows);
    }
  }
};
} // namespace

double fusec::countInstructions(const RowIteration &iteration) {
  constexpr double ofFind = 5;
  double all = 0;
  for (ArrayRef<RowReduction> pass : getPasses(iteration)) {
    Points points{iteration.program, {}};
    for (const RowReduction &reduction : pass) {
      points.add(reduction.operand);
      all += isa<ArgReduceOp>(reduction.op) ? ofFind : 1;
    }
    all += points.instructions;
  }
  Points points{iteration.program, {}};
  for (const RegionStore &store : getFullStores(iteration)) {
    points.add(store.node);
    all += getElementBytes(iteration.program[store.node].type) < 4;
  }
  return all + points.instructions;
}
