// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that a model needs to be equal. Where one is a dimension's name, the
// name is replaced and the model read once more, so that inputs themselves show
// what they must agree on; all else becomes a constraint of the model.

#ifndef FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H
#define FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H

#include "ir/FusecAttributes.h"
#include "ir/FusecOps.h"
#include "llvm/ADT/MapVector.h"

namespace fusec::onnx {

class SizeAgreement {
public:
  /// The size to use for both, or nothing where they can never be equal.
  std::optional<Expr> agree(Expr a, Expr b, const llvm::Twine &reason);

  /// Names to be replaced by other names or by numbers.
  const std::map<std::string, Expr> &getReplacements() const {
    return replacements;
  }
  /// A size with the replacements found so far.
  Expr apply(Expr size) const;

  llvm::ArrayRef<mlir::Attribute> getConstraints() const { return constraints; }
  /// Before another pass with the replacements.
  void clearConstraints() { constraints.clear(); }
  /// Stops replacing: from here on everything is a constraint.
  void freeze() { frozen = true; }
  bool isFrozen() const { return frozen; }

private:
  bool replace(Expr name, Expr by);

  std::map<std::string, Expr> replacements;
  llvm::SmallVector<mlir::Attribute> constraints;
  bool frozen = false;
};

// A hostile model can multiply sums until they fill the memory: what grows is
// measured before it is built.

/// The most terms of a sum that is worked with.
constexpr size_t maxTerms = 64;
bool isTooLarge(Expr expr);
size_t countTerms(Expr expr);
/// Proves 0 <= expr for all values of the names; divisions by numbers are
/// bounded by what they divide.
bool isProvedNonNegative(Expr expr);
/// Whether the product of the sizes, and so that of any of them, stays small.
bool hasSmallProduct(llvm::ArrayRef<Expr> sizes);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_SIZEAGREEMENT_H
