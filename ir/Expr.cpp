// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Expr.h"
#include "ir/FusecAttributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;

namespace fusec {

//===----------------------------------------------------------------------===//
// Arithmetic on constants
//===----------------------------------------------------------------------===//

// Saturation instead of wrap-around: a size of 2^63 - 1 fails every later
// check, where a wrapped one could pass.
static int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::AddOverflow(a, b, result))
    return result;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result;
  if (!llvm::MulOverflow(a, b, result))
    return result;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
static int64_t floorDivide(int64_t a, int64_t b) {
  if (b == -1)
    return saturatingMul(a, -1);
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

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

static SmallVector<Expr> getFactors(Expr product) {
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

static Expr makeSum(MLIRContext *context, ArrayRef<Expr> terms) {
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
  if (cd == 0 || ct % cd != 0)
    return std::nullopt;
  SmallVector<Expr> factors = getFactors(rt);
  for (Expr factor : getFactors(rd)) {
    auto it = llvm::find(factors, factor);
    if (it == factors.end())
      return std::nullopt;
    factors.erase(it);
  }
  return makeTerm(term.getContext(), ct / cd, std::move(factors));
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
        common = std::gcd(common, splitCoefficient(term).first);
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

//===----------------------------------------------------------------------===//
// Queries and substitution
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

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
    return {0, size ? std::optional<int64_t>(*size - 1) : std::nullopt};
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
      int64_t g = std::gcd(*constant, splitCoefficient(pivot).first);
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

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printOperand(raw_ostream &os, Expr expr) {
  bool atom =
      expr.getOperands().empty() && !(expr.isConstant() && expr.getValue() < 0);
  if (atom)
    return expr.print(os);
  os << '(';
  expr.print(os);
  os << ')';
}

static bool isPlainName(StringRef name) {
  if (name.empty() ||
      !(isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_'))
    return false;
  if (!llvm::all_of(name, [](char c) {
        return isalnum(static_cast<unsigned char>(c)) || c == '_';
      }))
    return false;
  if (name == "floordiv" || name == "ceildiv" || name == "mod" ||
      name == "min" || name == "max")
    return false;
  // d0 and i0 are iteration indices and indirect terms.
  return !((name[0] == 'd' || name[0] == 'i') && name.size() > 1 &&
           llvm::all_of(name.drop_front(), llvm::isDigit));
}

void Expr::print(raw_ostream &os) const {
  switch (getKind()) {
  case ExprKind::Constant:
    os << getValue();
    return;
  case ExprKind::Symbol:
    if (isPlainName(getName())) {
      os << getName();
    } else {
      os << '"';
      llvm::printEscapedString(getName(), os);
      os << '"';
    }
    return;
  case ExprKind::Dim:
    os << 'd' << getIndex();
    return;
  case ExprKind::Indirect:
    os << 'i' << getIndex();
    return;
  case ExprKind::Add: {
    bool first = true;
    for (Expr term : getOperands()) {
      auto [coefficient, rest] = splitCoefficient(term);
      if (!first && coefficient < 0 && coefficient != INT64_MIN) {
        os << " - ";
        (rest * -coefficient).print(os);
      } else {
        if (!first)
          os << " + ";
        term.print(os);
      }
      first = false;
    }
    return;
  }
  case ExprKind::Mul: {
    // Factors first, the coefficient last: batch * 13.
    ArrayRef<Expr> factors = getOperands();
    bool coefficient = factors[0].isConstant();
    llvm::interleave(
        factors.drop_front(coefficient), os,
        [&](Expr factor) { printOperand(os, factor); }, " * ");
    if (coefficient)
      os << " * " << factors[0].getValue();
    return;
  }
  case ExprKind::FloorDiv:
    printOperand(os, getOperands()[0]);
    os << " floordiv ";
    printOperand(os, getOperands()[1]);
    return;
  case ExprKind::Min:
  case ExprKind::Max:
    os << (getKind() == ExprKind::Min ? "min(" : "max(");
    llvm::interleaveComma(getOperands(), os);
    os << ')';
    return;
  }
}

std::string Expr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

llvm::hash_code hash_value(Expr expr) {
  return mlir::hash_value(mlir::Attribute(expr.getAttr()));
}

} // namespace fusec
