// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of ops, a file each, behind the dispatcher of Evaluate.cpp.

#ifndef FUSEC_IR_REFERENCE_FAMILIES_H
#define FUSEC_IR_REFERENCE_FAMILIES_H

#include "ir/reference/Evaluate.h"

namespace fusec::reference {

using Operands = llvm::ArrayRef<Tensor>;
using TensorOr = mlir::FailureOr<Tensor>;

// Pointwise.cpp
TensorOr evaluatePointwise(mlir::Operation *op, Operands operands,
                           Environment &env);

// Generated.cpp
/// `value` is the op's: of a constant, or of a replaceable one.
TensorOr evaluateConstant(mlir::Operation *op, mlir::ElementsAttr value,
                          Environment &env);
TensorOr evaluateSplat(SplatOp op, Environment &env);
TensorOr evaluateIota(IotaOp op, Environment &env);
TensorOr evaluateSizeValue(SizeValueOp op, Environment &env);

// Views.cpp
TensorOr evaluateReshape(mlir::Operation *op, const Tensor &operand,
                         Environment &env);
TensorOr evaluateTranspose(TransposeOp op, const Tensor &operand,
                           Environment &env);
TensorOr evaluateSlice(SliceOp op, const Tensor &operand, Environment &env);
TensorOr evaluateBroadcast(BroadcastOp op, const Tensor &operand,
                           Environment &env);
TensorOr evaluateConcat(ConcatOp op, Operands operands, Environment &env);

// Gather.cpp
TensorOr evaluateGather(GatherOp op, Operands operands, Environment &env);
TensorOr evaluateLookup(LookupOp op, Operands operands, Environment &env);

// Reduce.cpp
TensorOr evaluateBag(BagOp op, Operands operands, Environment &env);
TensorOr evaluateReduce(ReduceOp op, const Tensor &operand, Environment &env);
TensorOr evaluateCumSum(CumSumOp op, const Tensor &operand, Environment &env);
TensorOr evaluateArgReduce(ArgReduceOp op, const Tensor &operand,
                           Environment &env);

// Matmul.cpp
/// Adds up all products in the accumulator's type and rounds once. `ranges`:
/// those of a contraction.
void multiply(llvm::ArrayRef<std::pair<Tensor, Tensor>> segments,
              Tensor &result, bool transposeLhs, bool transposeRhs,
              bool precise, llvm::ArrayRef<int64_t> ranges = {});
TensorOr evaluateMatmul(MatmulOp op, Operands operands, Environment &env);
mlir::FailureOr<Tensors>
evaluateContraction(ContractionOp op, Operands operands, Environment &env);

// PairProduct.cpp
TensorOr evaluatePairProduct(PairProductOp op, Operands operands,
                             Environment &env);

/// Checks that an operand has the sizes that its type says. Sizes come from
/// outside, and the loops below trust them.
mlir::LogicalResult checkOperands(mlir::Operation *op, Operands operands,
                                  Environment &env);

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_FAMILIES_H
