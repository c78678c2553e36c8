// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/TypicalSizes.h"

using namespace fusec;

static int64_t getValue(Expr expr, int64_t dim) {
  return expr.evaluate([&](Expr) { return std::optional<int64_t>(dim); })
      .value_or(INT64_MAX);
}

int64_t fusec::getTypicalValue(Expr expr) { return getValue(expr, typicalDim); }

static bool hasSeveralSymbols(Expr expr) {
  Expr first;
  bool several = false;
  expr.walkLeaves([&](Expr leaf) {
    several |= first && leaf != first;
    first = leaf;
  });
  return several;
}

/// The expression with one symbol left of those that are multiplied, the first
/// of the highest power.
static Expr shareProducts(Expr expr) {
  llvm::ArrayRef<Expr> operands = expr.getOperands();
  if (operands.empty())
    return expr;
  if (expr.getKind() == ExprKind::Mul) {
    Expr product = Expr::constant(expr.getContext(), 1), run, highest;
    int64_t power = 0, highestPower = 0;
    for (Expr operand : operands) {
      if (operand.getKind() != ExprKind::Symbol) {
        product = product * shareProducts(operand);
        continue;
      }
      // Equal factors stand together.
      power = operand == run ? power + 1 : 1;
      run = operand;
      if (power > highestPower) {
        highest = operand;
        highestPower = power;
      }
    }
    for (; highestPower > 0; --highestPower)
      product = product * highest;
    return product;
  }
  Expr result = shareProducts(operands.front());
  for (Expr operand : operands.drop_front()) {
    Expr shared = shareProducts(operand);
    switch (expr.getKind()) {
    case ExprKind::Add:
      result = result + shared;
      break;
    case ExprKind::FloorDiv:
      result = result.floorDiv(shared);
      break;
    case ExprKind::Min:
      result = Expr::min(result, shared);
      break;
    default:
      result = Expr::max(result, shared);
      break;
    }
  }
  return result;
}

int64_t fusec::getSampledValue(Expr expr, int64_t dim) {
  return getValue(hasSeveralSymbols(expr) ? shareProducts(expr) : expr, dim);
}
