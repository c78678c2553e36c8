// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/SizeAgreement.h"
#include "ir/ExprArithmetic.h"

using namespace mlir;

namespace fusec::onnx {

constexpr unsigned maxExprNodes = 512;

unsigned countNodes(Expr expr) { return fusec::countNodes(expr, maxExprNodes); }
bool isTooLarge(Expr expr) { return countNodes(expr) > maxExprNodes; }
size_t countTerms(Expr expr) {
  return expr.getKind() == ExprKind::Add ? expr.getOperands().size() : 1;
}

/// Something not above a positive multiple of `sum`, with one division by a
/// number less; nothing where it has none.
static std::optional<Expr> boundByDividend(Expr sum) {
  for (Expr term : getTerms(sum)) {
    auto [coefficient, factor] = splitCoefficient(term);
    if (factor.getKind() != ExprKind::FloorDiv)
      continue;
    Expr dividend = factor.getOperands()[0];
    auto divisor = factor.getOperands()[1].getConstant();
    if (!divisor || *divisor <= 0 || *divisor > INT32_MAX)
      continue;
    // x - (c - 1) <= c * (x floordiv c) <= x
    Expr bound = coefficient < 0 ? dividend : dividend - (*divisor - 1);
    return (sum - term) * *divisor + bound * coefficient;
  }
  return std::nullopt;
}

bool isProvedNonNegative(Expr expr) {
  std::optional<Expr> rest = expr;
  for (int step = 0; rest && step < 4; ++step) {
    auto lower = ExprRanges({}).lowerBound(*rest);
    if (lower && *lower >= 0)
      return true;
    rest = boundByDividend(*rest);
  }
  return false;
}

bool hasSmallProduct(ArrayRef<Expr> sizes) {
  size_t terms = 1;
  for (Expr size : sizes) {
    if (isTooLarge(size))
      return false;
    terms *= countTerms(size);
    if (terms > maxTerms)
      return false;
  }
  return true;
}

Expr SizeAgreement::resolve(Expr name) const {
  SmallVector<Expr *> passed;
  while (name.getKind() == ExprKind::Symbol) {
    auto it = replacements.find(name.getName());
    if (it == replacements.end())
      break;
    passed.push_back(&it->second);
    name = it->second;
  }
  // The next look-up is one step.
  for (Expr *step : passed)
    *step = name;
  return name;
}

Expr SizeAgreement::apply(Expr size) const {
  return size.replace([&](Expr leaf) {
    return leaf.getKind() == ExprKind::Symbol ? resolve(leaf) : leaf;
  });
}

bool SizeAgreement::replace(Expr name, Expr by) {
  if (frozen || name.getKind() != ExprKind::Symbol ||
      (by.getKind() != ExprKind::Symbol && !by.isConstant()))
    return false;
  // Another use in this pass may have replaced either already.
  name = apply(name);
  by = apply(by);
  if (name == by)
    return true;
  if (name.getKind() != ExprKind::Symbol)
    std::swap(name, by);
  if (name.getKind() != ExprKind::Symbol)
    return false;
  replacements[name.getName()] = by;
  return true;
}

std::optional<Expr> SizeAgreement::agree(Expr a, Expr b, const Twine &reason) {
  if (a == b)
    return a;
  ExprRanges ranges({});
  Expr difference = a - b;
  auto lower = ranges.lowerBound(difference),
       upper = ranges.upperBound(difference);
  if ((lower && *lower > 0) || (upper && *upper < 0))
    return std::nullopt;
  // c * name = c * k is name = k.
  auto [ca, ra] = splitCoefficient(a);
  auto [cb, rb] = splitCoefficient(b);
  Expr left = a, right = b;
  if (ra.getKind() == ExprKind::Symbol && !b.isConstant() && ca == cb)
    left = ra, right = rb;
  else if (ra.getKind() == ExprKind::Symbol && b.isConstant() &&
           isMultiple(b.getValue(), ca))
    left = ra,
    right = Expr::constant(a.getContext(), floorDivide(b.getValue(), ca));
  else if (rb.getKind() == ExprKind::Symbol && a.isConstant() &&
           isMultiple(a.getValue(), cb))
    left = rb,
    right = Expr::constant(a.getContext(), floorDivide(a.getValue(), cb));
  // The name met last is replaced, which is mostly the right operand's.
  bool replaced = left.isConstant() || right.isConstant()
                      ? replace(left.isConstant() ? right : left,
                                left.isConstant() ? left : right)
                      : replace(right, left);
  if (!replaced) {
    auto constraint = ConstraintAttr::get(a.getContext(), a, b, reason.str());
    if (known.insert({a.getAttr(), b.getAttr()}).second)
      constraints.push_back(constraint);
  }
  return b.isConstant() ? b : a;
}

} // namespace fusec::onnx
