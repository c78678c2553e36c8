// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference: runs ops on the CPU, one after another, as docs/semantics.md
// says and independently of everything that generates code. It is the oracle of
// the compiler and, on constants, its folder.

#ifndef FUSEC_IR_REFERENCE_EVALUATE_H
#define FUSEC_IR_REFERENCE_EVALUATE_H

#include "ir/FusecOps.h"
#include "ir/reference/Dims.h"
#include "ir/reference/Tensor.h"
#include <functional>

namespace fusec::reference {

struct EvaluateOptions {
  /// All floats are fp64, from inputs and constants to outputs, and nothing is
  /// rounded to a narrower type: the values that results are judged against.
  bool exact = false;
  /// Sums and products of fp16, bf16 and fp32 accumulate in fp64, in place of
  /// fp32, and are rounded once.
  bool precise = false;
  /// No tensor may take more bytes.
  int64_t maxTensorBytes = int64_t(1) << 36;
  /// Called for each value of the outermost region when it is computed.
  std::function<void(mlir::Value, const Tensor &)> observer;
};

/// What ops find around them.
struct Environment {
  const EvaluateOptions &options;
  const Dims &dims;
  /// Indices out of range under the policy `flag`.
  int64_t faults = 0;
  /// Elements of results whose index was out of range, under any policy.
  int64_t outside = 0;

  /// The element type that values of this IR type have at run time.
  mlir::Type getStoredType(mlir::Type elementType) const;
  /// A zeroed tensor for the result; fails where its sizes are unknown or too
  /// large, after saying so at the op.
  mlir::FailureOr<Tensor> allocate(mlir::OpResult result) const;
};

using Tensors = llvm::SmallVector<Tensor>;

struct Evaluation {
  Tensors outputs;
  int64_t faults = 0, outside = 0; // as in Environment
};

/// Evaluates a model. Inputs must have the types of its arguments (any float is
/// taken for a float when `exact`); their sizes bind its dimensions, beyond
/// those that `dims` gives. Errors are reported at the ops.
mlir::FailureOr<Evaluation> evaluate(ModelOp model,
                                     llvm::ArrayRef<Tensor> inputs,
                                     const EvaluateOptions &options = {},
                                     Dims dims = {});

/// Evaluates the ops of a block; the results are the terminator's operands.
mlir::FailureOr<Tensors> evaluate(mlir::Block &block,
                                  llvm::ArrayRef<Tensor> arguments,
                                  Environment &environment);

/// Evaluates one op on given operands.
mlir::FailureOr<Tensors> evaluate(mlir::Operation *op,
                                  llvm::ArrayRef<Tensor> operands,
                                  Environment &environment);

/// For judging another implementation of the op: for sums of products the sum
/// of their absolute values, for sums that of their terms, else the absolute
/// value of the result. Operands and results are those of an exact evaluation.
mlir::FailureOr<Tensors> evaluateMagnitude(mlir::Operation *op,
                                           llvm::ArrayRef<Tensor> operands,
                                           Environment &environment);

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_EVALUATE_H
