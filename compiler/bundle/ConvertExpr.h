// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size expressions and element types of the IR in the words of the manifest.

#ifndef FUSEC_COMPILER_BUNDLE_CONVERTEXPR_H
#define FUSEC_COMPILER_BUNDLE_CONVERTEXPR_H

#include "ir/FusecOps.h"
#include "runtime/format/Manifest.h"
#include <set>

namespace fusec {

/// Converts expressions and collects the named dimensions that occur in them.
class ExprConverter {
public:
  /// Only sizes can be converted: the indices of an iteration mean nothing
  /// outside of a kernel, and fail.
  mlir::FailureOr<format::Expr> convert(Expr expr);
  mlir::FailureOr<std::vector<format::Expr>>
  convert(llvm::ArrayRef<Expr> exprs);

  /// Sorted.
  std::vector<std::string> getDims() const {
    return {dims.begin(), dims.end()};
  }

private:
  std::set<std::string> dims;
};

/// Nothing for a type that is not an element type of the dialect.
std::optional<format::DType> convertElementType(mlir::Type type);

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_CONVERTEXPR_H
