// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Emitters.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

std::string fusec::getCombiner(Operation *op) {
  std::string type = computeType(getElementType(op->getOperand(0)));
  if (auto arg = dyn_cast<ArgReduceOp>(op))
    return fmt::format("fusec::Arg{}<{}{}>",
                       arg.getKind() == ArgKind::Max ? "Max" : "Min", type,
                       arg.getLast() ? ", true" : "");
  switch (cast<ReduceOp>(op).getKind()) {
  case ReduceKind::Sum:
    return fmt::format("fusec::Sum<{}>", type);
  case ReduceKind::Prod:
    return fmt::format("fusec::Product<{}>", type);
  case ReduceKind::Max:
    return fmt::format("fusec::Max<{}>", type);
  case ReduceKind::Min:
    return fmt::format("fusec::Min<{}>", type);
  }
  return "";
}

std::string fusec::getReducedValue(Operation *op, StringRef name) {
  return isa<ArgReduceOp>(op) ? (name + ".index").str() : name.str();
}
