// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/NodeWork.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// A special function takes the place of eight instructions in its unit, and
/// some more around it.
static double getOpInstructions(Operation *op) {
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

double fusec::getInstructions(const ScalarNode &node) {
  switch (node.kind) {
  case Kind::Compute:
    return getOpInstructions(node.op);
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
