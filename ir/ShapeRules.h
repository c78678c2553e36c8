// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of results from sizes of operands: shared by verifiers, importers and
// rewrites. Each fails with a message that says what was expected and found.

#ifndef FUSEC_IR_SHAPERULES_H
#define FUSEC_IR_SHAPERULES_H

#include "ir/Expr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

namespace fusec {

using Sizes = llvm::SmallVector<Expr>;
using EmitMessage = llvm::function_ref<void(const llvm::Twine &)>;

/// "[batch, 13]".
std::string toString(llvm::ArrayRef<Expr> sizes);

mlir::FailureOr<Sizes> inferMatmulSizes(llvm::ArrayRef<Expr> lhs,
                                        llvm::ArrayRef<Expr> rhs,
                                        bool transposeLhs, bool transposeRhs,
                                        EmitMessage emit);

/// Axes are unique and in range.
mlir::FailureOr<Sizes> inferReduceSizes(llvm::ArrayRef<Expr> operand,
                                        llvm::ArrayRef<int64_t> axes,
                                        EmitMessage emit);

mlir::FailureOr<Sizes> inferConcatSizes(llvm::ArrayRef<Sizes> operands,
                                        int64_t axis, EmitMessage emit);

mlir::FailureOr<Sizes> inferTransposeSizes(llvm::ArrayRef<Expr> operand,
                                           llvm::ArrayRef<int64_t> permutation,
                                           EmitMessage emit);

/// The groups of a reassociation; fails unless they are 0..rank-1 in order.
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<int64_t>>>
getReassociation(mlir::ArrayAttr attr, unsigned rank, EmitMessage emit);

/// Sizes after joining the groups.
Sizes collapseSizes(llvm::ArrayRef<Expr> sizes,
                    llvm::ArrayRef<llvm::SmallVector<int64_t>> groups,
                    mlir::MLIRContext *context);

} // namespace fusec

#endif // FUSEC_IR_SHAPERULES_H
