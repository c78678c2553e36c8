// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Emitters.h"

using namespace mlir;
using namespace fusec;

std::string fusec::getCombiner(Operation *op) {
  std::string type = computeType(getElementType(op->getOperand(0)));
  if (auto arg = dyn_cast<ArgReduceOp>(op))
    return std::string(arg.getKind() == ArgKind::Max ? "fusec::ArgMax<"
                                                     : "fusec::ArgMin<") +
           type + (arg.getLast() ? ", true>" : ">");
  switch (cast<ReduceOp>(op).getKind()) {
  case ReduceKind::Sum:
    return "fusec::Sum<" + type + ">";
  case ReduceKind::Prod:
    return "fusec::Product<" + type + ">";
  case ReduceKind::Max:
    return "fusec::Max<" + type + ">";
  case ReduceKind::Min:
    return "fusec::Min<" + type + ">";
  }
  return "";
}

std::string fusec::getReducedValue(Operation *op, StringRef name) {
  return isa<ArgReduceOp>(op) ? (name + ".index").str() : name.str();
}
