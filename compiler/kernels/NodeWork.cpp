// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/NodeWork.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

static double getOpInstructions(const OpCosts &costs, Operation *op) {
  return TypeSwitch<Operation *, double>(op)
      // Between numbers that are computed in one type.
      .Case<CastOp>([](auto) { return 0.0; })
      .Case<DivOp, ExpOp, ReciprocalOp, SqrtOp, RsqrtOp>(
          [&](auto) { return costs.special; })
      .Case<Expm1Op, LogOp, Log1pOp, SinOp, CosOp>(
          [&](auto) { return costs.logarithm; })
      .Case<SigmoidOp, SiluOp, SoftplusOp, TanhOp>(
          [&](auto) { return costs.sigmoid; })
      .Case<ErfOp, GeluOp, GeluTanhOp>([&](auto) { return costs.erf; })
      .Case<PowOp, ModOp, RemainderOp>([&](auto) { return costs.power; })
      .Default([](auto) { return 1.0; });
}

double fusec::getInstructions(const OpCosts &costs, const ScalarNode &node) {
  switch (node.kind) {
  case Kind::Compute:
    return getOpInstructions(costs, node.op);
  case Kind::Load: // of what is computed in a wider type
    return getElementBytes(node.type) < 4 ? 1 : 0;
  case Kind::Index:
  case Kind::Piecewise:
    return 1;
  case Kind::GatherRow:
  case Kind::Gather:
  case Kind::Lookup:
    return costs.gather;
  case Kind::Root:
  case Kind::Splat:
    return 0;
  }
  return 0;
}
