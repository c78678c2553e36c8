// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Printing, resolving and evaluating size expressions.

#include "runtime/format/Expr.h"

#include <algorithm>

namespace fusec::format {

namespace {
constexpr struct {
  Expr::Op op;
  const char *name;
} opNames[] = {{Expr::Op::Add, "+"},           {Expr::Op::Sub, "-"},
               {Expr::Op::Mul, "*"},           {Expr::Op::FloorDiv, "floordiv"},
               {Expr::Op::CeilDiv, "ceildiv"}, {Expr::Op::Mod, "mod"},
               {Expr::Op::Min, "min"},         {Expr::Op::Max, "max"}};

// Rounds towards minus infinity; the divisor is positive.
int64_t floorDivide(int64_t lhs, int64_t rhs) {
  return lhs / rhs - (lhs % rhs < 0 ? 1 : 0);
}

std::optional<int64_t> apply(Expr::Op op, int64_t lhs, int64_t rhs) {
  int64_t result = 0;
  switch (op) {
  case Expr::Op::Add:
    if (__builtin_add_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Expr::Op::Sub:
    if (__builtin_sub_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Expr::Op::Mul:
    if (__builtin_mul_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Expr::Op::Min:
    return std::min(lhs, rhs);
  case Expr::Op::Max:
    return std::max(lhs, rhs);
  default:
    break;
  }
  if (rhs <= 0)
    return std::nullopt;
  if (op == Expr::Op::FloorDiv)
    return floorDivide(lhs, rhs);
  if (op == Expr::Op::CeilDiv)
    return lhs / rhs + (lhs % rhs > 0 ? 1 : 0);
  return lhs % rhs < 0 ? lhs % rhs + rhs : lhs % rhs;
}

bool isInfix(Expr::Op op) {
  return op == Expr::Op::Add || op == Expr::Op::Sub || op == Expr::Op::Mul;
}
} // namespace

Expr Expr::dim(std::string name) {
  Expr expr;
  expr.op = Op::Dim;
  expr.value = -1;
  expr.dimName = std::move(name);
  return expr;
}

Expr Expr::make(Op op, std::vector<Expr> operands) {
  Expr expr;
  expr.op = op;
  expr.operands = std::move(operands);
  return expr;
}

Expr Expr::add(Expr lhs, Expr rhs) {
  return make(Op::Add, {std::move(lhs), std::move(rhs)});
}
Expr Expr::mul(Expr lhs, Expr rhs) {
  return make(Op::Mul, {std::move(lhs), std::move(rhs)});
}

const char *exprOpName(Expr::Op op) {
  for (const auto &row : opNames)
    if (row.op == op)
      return row.name;
  return nullptr;
}

std::optional<Expr::Op> parseExprOp(const std::string &name) {
  for (const auto &row : opNames)
    if (name == row.name)
      return row.op;
  return std::nullopt;
}

std::string toString(const Expr &expr) {
  if (expr.op == Expr::Op::Constant)
    return std::to_string(expr.value);
  if (expr.op == Expr::Op::Dim)
    return expr.dimName;
  bool infix = isInfix(expr.op);
  std::string separator =
      infix ? std::string(" ") + exprOpName(expr.op) + " " : ", ";
  std::string text;
  for (const Expr &operand : expr.operands) {
    if (!text.empty())
      text += separator;
    bool parens = infix && isInfix(operand.op) && operand.operands.size() > 1;
    text += parens ? "(" + toString(operand) + ")" : toString(operand);
  }
  return infix ? text : exprOpName(expr.op) + ("(" + text + ")");
}

bool resolveDims(Expr &expr, const std::vector<std::string> &dims,
                 std::string &unknown) {
  if (expr.op == Expr::Op::Dim) {
    auto found = std::lower_bound(dims.begin(), dims.end(), expr.dimName);
    if (found == dims.end() || *found != expr.dimName) {
      unknown = expr.dimName;
      return false;
    }
    expr.value = found - dims.begin();
  }
  for (Expr &operand : expr.operands)
    if (!resolveDims(operand, dims, unknown))
      return false;
  return true;
}

std::optional<int64_t> evaluate(const Expr &expr, const int64_t *dims) {
  if (expr.op == Expr::Op::Constant)
    return expr.value;
  if (expr.op == Expr::Op::Dim)
    return expr.value < 0 ? std::nullopt
                          : std::optional<int64_t>(dims[expr.value]);
  std::optional<int64_t> result;
  for (const Expr &operand : expr.operands) {
    std::optional<int64_t> next = evaluate(operand, dims);
    if (!next)
      return std::nullopt;
    result = result ? apply(expr.op, *result, *next) : next;
    if (!result)
      return std::nullopt;
  }
  return result;
}

} // namespace fusec::format
