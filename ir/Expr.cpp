// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making expressions, in the one form that equal ones have.

#include "ir/ExprArithmetic.h"
#include "ir/FusecAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fusec {

Expr::Expr(ExprAttr attr) : impl(attr) {}
ExprAttr Expr::getAttr() const { return cast<ExprAttr>(impl); }
MLIRContext *Expr::getContext() const { return impl.getContext(); }
ExprKind Expr::getKind() const { return getAttr().getKind(); }
int64_t Expr::getValue() const { return getAttr().getValue(); }
unsigned Expr::getIndex() const { return getAttr().getValue(); }
StringRef Expr::getName() const { return getAttr().getName(); }
ArrayRef<Expr> Expr::getOperands() const { return getAttr().getOperands(); }
bool Expr::isConstant(int64_t value) const {
  return isConstant() && getValue() == value;
}
std::optional<int64_t> Expr::getConstant() const {
  if (isConstant())
    return getValue();
  return std::nullopt;
}

static Expr make(MLIRContext *context, ExprKind kind, int64_t value,
                 StringRef name = "", ArrayRef<Expr> operands = {}) {
  return ExprAttr::get(context, kind, value, name, operands);
}

Expr Expr::constant(MLIRContext *context, int64_t value) {
  return make(context, ExprKind::Constant, value);
}
Expr Expr::symbol(MLIRContext *context, StringRef name) {
  return make(context, ExprKind::Symbol, 0, name);
}
Expr Expr::dim(MLIRContext *context, unsigned index) {
  return make(context, ExprKind::Dim, index);
}
Expr Expr::indirect(MLIRContext *context, unsigned index) {
  return make(context, ExprKind::Indirect, index);
}

int Expr::compare(Expr a, Expr b) {
  if (a == b)
    return 0;
  auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (int c = order(a.getKind(), b.getKind()))
    return c;
  if (int c = order(a.getValue(), b.getValue()))
    return c;
  if (int c = a.getName().compare(b.getName()))
    return c;
  if (int c = order(a.getOperands().size(), b.getOperands().size()))
    return c;
  for (auto [x, y] : llvm::zip_equal(a.getOperands(), b.getOperands()))
    if (int c = compare(x, y))
      return c;
  return 0;
}
static bool isBefore(Expr a, Expr b) { return Expr::compare(a, b) < 0; }

SmallVector<Expr> getTerms(Expr expr) {
  if (expr.getKind() == ExprKind::Add)
    return llvm::to_vector(expr.getOperands());
  if (expr.isConstant(0))
    return {};
  return {expr};
}

int64_t getConstantTerm(Expr expr) {
  int64_t constant = 0;
  for (Expr term : getTerms(expr))
    constant += term.getConstant().value_or(0);
  return constant;
}

std::pair<int64_t, Expr> splitCoefficient(Expr term) {
  MLIRContext *context = term.getContext();
  if (auto value = term.getConstant())
    return {*value, Expr::constant(context, 1)};
  if (term.getKind() != ExprKind::Mul || !term.getOperands()[0].isConstant())
    return {1, term};
  ArrayRef<Expr> factors = term.getOperands().drop_front();
  Expr rest = factors.size() == 1
                  ? factors[0]
                  : make(context, ExprKind::Mul, 0, "", factors);
  return {term.getOperands()[0].getValue(), rest};
}

int64_t getAlignment(Expr expr, int64_t limit, int64_t factor) {
  // Low bits of a product are right even where it does not fit.
  for (Expr term : getTerms(expr))
    if (uint64_t step = uint64_t(splitCoefficient(term).first) * factor)
      limit = std::min<uint64_t>(limit, step & -step);
  return limit;
}

SmallVector<Expr> getFactors(Expr product) {
  if (product.getKind() == ExprKind::Mul)
    return llvm::to_vector(product.getOperands());
  if (product.isConstant(1))
    return {};
  return {product};
}

/// The term `coefficient * factors`, where no factor is a sum or a constant.
static Expr makeTerm(MLIRContext *context, int64_t coefficient,
                     SmallVector<Expr> factors) {
  if (coefficient == 0 || factors.empty())
    return Expr::constant(context, coefficient);
  llvm::sort(factors, isBefore);
  if (coefficient != 1)
    factors.insert(factors.begin(), Expr::constant(context, coefficient));
  if (factors.size() == 1)
    return factors[0];
  return make(context, ExprKind::Mul, 0, "", factors);
}

Expr makeSum(MLIRContext *context, ArrayRef<Expr> terms) {
  SmallVector<std::pair<Expr, int64_t>> collected;
  for (Expr term : terms) {
    auto [coefficient, rest] = splitCoefficient(term);
    auto it = llvm::find_if(
        collected, [&, rest = rest](auto &e) { return e.first == rest; });
    if (it == collected.end())
      collected.push_back({rest, coefficient});
    else
      it->second = saturatingAdd(it->second, coefficient);
  }
  llvm::erase_if(collected, [](auto &e) { return e.second == 0; });
  // Constants last, the order in which people write them.
  llvm::sort(collected, [](auto &a, auto &b) {
    if (a.first.isConstant() != b.first.isConstant())
      return b.first.isConstant();
    return isBefore(a.first, b.first);
  });
  SmallVector<Expr> result;
  for (auto &[rest, coefficient] : collected)
    result.push_back(makeTerm(context, coefficient, getFactors(rest)));
  if (result.empty())
    return Expr::constant(context, 0);
  if (result.size() == 1)
    return result[0];
  return make(context, ExprKind::Add, 0, "", result);
}

