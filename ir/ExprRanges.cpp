// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What follows from 0 <= Dim i < size i: bounds, comparisons, and divisions
// that they decide.

#include "ir/ExprArithmetic.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fusec {

namespace {
struct Interval {
  std::optional<int64_t> lower, upper;
};
} // namespace

static Interval getInterval(Expr expr, ArrayRef<Expr> sizes) {
  switch (expr.getKind()) {
  case ExprKind::Constant:
    return {expr.getValue(), expr.getValue()};
  case ExprKind::Symbol:
    return {0, std::nullopt};
  case ExprKind::Dim: {
    if (expr.getIndex() >= sizes.size())
      return {0, std::nullopt};
    auto size = getInterval(sizes[expr.getIndex()], {}).upper;
    return {0, size ? std::optional<int64_t>(saturatingAdd(*size, -1))
                    : std::nullopt};
  }
  case ExprKind::Indirect:
    return {};
  default:
    break;
  }
  SmallVector<Interval> operands;
  for (Expr operand : expr.getOperands())
    operands.push_back(getInterval(operand, sizes));
  Interval result = operands[0];
  for (const Interval &next : llvm::drop_begin(operands)) {
    Interval old = result;
    result = {};
    switch (expr.getKind()) {
    case ExprKind::Add:
      if (old.lower && next.lower)
        result.lower = saturatingAdd(*old.lower, *next.lower);
      if (old.upper && next.upper)
        result.upper = saturatingAdd(*old.upper, *next.upper);
      break;
    case ExprKind::Mul: {
      // Only factors of known sign; the constant, if any, comes first.
      bool oldFixed = old.lower && old.upper && *old.lower == *old.upper;
      bool nextPositive = next.lower && *next.lower >= 0;
      if (oldFixed && *old.lower < 0 && nextPositive) {
        if (next.upper)
          result.lower = saturatingMul(*old.lower, *next.upper);
        result.upper = saturatingMul(*old.lower, *next.lower);
      } else if (old.lower && *old.lower >= 0 && nextPositive) {
        result.lower = saturatingMul(*old.lower, *next.lower);
        if (old.upper && next.upper)
          result.upper = saturatingMul(*old.upper, *next.upper);
      }
      break;
    }
    case ExprKind::FloorDiv:
      if (next.lower && next.upper && *next.lower == *next.upper &&
          *next.lower > 0) {
        if (old.lower)
          result.lower = floorDivide(*old.lower, *next.lower);
        if (old.upper)
          result.upper = floorDivide(*old.upper, *next.lower);
      } else if (old.lower && *old.lower >= 0 && next.lower &&
                 *next.lower >= 0) {
        result = {0, old.upper};
      }
      break;
    case ExprKind::Min:
      if (old.lower && next.lower)
        result.lower = std::min(*old.lower, *next.lower);
      result.upper = !old.upper    ? next.upper
                     : !next.upper ? old.upper
                                   : std::min(*old.upper, *next.upper);
      break;
    default:
      if (old.upper && next.upper)
        result.upper = std::max(*old.upper, *next.upper);
      result.lower = !old.lower    ? next.lower
                     : !next.lower ? old.lower
                                   : std::max(*old.lower, *next.lower);
      break;
    }
  }
  return result;
}

std::optional<int64_t> ExprRanges::lowerBound(Expr expr) const {
  return getInterval(expr, sizes).lower;
}
std::optional<int64_t> ExprRanges::upperBound(Expr expr) const {
  return getInterval(expr, sizes).upper;
}
bool ExprRanges::isNonNegative(Expr expr) const {
  auto lower = lowerBound(expr);
  return lower && *lower >= 0;
}

/// An expression at least as large without dims: each dim at the end of its
/// range that its sign asks for.
Expr ExprRanges::largest(Expr expr) const {
  Expr result = Expr::constant(expr.getContext(), 0);
  for (Expr term : getTerms(expr)) {
    auto [coefficient, rest] = splitCoefficient(term);
    Expr zero = Expr::constant(expr.getContext(), 0);
    bool negative = coefficient < 0;
    result = result + term.replace([&](Expr leaf) {
      if (leaf.getKind() != ExprKind::Dim || leaf.getIndex() >= sizes.size())
        return leaf;
      return negative ? zero : sizes[leaf.getIndex()] - 1;
    });
  }
  return result;
}

bool ExprRanges::isLess(Expr a, Expr b) const {
  Expr difference = a - b;
  auto upper = upperBound(difference);
  if (upper && *upper < 0)
    return true;
  bool monotone = true; // replacing a dim inside a division is not sound
  for (Expr term : getTerms(difference))
    for (Expr factor : getFactors(splitCoefficient(term).second))
      monotone &= factor.getOperands().empty() &&
                  factor.getKind() != ExprKind::Indirect;
  if (!monotone)
    return false;
  return llvm::all_of(getTerms(largest(difference) + 1), [](Expr term) {
    return splitCoefficient(term).first <= 0;
  });
}

Expr ExprRanges::simplify(Expr expr) const {
  if (expr.getOperands().empty()) {
    // The only value of a dim of size one.
    if (expr.getKind() == ExprKind::Dim && expr.getIndex() < sizes.size() &&
        sizes[expr.getIndex()].isConstant(1))
      return Expr::constant(expr.getContext(), 0);
    return expr;
  }
  SmallVector<Expr> operands;
  for (Expr operand : expr.getOperands())
    operands.push_back(simplify(operand));
  Expr a = operands[0];
  if (expr.getKind() != ExprKind::FloorDiv) {
    for (Expr b : llvm::drop_begin(operands)) {
      switch (expr.getKind()) {
      case ExprKind::Add:
        a = a + b;
        break;
      case ExprKind::Mul:
        a = a * b;
        break;
      case ExprKind::Min:
        a = isLess(a, b) ? a : isLess(b, a) ? b : Expr::min(a, b);
        break;
      default:
        a = isLess(a, b) ? b : isLess(b, a) ? a : Expr::max(a, b);
        break;
      }
    }
    return a;
  }

  Expr divided = a.floorDiv(operands[1]);
  if (divided.getKind() != ExprKind::FloorDiv) {
    // What became whole may leave a smaller division behind.
    return divided == expr ? divided
           : divided.getKind() == ExprKind::Add ||
                   divided.getKind() == ExprKind::Mul
               ? simplify(divided)
               : divided;
  }
  Expr numerator = divided.getOperands()[0], divisor = divided.getOperands()[1];
  if (isNonNegative(numerator) && isLess(numerator, divisor))
    return Expr::constant(expr.getContext(), 0);
  // Terms that cannot carry into the next multiple of g are dropped.
  if (auto constant = divisor.getConstant(); constant && *constant > 1) {
    for (Expr pivot : getTerms(numerator)) {
      int64_t g = getCommonDivisor(*constant, splitCoefficient(pivot).first);
      if (g <= 1)
        continue;
      SmallVector<Expr> kept, dropped;
      for (Expr term : getTerms(numerator))
        (splitCoefficient(term).first % g == 0 ? kept : dropped)
            .push_back(term);
      if (dropped.empty())
        continue;
      Expr rest = makeSum(expr.getContext(), dropped);
      auto lower = lowerBound(rest), upper = upperBound(rest);
      if (lower && upper && *lower >= 0 && *upper < g)
        return simplify(makeSum(expr.getContext(), kept).floorDiv(divisor));
    }
  }
  return divided;
}

} // namespace fusec
