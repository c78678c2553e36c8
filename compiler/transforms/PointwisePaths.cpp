// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/PointwisePaths.h"
#include "ir/FusecOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

/// How many pointwise ops may lie behind a product.
constexpr unsigned maxChain = 32;

bool fusec::isPointwise(Operation *op) {
  auto indexed = dyn_cast_if_present<IndexedOpInterface>(op);
  return indexed && indexed.getFusionKind() == FusionKind::Pointwise;
}

static bool isFromProduct(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (isa_and_present<ContractionOp, MatmulOp>(op))
    return true;
  return isPointwise(op) && depth < maxChain &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isFromProduct(operand, depth + 1);
         });
}

bool fusec::isFromProduct(Value value) { return ::isFromProduct(value, 0); }

/// The ops that results reach through pointwise ops and expands alone.
static llvm::SetVector<Operation *> collectPointwiseUsers(Operation *op) {
  llvm::SetVector<Operation *> reached;
  auto push = [&](Operation *from) {
    for (Operation *user : from->getUsers())
      if (isPointwise(user) || isa<ExpandOp>(user))
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
