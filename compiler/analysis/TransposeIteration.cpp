// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/TransposeIteration.h"
#include "compiler/analysis/VectorAccesses.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

Expr TransposeIteration::getBatch() const {
  Expr batch = Expr::constant(points.program.getContext(), 1);
  for (auto [dim, size] : llvm::enumerate(points.program.getSizes()))
    if (dim != along && dim != across())
      batch = batch * size;
  return batch;
}

/// Loads that every point needs.
static SmallVector<unsigned> getCertainLoads(const ScalarProgram &program,
                                             ArrayRef<RegionStore> stores) {
  std::vector<bool> seen(program.size());
  SmallVector<unsigned> loads, open;
  for (const RegionStore &store : stores)
    open.push_back(store.node);
  while (!open.empty()) {
    unsigned node = open.pop_back_val();
    if (seen[node])
      continue;
    seen[node] = true;
    if (program[node].kind == Kind::Load)
      loads.push_back(node);
    else if (program[node].kind == Kind::Compute)
      llvm::append_range(open, program[node].operands);
  }
  llvm::sort(loads);
  return loads;
}

static bool liesAlong(Expr offset, unsigned dim) {
  auto coefficient = getDimCoefficient(offset, dim);
  return coefficient && coefficient->isConstant(1);
}

FailureOr<TransposeIteration> fusec::analyzeTranspose(StepOp step) {
  FailureOr<PointwiseIteration> points = analyzePointwise(step);
  if (failed(points) || points->program.getSizes().size() < 2)
    return failure();
  const ScalarProgram &program = points->program;
  unsigned rank = program.getSizes().size(), across = rank - 1;
  if (!llvm::all_of(points->stores, [&](const RegionStore &store) {
        return liesAlong(store.offset, across);
      }))
    return failure();

  // The dim along which most bytes lie.
  SmallVector<SmallVector<unsigned>> loads(across);
  SmallVector<int64_t> bytes(across);
  for (unsigned node : getCertainLoads(program, points->stores)) {
    Expr offset = getLoadOffset(step, program, node);
    // What does not vary along a dim is read again and again, from a cache.
    bool readsOnce = true;
    for (unsigned dim = 0; dim < rank; ++dim)
      readsOnce &= usesDim(offset, dim);
    if (!readsOnce || usesIndirect(offset) || liesAlong(offset, across))
      continue;
    for (unsigned dim = 0; dim < across; ++dim)
      if (liesAlong(offset, dim)) {
        loads[dim].push_back(node);
        bytes[dim] += getElementBytes(program[node].type);
      }
  }
  unsigned along = llvm::max_element(bytes) - bytes.begin();
  if (loads[along].empty())
    return failure();
  if (loads[along].size() > mostTransposeTiles)
    loads[along].truncate(mostTransposeTiles);
  return TransposeIteration{std::move(*points), along, loads[along]};
}
