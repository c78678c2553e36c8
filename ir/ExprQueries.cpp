// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression's value, what it consists of, and others in its leaves' places.

#include "ir/ExprArithmetic.h"
#include "ir/FusecAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fusec {

std::optional<int64_t>
Expr::evaluate(llvm::function_ref<std::optional<int64_t>(Expr)> bind) const {
  switch (getKind()) {
  case ExprKind::Constant:
    return getValue();
  case ExprKind::Symbol:
  case ExprKind::Dim:
  case ExprKind::Indirect:
    return bind(*this);
  default:
    break;
  }
  std::optional<int64_t> result;
  for (Expr operand : getOperands()) {
    auto value = operand.evaluate(bind);
    if (!value)
      return std::nullopt;
    if (!result) {
      result = value;
      continue;
    }
    int64_t next = 0;
    bool overflow = false;
    switch (getKind()) {
    case ExprKind::Add:
      overflow = llvm::AddOverflow(*result, *value, next);
      break;
    case ExprKind::Mul:
      overflow = llvm::MulOverflow(*result, *value, next);
      break;
    case ExprKind::FloorDiv:
      overflow = *value == 0 || (*value == -1 && *result == INT64_MIN);
      if (!overflow)
        next = floorDivide(*result, *value);
      break;
    case ExprKind::Min:
      next = std::min(*result, *value);
      break;
    default:
      next = std::max(*result, *value);
      break;
    }
    if (overflow)
      return std::nullopt;
    result = next;
  }
  return result;
}

Expr Expr::replace(llvm::function_ref<Expr(Expr)> replacement) const {
  switch (getKind()) {
  case ExprKind::Constant:
    return *this;
  case ExprKind::Symbol:
  case ExprKind::Dim:
  case ExprKind::Indirect:
    return replacement(*this);
  default:
    break;
  }
  Expr result;
  for (Expr operand : getOperands()) {
    Expr value = operand.replace(replacement);
    if (!result) {
      result = value;
      continue;
    }
    switch (getKind()) {
    case ExprKind::Add:
      result = result + value;
      break;
    case ExprKind::Mul:
      result = result * value;
      break;
    case ExprKind::FloorDiv:
      result = result.floorDiv(value);
      break;
    case ExprKind::Min:
      result = min(result, value);
      break;
    default:
      result = max(result, value);
      break;
    }
  }
  return result;
}

Expr Expr::replaceDims(ArrayRef<Expr> values) const {
  return replace([&](Expr leaf) {
    if (leaf.getKind() == ExprKind::Dim && leaf.getIndex() < values.size())
      return values[leaf.getIndex()];
    return leaf;
  });
}

void Expr::walkLeaves(llvm::function_ref<void(Expr)> callback) const {
  if (isConstant())
    return;
  if (getOperands().empty())
    return callback(*this);
  for (Expr operand : getOperands())
    operand.walkLeaves(callback);
}

llvm::hash_code hash_value(Expr expr) {
  return mlir::hash_value(mlir::Attribute(expr.getAttr()));
}

static unsigned countNodesBelow(Expr expr, unsigned depth, unsigned limit) {
  if (depth > maxExprDepth)
    return limit + 1;
  unsigned count = 1;
  for (Expr operand : expr.getOperands()) {
    count +=
        countNodesBelow(operand, depth + 1, limit - std::min(limit, count));
    if (count > limit)
      break;
  }
  return count;
}
unsigned countNodes(Expr expr, unsigned limit) {
  return countNodesBelow(expr, 1, limit);
}

} // namespace fusec
