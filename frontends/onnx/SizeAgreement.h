// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that a model needs to be equal. Where one is a dimension's name, the
// name is replaced and the model read once more, so that inputs themselves show
// what they must agree on; all else becomes a constraint of the model.

#ifndef FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H
#define FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H

#include "ir/FusecAttributes.h"
#include "ir/FusecOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::onnx {

class SizeAgreement {
public:
  /// The size to use for both, or nothing where they can never be equal.
  std::optional<Expr> agree(Expr a, Expr b, const llvm::Twine &reason);

  /// Names to be replaced, of which there are only ever more.
  size_t getNumReplacements() const { return replacements.size(); }
  /// A size with the replacements found so far.
  Expr apply(Expr size) const;

  llvm::ArrayRef<mlir::Attribute> getConstraints() const { return constraints; }
  /// Before another pass with the replacements.
  void clearConstraints() {
    constraints.clear();
    known.clear();
  }
  /// Stops replacing: from here on everything is a constraint.
  void freeze() { frozen = true; }
  bool isFrozen() const { return frozen; }

private:
  bool replace(Expr name, Expr by);
  /// What stands for a name in the end.
  Expr resolve(Expr name) const;

  /// By other names or by numbers, for which there may be others again.
  mutable llvm::StringMap<Expr> replacements;
  llvm::SmallVector<mlir::Attribute> constraints;
  llvm::DenseSet<std::pair<mlir::Attribute, mlir::Attribute>> known;
  bool frozen = false;
};

// A hostile model can multiply sums until they fill the memory: what grows is
// measured before it is built.

/// The most terms of a sum that is worked with.
constexpr size_t maxTerms = 64;
bool isTooLarge(Expr expr);
/// Of the expression as a tree; where it is too large, more than it may have.
unsigned countNodes(Expr expr);
size_t countTerms(Expr expr);
/// Proves 0 <= expr for all values of the names; divisions by numbers are
/// bounded by what they divide.
bool isProvedNonNegative(Expr expr);
/// Whether the product of the sizes, and so that of any of them, stays small.
bool hasSmallProduct(llvm::ArrayRef<Expr> sizes);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H
