// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views that only regroup dimensions (collapse, expand): what is stored under
// one may be stored in its place in a larger buffer, as a concat's.

#ifndef FUSEC_COMPILER_TRANSFORMS_FUSION_REGROUPINGS_H
#define FUSEC_COMPILER_TRANSFORMS_FUSION_REGROUPINGS_H

#include "ir/FusecOps.h"

namespace fusec {

/// The value and those that it regroups, up to one that is no such view.
llvm::SmallVector<mlir::Value> followRegroupings(mlir::Value value);

/// Strides, in elements, of the last of those from the value's; nothing where
/// dimensions that a view joins would not lie one after another.
std::optional<llvm::SmallVector<Expr>>
getStridesBehindRegroupings(mlir::Value value, llvm::ArrayRef<Expr> strides);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_FUSION_REGROUPINGS_H
