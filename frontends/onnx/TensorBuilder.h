// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds tensor-level ops from operands alone: result types follow from them,
// broadcasting is made explicit, and sizes that must agree are compared in one
// place. What is passed must be legal; handlers check before they build.

#ifndef FUSEC_FRONTENDS_ONNX_TENSORBUILDER_H
#define FUSEC_FRONTENDS_ONNX_TENSORBUILDER_H

#include "frontends/onnx/SizeAgreement.h"
#include "ir/FusecOps.h"
#include "ir/ShapeRules.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fusec::onnx {

class TensorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  template <typename T> using ArrayRef = llvm::ArrayRef<T>;

  TensorBuilder(mlir::Location loc, mlir::Block *block,
                SizeAgreement &agreement)
      : ImplicitLocOpBuilder(loc, block, block->end()), agreement(agreement) {}

  SizeAgreement &agreement;

  Expr getExpr(int64_t value) { return Expr::constant(getContext(), value); }

  // Pointwise. Operands of `binary` have one type; see `broadcastAll`.
  template <typename Op> Value unary(Value x) {
    return Op::create(*this, x.getType(), x);
  }
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(*this, a.getType(), a, b);
  }
  template <typename Op> Value compare(Value a, Value b) {
    return Op::create(*this, getTensorType(getSizes(a), getI1Type()), a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(*this, a.getType(), condition, a, b);
  }
  Value cast(Value x, Type elementType);

  // Generated values. Numbers are converted to the element type.
  Value splat(double value, ArrayRef<Expr> sizes, Type elementType);
  Value splatLike(double value, Value like);
  Value integerSplat(int64_t value, ArrayRef<Expr> sizes, Type elementType);
  Value iota(int64_t axis, ArrayRef<Expr> sizes, Type elementType);
  /// A scalar tensor.
  Value sizeValue(Expr value, Type elementType);
  /// A one-dimensional tensor of sizes, of int64.
  Value sizeVector(ArrayRef<Expr> values);

  // Views.
  Value broadcast(Value x, ArrayRef<Expr> sizes, ArrayRef<int64_t> dimensions);
  /// Trailing dimensions are aligned, as numpy does.
  Value broadcastTo(Value x, ArrayRef<Expr> sizes);
  /// The common sizes of all, or failure where two can never agree.
  mlir::FailureOr<Sizes> broadcastSizes(ArrayRef<Sizes> all);
  mlir::LogicalResult broadcastAll(llvm::MutableArrayRef<Value> values);
  /// The two sizes of one dimension under broadcasting.
  std::optional<Expr> broadcastSize(Expr a, Expr b);
  /// Makes dimensions equal to `sizes`, after these were found to agree.
  Value retarget(Value x, ArrayRef<Expr> sizes);
  /// Sizes have the same product.
  Value reshape(Value x, ArrayRef<Expr> sizes);
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  Value slice(Value x, ArrayRef<Expr> offsets, ArrayRef<Expr> sizes,
              ArrayRef<int64_t> steps);
  /// Elements offset..offset+size of one axis.
  Value sliceAxis(Value x, int64_t axis, Expr offset, Expr size,
                  int64_t step = 1);
  Value concat(ArrayRef<Value> values, int64_t axis);
  /// Adds a dimension of size 1 at each of the ascending positions of the
  /// result.
  Value unsqueeze(Value x, ArrayRef<int64_t> axes);
  Value squeeze(Value x, ArrayRef<int64_t> axes);

  // Reductions and products.
  Value reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims);
  /// Sum over the number of elements.
  Value mean(Value x, ArrayRef<int64_t> axes, bool keepDims);
  Value matmul(Value a, Value b, bool transposeA = false,
               bool transposeB = false);

private:
  Value collapse(Value x, ArrayRef<llvm::SmallVector<int64_t>> groups);
  Value expand(Value x, ArrayRef<llvm::SmallVector<int64_t>> groups,
               ArrayRef<Expr> sizes);
  mlir::ArrayAttr getReassociation(ArrayRef<llvm::SmallVector<int64_t>> groups);
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_TENSORBUILDER_H
