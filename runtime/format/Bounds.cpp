// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/Bounds.h"

#include <algorithm>

namespace fusec::format {

namespace {
// Holds every product of 64-bit numbers.
using Wide = __int128;

// Of values between these, those of 64 bits.
std::optional<Bounds> cut(Wide least, Wide most) {
  if (least > INT64_MAX || most < INT64_MIN)
    return std::nullopt;
  return Bounds{int64_t(std::max<Wide>(least, INT64_MIN)),
                int64_t(std::min<Wide>(most, INT64_MAX))};
}

// Of an operation that has its extremes where its operands have theirs.
template <typename Apply>
std::optional<Bounds> atCorners(Bounds lhs, Bounds rhs, Apply apply) {
  Wide values[] = {apply(lhs.least, rhs.least), apply(lhs.least, rhs.most),
                   apply(lhs.most, rhs.least), apply(lhs.most, rhs.most)};
  auto [least, most] =
      std::minmax_element(std::begin(values), std::end(values));
  return cut(*least, *most);
}

std::optional<Bounds> apply(Expr::Op op, Bounds lhs, Bounds rhs) {
  switch (op) {
  case Expr::Op::Add:
    return cut(Wide(lhs.least) + rhs.least, Wide(lhs.most) + rhs.most);
  case Expr::Op::Sub:
    return cut(Wide(lhs.least) - rhs.most, Wide(lhs.most) - rhs.least);
  case Expr::Op::Mul:
    return atCorners(lhs, rhs, [](Wide a, Wide b) { return a * b; });
  case Expr::Op::Min:
    return Bounds{std::min(lhs.least, rhs.least), std::min(lhs.most, rhs.most)};
  case Expr::Op::Max:
    return Bounds{std::max(lhs.least, rhs.least), std::max(lhs.most, rhs.most)};
  default:
    break;
  }
  // By what is not positive nothing is divided.
  if (rhs.most < 1)
    return std::nullopt;
  rhs.least = std::max<int64_t>(rhs.least, 1);
  if (op == Expr::Op::FloorDiv)
    return atCorners(
        lhs, rhs, [](Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); });
  if (op == Expr::Op::CeilDiv)
    return atCorners(
        lhs, rhs, [](Wide a, Wide b) { return a / b + (a % b > 0 ? 1 : 0); });
  return Bounds{0, rhs.most - 1};
}
} // namespace

std::optional<Bounds> findBounds(const Expr &expr) {
  if (expr.op == Expr::Op::Constant)
    return Bounds{expr.value, expr.value};
  if (expr.op == Expr::Op::Dim)
    return Bounds{0, INT64_MAX};
  std::optional<Bounds> result;
  for (const Expr &operand : expr.operands) {
    std::optional<Bounds> next = findBounds(operand);
    if (!next)
      return std::nullopt;
    result = result ? apply(expr.op, *result, *next) : next;
    if (!result)
      return std::nullopt;
  }
  return result;
}

} // namespace fusec::format
