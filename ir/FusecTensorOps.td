// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor level besides pointwise ops and those of indices: the model,
// constants, views, reductions and matmul.

#ifndef FUSEC_TENSOR_OPS_TD
#define FUSEC_TENSOR_OPS_TD

include "ir/FusecTensorOpBase.td"
include "ir/FusecGatherOps.td"
include "ir/FusecPointwiseOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

def Fusec_ConstraintAttr : Fusec_Attr<"Constraint", "constraint"> {
  let summary = "Two sizes that must agree when inputs are bound";
  let parameters = (ins "::fusec::Expr":$lhs, "::fusec::Expr":$rhs,
      StringRefParameter<"why, for the message">:$reason);
  let hasCustomAssemblyFormat = 1;
}

def Fusec_ModelOp : Op<Fusec_Dialect, "model", [IsolatedFromAbove, Symbol,
    SingleBlockImplicitTerminator<"OutputOp">]> {
  let summary = "a model: named inputs to named outputs";
  let description = [{
    ```mlir
    fusec.model @main inputs ["x"] outputs ["y"] {
    ^bb0(%x: tensor<?x10xf32, #fusec.sizes<[batch, 10]>>):
      %0 = fusec.sigmoid %x : tensor<?x10xf32, #fusec.sizes<[batch, 10]>>
      fusec.output %0 : tensor<?x10xf32, #fusec.sizes<[batch, 10]>>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$inputNames, StrArrayAttr:$outputNames,
      DefaultValuedAttr<TypedArrayAttrBase<Fusec_ConstraintAttr, "constraints">, "{}">:$constraints);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `inputs` $inputNames `outputs` $outputNames
    (`where` $constraints^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Fusec_OutputOp : Op<Fusec_Dialect, "output", [Pure, Terminator, HasParent<"ModelOp">]> {
  let summary = "the model's outputs";
  let arguments = (ins Variadic<Fusec_Tensor>:$values);
  // What a model without outputs ends with.
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Constants and generated values
//===----------------------------------------------------------------------===//

def Fusec_ConstantOp : Fusec_TensorOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant tensor";
  let description = [{
    The elements are a resource (mapped, not copied) where they are many.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def Fusec_ReplaceableOp : Fusec_TensorOp<"replaceable", [AllTypesMatch<["value", "result"]>]> {
  let summary = "a constant that a session may replace";
  let description = [{
    A factor of a low-rank update, or a weight as it is in the model. Nothing
    may depend on its elements when compiling: it is no constant to folds and
    patterns, and two of equal values stay two. `value` is what a session begins
    with.

    ```mlir
    %a = fusec.replaceable <"up", a> dense<0.0> : tensor<4096x16xf16>
    %w = fusec.replaceable <"fc.weight", whole> dense<0.0> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Fusec_ReplaceableAttr:$slot, ElementsAttr:$value);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$slot attr-dict $value";
  let hasVerifier = 1;
}

def Fusec_SplatOp : Fusec_IndexedOp<"splat"> {
  let summary = "one value everywhere";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Fusec_IotaOp : Fusec_IndexedOp<"iota"> {
  let summary = "the index along an axis";
  let arguments = (ins I64Attr:$axis);
  let results = (outs Fusec_NumberTensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Fusec_SizeValueOp : Fusec_IndexedOp<"size_value"> {
  let summary = "a size as a scalar tensor";
  let description = [{
    ```mlir
    %n = fusec.size_value <batch * 4> : tensor<i64>
    ```
  }];
  let arguments = (ins Fusec_ExprAttr:$value);
  let results = (outs Fusec_IndexTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

class Fusec_ViewOp<string mnemonic, list<Trait> traits = []> : Fusec_IndexedOp<mnemonic, traits> {
  let hasVerifier = 1;
  let hasFolder = 1;
}

class Fusec_ReshapeOp<string mnemonic> : Fusec_ViewOp<mnemonic> {
  let arguments = (ins Fusec_Tensor:$operand, ArrayAttr:$reassociation);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$operand $reassociation attr-dict `:` type($operand) `to` type($result)";
}
def Fusec_CollapseOp : Fusec_ReshapeOp<"collapse"> {
  let summary = "joins neighbouring dimensions";
  let description = [{
    Group i lists the operand's dimensions that become dimension i of the
    result; all groups together are 0..rank-1 in order. A group may be empty:
    that dimension of the result has size 1.

    ```mlir
    %r = fusec.collapse %a [[0], [1, 2]] : tensor<2x3x4xf32> to tensor<2x12xf32>
    ```
  }];
}
def Fusec_ExpandOp : Fusec_ReshapeOp<"expand"> {
  let summary = "splits dimensions";
  let description = [{
    Group i lists the result's dimensions that dimension i of the operand
    becomes; the inverse of `collapse`.

    ```mlir
    %r = fusec.expand %a [[0], [1, 2]] : tensor<2x12xf32> to tensor<2x3x4xf32>
    ```
  }];
}

def Fusec_TransposeOp : Fusec_ViewOp<"transpose"> {
  let summary = "permutes dimensions: result dimension i is operand dimension permutation[i]";
  let arguments = (ins Fusec_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `to` type($result)";
}

def Fusec_SliceOp : Fusec_ViewOp<"slice"> {
  let summary = "every steps[i]-th element from offsets[i] on; steps may be negative";
  let description = [{
    ```mlir
    %r = fusec.slice %a offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Fusec_Tensor:$operand,
      TypedArrayAttrBase<Fusec_ExprAttr, "expressions">:$offsets, DenseI64ArrayAttr:$steps);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$operand `offsets` $offsets `steps` $steps attr-dict `:` type($operand) `to` type($result)";
}

def Fusec_BroadcastOp : Fusec_ViewOp<"broadcast"> {
  let summary = "repeats: operand dimension i is result dimension dimensions[i], or has size 1 there";
  let description = [{
    ```mlir
    %r = fusec.broadcast %bias [1] : tensor<10xf32> to tensor<8x10xf32>
    ```
  }];
  let arguments = (ins Fusec_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$operand $dimensions attr-dict `:` type($operand) `to` type($result)";
}

def Fusec_ConcatOp : Fusec_ViewOp<"concat"> {
  let summary = "operands one after another along an axis";
  let arguments = (ins Variadic<Fusec_Tensor>:$values, I64Attr:$axis);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "$values `axis` $axis attr-dict `:` type($values) `to` type($result)";
}

//===----------------------------------------------------------------------===//
// Reductions, matmul
//===----------------------------------------------------------------------===//

def Fusec_ReduceOp : Fusec_IndexedOp<"reduce"> {
  let summary = "sum, product, maximum or minimum over axes, which the result lacks";
  let description = [{
    16- and 32-bit floats accumulate in fp32. Maximum and minimum propagate NaN.
    Over nothing the result is the identity. On bool, `max` is *or* and `min`
    is *and*.

    With `parts`, the result has a dimension of so many before the others: each
    reduces as many neighbours of what is reduced, whole multiples of 64, the
    last ones what is left.

    ```mlir
    %r = fusec.reduce sum %a axes [1] : tensor<8x10xf32> to tensor<8xf32>
    %p = fusec.reduce sum %a axes [1] parts 4 : tensor<8x1000xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Fusec_ReduceKindAttr:$kind, Fusec_Tensor:$operand, DenseI64ArrayAttr:$axes,
      OptionalAttr<I64Attr>:$parts);
  let results = (outs Fusec_Tensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::fusec::ReduceKind":$kind, "::mlir::Value":$operand,
                   "::llvm::ArrayRef<int64_t>":$axes), [{
      build($_builder, $_state, type, kind, operand, axes, ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = "$kind $operand `axes` $axes (`parts` $parts^)? attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements of all reduced axes together.
    ::fusec::Expr getReducedCount();
    /// How many of them a result reduces: all, or a part's, which may be fewer.
    ::fusec::Expr getLength();
    /// Whether a result is one of the elements.
    bool findsExtreme() {
      return getKind() == ::fusec::ReduceKind::Max || getKind() == ::fusec::ReduceKind::Min;
    }
  }];
}

def Fusec_ArgReduceOp : Fusec_IndexedOp<"arg_reduce"> {
  let summary = "where along an axis the extreme is; the first place, or the last if asked";
  let description = [{
    A NaN is more extreme than every number. Over nothing the result is 0. With
    `parts` as of `reduce`, of which none is empty, it is the place in a part.

    ```mlir
    %r = fusec.arg_reduce max %a axis 1 : tensor<8x10xf32> to tensor<8xi64>
    %p = fusec.arg_reduce max %a axis 1 parts 4 : tensor<8x1000xf32> to tensor<4x8xi64>
    ```
  }];
  let arguments = (ins Fusec_ArgKindAttr:$kind, Fusec_Tensor:$operand, I64Attr:$axis, UnitAttr:$last,
      OptionalAttr<I64Attr>:$parts);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::fusec::ArgKind":$kind, "::mlir::Value":$operand,
                   "int64_t":$axis, "bool":$last), [{
      build($_builder, $_state, type, kind, operand, axis, last, ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $kind $operand `axis` $axis (`last` $last^)? (`parts` $parts^)? attr-dict
    `:` type($operand) `to` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// As of ReduceOp.
    ::fusec::Expr getReducedCount();
    ::fusec::Expr getLength();
  }];
}

def Fusec_CumSumOp : Fusec_IndexedOp<"cumsum"> {
  let summary = "sums of all elements up to each one along an axis";
  let description = [{
    `exclusive` leaves out the element itself, `reverse` sums from the end.
    16- and 32-bit floats accumulate in fp32.

    ```mlir
    %r = fusec.cumsum %a axis 1 exclusive : tensor<8x10xf32> to tensor<8x10xf32>
    ```
  }];
  let arguments = (ins Fusec_NumberTensor:$operand, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Fusec_NumberTensor:$result);
  let assemblyFormat = [{
    $operand `axis` $axis (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict
    `:` type($operand) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Fusec_MatmulOp : Fusec_IndexedOp<"matmul"> {
  let summary = "batched matrix product";
  let description = [{
    [batch.., m, k] times [batch.., k, n] is [batch.., m, n]; the transpose
    flags exchange the last two dimensions of an operand. Batch dimensions are
    equal (broadcast them). 16- and 32-bit floats accumulate in fp32.

    ```mlir
    %r = fusec.matmul %a, %b : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Fusec_NumberTensor:$lhs, Fusec_NumberTensor:$rhs,
      UnitAttr:$transposeLhs, UnitAttr:$transposeRhs);
  let results = (outs Fusec_NumberTensor:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transposeLhs^)? `,` $rhs (`transposed` $transposeRhs^)?
    attr-dict `:` type($lhs) `,` type($rhs) `to` type($result)
  }];
  let hasVerifier = 1;
}

#endif // FUSEC_TENSOR_OPS_TD