Expr Expr::operator+(Expr other) const {
  SmallVector<Expr> terms = getTerms(*this);
  llvm::append_range(terms, getTerms(other));
  return makeSum(getContext(), terms);
}
Expr Expr::operator-(Expr other) const { return *this + other * -1; }

Expr Expr::operator*(Expr other) const {
  SmallVector<Expr> products;
  for (Expr a : getTerms(*this))
    for (Expr b : getTerms(other)) {
      auto [ca, ra] = splitCoefficient(a);
      auto [cb, rb] = splitCoefficient(b);
      SmallVector<Expr> factors = getFactors(ra);
      llvm::append_range(factors, getFactors(rb));
      products.push_back(
          makeTerm(getContext(), saturatingMul(ca, cb), std::move(factors)));
    }
  return makeSum(getContext(), products);
}

Expr Expr::operator+(int64_t other) const {
  return *this + constant(getContext(), other);
}
Expr Expr::operator-(int64_t other) const {
  return *this - constant(getContext(), other);
}
Expr Expr::operator*(int64_t other) const {
  return *this * constant(getContext(), other);
}

/// term / divisor where the division is exact term by term.
static std::optional<Expr> divideExactly(Expr term, Expr divisor) {
  auto [ct, rt] = splitCoefficient(term);
  auto [cd, rd] = splitCoefficient(divisor);
  if (cd == 0 || !isMultiple(ct, cd))
    return std::nullopt;
  SmallVector<Expr> factors = getFactors(rt);
  for (Expr factor : getFactors(rd)) {
    auto it = llvm::find(factors, factor);
    if (it == factors.end())
      return std::nullopt;
    factors.erase(it);
  }
  return makeTerm(term.getContext(), floorDivide(ct, cd), std::move(factors));
}

Expr Expr::floorDiv(Expr other) const {
  MLIRContext *context = getContext();
  if (other.isConstant(1) || isConstant(0))
    return *this;
  if (other.isConstant(0))
    return make(context, ExprKind::FloorDiv, 0, "", {*this, other});
  if (isConstant() && other.isConstant())
    return constant(context, floorDivide(getValue(), other.getValue()));
  if (*this == other)
    return constant(context, 1);

  // A whole multiple of the divisor leaves the division.
  SmallVector<Expr> whole, rest;
  bool singleDivisor = other.getKind() != ExprKind::Add;
  for (Expr term : getTerms(*this)) {
    auto exact = singleDivisor ? divideExactly(term, other) : std::nullopt;
    if (exact)
      whole.push_back(*exact);
    else
      rest.push_back(term);
  }
  if (rest.empty())
    return makeSum(context, whole);
  if (!whole.empty())
    return makeSum(context, whole) + makeSum(context, rest).floorDiv(other);

  if (auto divisor = other.getConstant(); divisor && *divisor > 0) {
    // floor((g x + k) / (g c)) = floor((x + floor(k / g)) / c).
    int64_t common = *divisor, offset = 0;
    SmallVector<Expr> variable;
    for (Expr term : rest) {
      if (auto value = term.getConstant())
        offset = *value;
      else {
        common = getCommonDivisor(common, splitCoefficient(term).first);
        variable.push_back(term);
      }
    }
    if (common > 1 && !variable.empty()) {
      SmallVector<Expr> reduced;
      for (Expr term : variable)
        reduced.push_back(*divideExactly(term, constant(context, common)));
      reduced.push_back(constant(context, floorDivide(offset, common)));
      return makeSum(context, reduced)
          .floorDiv(constant(context, *divisor / common));
    }
    // Nested divisions by positive constants are one.
    if (getKind() == ExprKind::FloorDiv)
      if (auto inner = getOperands()[1].getConstant(); inner && *inner > 0)
        return getOperands()[0].floorDiv(
            constant(context, saturatingMul(*inner, *divisor)));
  }
  return make(context, ExprKind::FloorDiv, 0, "", {*this, other});
}

Expr Expr::ceilDiv(Expr other) const {
  return (*this + other - 1).floorDiv(other);
}
Expr Expr::mod(Expr other) const { return *this - other * floorDiv(other); }

/// Whether the expression is a sum of products of sizes with no minus sign.
static bool isSumOfSizes(Expr expr) {
  return llvm::all_of(getTerms(expr), [](Expr term) {
    auto [coefficient, rest] = splitCoefficient(term);
    return coefficient >= 0 && llvm::all_of(getFactors(rest), [](Expr factor) {
             return factor.getKind() == ExprKind::Symbol;
           });
  });
}

static Expr makeExtreme(ExprKind kind, Expr a, Expr b) {
  if (a == b)
    return a;
  if (isSumOfSizes(a - b))
    return kind == ExprKind::Min ? b : a;
  if (isSumOfSizes(b - a))
    return kind == ExprKind::Min ? a : b;
  if (isBefore(b, a))
    std::swap(a, b);
  return make(a.getContext(), kind, 0, "", {a, b});
}
Expr Expr::min(Expr a, Expr b) { return makeExtreme(ExprKind::Min, a, b); }
Expr Expr::max(Expr a, Expr b) { return makeExtreme(ExprKind::Max, a, b); }

} // namespace fusec
