// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/PointwisePaths.h"
#include "ir/FusecOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

/// How many values behind one are looked at for a product.
constexpr size_t mostValues = 128;

bool fusec::isPointwise(Operation *op) {
  auto indexed = dyn_cast_if_present<IndexedOpInterface>(op);
  return indexed && indexed.getFusionKind() == FusionKind::Pointwise;
}

bool fusec::isFromProduct(Value value) {
  // Each value once: chains whose ops use a value twice have as many paths as
  // powers of two.
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size() && i < mostValues; ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (isa_and_present<ContractionOp, MatmulOp>(op))
      return true;
    if (isPointwise(op))
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

static bool isOnPath(Operation *op) {
  return isPointwise(op) || isa<ExpandOp>(op);
}

/// The ops that results reach through pointwise ops and expands alone.
static llvm::SetVector<Operation *> collectPointwiseUsers(Operation *op) {
  llvm::SetVector<Operation *> reached;
  auto push = [&](Operation *from) {
    for (Operation *user : from->getUsers())
      if (isOnPath(user))
        reached.insert(user);
  };
  push(op);
  for (size_t i = 0; i < reached.size(); ++i)
    push(reached[i]);
  return reached;
}

bool fusec::meetThroughPointwise(Operation *a, Operation *b) {
  auto fromA = collectPointwiseUsers(a), fromB = collectPointwiseUsers(b);
  return llvm::any_of(fromB, [&](Operation *op) { return fromA.contains(op); });
}

llvm::EquivalenceClasses<Operation *>
fusec::classifyByPointwiseUsers(Block &block) {
  llvm::EquivalenceClasses<Operation *> classes;
  for (Operation &op : block) {
    classes.insert(&op);
    for (Operation *user : op.getUsers())
      if (isOnPath(user))
        classes.unionSets(&op, user);
  }
  return classes;
}
