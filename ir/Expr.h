// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer expressions over named dimensions (sizes of tensors) and over
// iteration indices (how an op reads its operands). Both are one type because
// an index map is made of sizes: what is proved about one holds for the other.
//
// An Expr is always in canonical form: a sum of products with sorted terms, so
// that equal expressions are the same object. `ceildiv` and `mod` are rewritten
// to floordiv (a mod b = a - b * (a floordiv b)), which lets a split index and
// its reassembly cancel.

#ifndef FUSEC_IR_EXPR_H
#define FUSEC_IR_EXPR_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace fusec {

class ExprAttr;

enum class ExprKind : uint32_t {
  Constant, // value
  Symbol,   // a named dimension of the model
  Dim,      // the n-th index of an iteration space
  Indirect, // the n-th value loaded at run time (a gather's index operand)
  Add,
  Mul,
  FloorDiv,
  Min,
  Max
};

class Expr {
public:
  Expr() = default;
  /// Implicit, so that lists of expressions can be mapped over attributes.
  Expr(ExprAttr attr);

  static Expr constant(mlir::MLIRContext *context, int64_t value);
  static Expr symbol(mlir::MLIRContext *context, llvm::StringRef name);
  static Expr dim(mlir::MLIRContext *context, unsigned index);
  static Expr indirect(mlir::MLIRContext *context, unsigned index);

  ExprKind getKind() const;
  /// The constant's value, the coefficient of nothing else.
  int64_t getValue() const;
  /// Index of a Dim or an Indirect.
  unsigned getIndex() const;
  llvm::StringRef getName() const;
  llvm::ArrayRef<Expr> getOperands() const;
  ExprAttr getAttr() const;
  mlir::MLIRContext *getContext() const;

  bool isConstant() const { return getKind() == ExprKind::Constant; }
  bool isConstant(int64_t value) const;
  std::optional<int64_t> getConstant() const;

  Expr operator+(Expr other) const;
  Expr operator-(Expr other) const;
  Expr operator*(Expr other) const;
  Expr operator+(int64_t other) const;
  Expr operator-(int64_t other) const;
  Expr operator*(int64_t other) const;
  /// Division by zero is left unevaluated; `evaluate` reports it.
  Expr floorDiv(Expr other) const;
  Expr ceilDiv(Expr other) const;
  Expr mod(Expr other) const;
  static Expr min(Expr a, Expr b);
  static Expr max(Expr a, Expr b);

  bool operator==(Expr other) const { return impl == other.impl; }
  bool operator!=(Expr other) const { return impl != other.impl; }
  explicit operator bool() const { return static_cast<bool>(impl); }

  /// The value under the given binding of symbols (by name), dims and indirect
  /// terms; nothing where a leaf is unbound, on overflow or division by zero.
  std::optional<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(Expr leaf)> bind) const;

  /// Rebuilds the expression with each leaf (symbol, dim or indirect) replaced.
  Expr replace(llvm::function_ref<Expr(Expr leaf)> replacement) const;

  /// Replaces Dim i by `values[i]`; dims beyond the list stay.
  Expr replaceDims(llvm::ArrayRef<Expr> values) const;

  /// Calls back for each leaf that is not a constant.
  void walkLeaves(llvm::function_ref<void(Expr leaf)> callback) const;

  /// Total order by structure, stable across runs.
  static int compare(Expr a, Expr b);

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

private:
  mlir::Attribute impl;
};

/// The terms of an expression read as a sum.
llvm::SmallVector<Expr> getTerms(Expr expr);

/// The term that is a constant, or 0.
int64_t getConstantTerm(Expr expr);

/// The integer factor of a term and the product of its other factors
/// (the constant 1 where the term is a constant).
std::pair<int64_t, Expr> splitCoefficient(Expr term);

/// The largest power of two, at most `limit` (one too), that divides the
/// expression's value times `factor` whatever its leaves are.
int64_t getAlignment(Expr expr, int64_t limit, int64_t factor = 1);

/// What is known of the dims while simplifying: 0 <= Dim i < sizes[i].
/// Every symbol is a size and so is not negative.
class ExprRanges {
public:
  explicit ExprRanges(llvm::ArrayRef<Expr> sizes) : sizes(sizes) {}
  std::optional<int64_t> lowerBound(Expr expr) const;
  std::optional<int64_t> upperBound(Expr expr) const;
  /// Proves 0 <= expr.
  bool isNonNegative(Expr expr) const;
  /// Proves a < b for every point of the iteration space.
  bool isLess(Expr a, Expr b) const;
  /// Removes divisions that the ranges decide, innermost first.
  Expr simplify(Expr expr) const;

private:
  Expr largest(Expr expr) const;
  llvm::ArrayRef<Expr> sizes;
};

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Expr expr) {
  expr.print(os);
  return os;
}
llvm::hash_code hash_value(Expr expr);

/// How deep an expression may nest; import refuses what goes beyond.
constexpr unsigned maxExprDepth = 64;

/// Of the expression as a tree, as it is written out; more than `limit` where
/// it has more, or nests deeper.
unsigned countNodes(Expr expr, unsigned limit);

} // namespace fusec

#endif // FUSEC_IR_EXPR_H
