// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor level besides pointwise ops: the model, constants, views, gather,
// reductions and matmul.

#ifndef FUSEC_TENSOR_OPS_TD
#define FUSEC_TENSOR_OPS_TD

include "ir/FusecTensorOpBase.td"
include "ir/FusecPointwiseOps.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

class Fusec_IndexedOp<string mnemonic, list<Trait> traits = []>
    : Fusec_TensorOp<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<Fusec_IndexedOpInterface>])>;

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
// Gather, reductions, matmul
//===----------------------------------------------------------------------===//

def Fusec_GatherOp : Fusec_IndexedOp<"gather"> {
  let summary = "reads the source at indices that other tensors hold";
  let description = [{
    `positions` says for each dimension of the source where its index comes
    from: p >= 0 is the result's dimension p, and p < 0 is the value of index
    operand -1 - p at the result's index. Index operands have the result's
    sizes (broadcast them). Negative indices count from the end once; what lies
    outside then follows `policy`: `flag` and `zero` read 0, `clamp` the nearest.

    ```mlir
    // rows of a table: result[b, e] = table[ids[b], e]
    %i = fusec.broadcast %ids [0] : tensor<8xi64> to tensor<8x16xi64>
    %r = fusec.gather %table [-1, 1] (%i) flag : (tensor<100x16xf32>, tensor<8x16xi64>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins Fusec_Tensor:$source, DenseI64ArrayAttr:$positions,
      Variadic<Fusec_IndexTensor>:$indices, Fusec_IndexPolicyAttr:$policy);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = [{
    $source $positions `(` $indices `)` $policy attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Fusec_LookupOp : Fusec_IndexedOp<"lookup"> {
  let summary = "rows of several tables, one table a column of indices";
  let description = [{
    result[b, t, e] = tables[t][indices[b, t], e]: what the gathers of a
    recommender become, so that one launch reads all tables.
  }];
  let arguments = (ins Variadic<Fusec_Tensor>:$tables, Fusec_IndexTensor:$indices, Fusec_IndexPolicyAttr:$policy);
  let results = (outs Fusec_Tensor:$result);
  let assemblyFormat = "`(` $tables `)` `at` $indices $policy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Fusec_BagOp : Fusec_IndexedOp<"bag", [AttrSizedOperandSegments]> {
  let summary = "sums, means or maxima of rows of tables, side by side: the embedding bags of a recommender";
  let description = [{
    For table t, whose columns begin at c_t of the result:

        result[b, c_t + e] = scales[t] * mode over k of weights[t][b, k] * tables[t][indices[t][b, k], e]

    The bags of a table have as many rows each; a bag of one row is a lookup. With
    offsets (`from`), indices are one row of n, and bag b has those from offsets[b]
    to offsets[b + 1], or to n where there is none; offsets beyond 0 to n are taken
    for the nearest. All tables have offsets or none, and so have weights (`by`).

    The row that is the table's `padding` (-1: none) is left out, and not counted by a mean. `padding index`
    tells it by this index, so that another of the same row, counted from the end, is not left out, and
    `padding upto` leaves out this index and all below, those that count from the end, too. A bag
    without rows is zero. Sums are kept in fp32, or fp64 of fp64, and rounded to the result's type.

    Tables of 8-bit integers have `factors` of floats, and may have `zeros` of the
    same type, [rows, blocks] each: an element is (table - zero) * factor, those of
    its row and of the block of columns that it lies in. `packed` says how many
    columns of 4 bits each table has: a row is their bytes, the first of two in the
    low half, signed where the bytes are.

    ```mlir
    %r = fusec.bag sum (%t, %u) at (%i, %j) flag scales [1.0, 0.5]
      : (tensor<1000x8xf16>, tensor<500x4xf16>) at (tensor<nx1xi64>, tensor<nx2xi64>)
      -> tensor<nx12xf16>
    %m = fusec.bag mean (%t) at (%i) from (%o) flag scales [1.0] padding row [0]
      : (tensor<1000x8xf16>) at (tensor<1xnxi64>) from (tensor<1xbxi64>) -> tensor<bx8xf16>
    %n = fusec.bag mean (%t) at (%j) flag scales [1.0] padding index [0] : (tensor<1000x8xf16>) at (tensor<nx2xi64>) -> tensor<nx8xf16>
    %q = fusec.bag sum (%p) at (%i) factors (%f) flag scales [1.0] packed [7]
      : (tensor<1000x4xi8>) at (tensor<nx2xi64>) factors (tensor<1000x1xf32>) -> tensor<nx7xf16>
    ```
  }];
  let arguments = (ins Fusec_BagModeAttr:$mode, Variadic<Fusec_Tensor>:$tables,
      Variadic<Fusec_IndexTensor>:$indices, Variadic<Fusec_IndexTensor>:$offsets,
      Variadic<Fusec_Tensor>:$weights, Variadic<Fusec_Tensor>:$factors,
      Variadic<Fusec_Tensor>:$zeros, Fusec_IndexPolicyAttr:$policy,
      DenseF64ArrayAttr:$scales, OptionalAttr<DenseI64ArrayAttr>:$padding,
      OptionalAttr<DenseI64ArrayAttr>:$packed,
      DefaultValuedAttr<Fusec_PadsByAttr, "::fusec::PadsBy::Row">:$padsBy);
  let results = (outs Fusec_Tensor:$result);
  let builders = [
    // Of bytes or floats.
    OpBuilder<(ins "::mlir::Type":$type, "::fusec::BagMode":$mode, "::mlir::ValueRange":$tables,
                   "::mlir::ValueRange":$indices, "::mlir::ValueRange":$offsets, "::mlir::ValueRange":$weights,
                   "::mlir::ValueRange":$factors, "::mlir::ValueRange":$zeros, "::fusec::IndexPolicy":$policy,
                   "::llvm::ArrayRef<double>":$scales, "::mlir::DenseI64ArrayAttr":$padding,
                   CArg<"::fusec::PadsBy", "::fusec::PadsBy::Row">:$padsBy), [{
      build($_builder, $_state, type, mode, tables, indices, offsets, weights, factors, zeros, policy, scales,
            padding, ::mlir::DenseI64ArrayAttr(), padsBy);
    }]>
  ];
  let assemblyFormat = [{
    $mode `(` $tables `)` `at` `(` $indices `)` (`from` `(` $offsets^ `)`)? (`by` `(` $weights^ `)`)?
    (`factors` `(` $factors^ `)`)? (`zeros` `(` $zeros^ `)`)? $policy `scales` $scales
    (`padding` $padsBy $padding^)?
    (`packed` $packed^)? attr-dict `:` `(` type($tables) `)` `at` `(` type($indices) `)` (`from` `(` type($offsets)^ `)`)?
    (`by` `(` type($weights)^ `)`)? (`factors` `(` type($factors)^ `)`)?
    (`zeros` `(` type($zeros)^ `)`)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// What says which rows a bag has: indices, offsets, weights.
    ::mlir::OperandRange getPlaced() {
      return getOperands().drop_front(getTables().size())
          .drop_back(getFactors().size() + getZeros().size());
    }
    /// What a row is read of.
    ::llvm::SmallVector<::mlir::Value> getRowOperands();
    /// Of table t, or -1.
    int64_t getPaddingOf(unsigned t) { return getPadding() ? (*getPadding())[t] : -1; }
    /// Whether an index of table t, which names a row or none, is left out.
    bool leavesOut(unsigned t, int64_t index, ::std::optional<int64_t> row) {
      int64_t padding = getPaddingOf(t);
      ::fusec::PadsBy by = getPadsBy();
      return padding >= 0 && (by == PadsBy::Row     ? row && *row == padding
                              : by == PadsBy::Index ? index == padding
                                                    : index <= padding);
    }
    /// Columns of table t.
    ::fusec::Expr getWidthOf(unsigned t);
    /// Sums of as many rows each.
    bool isPlain() {
      return getMode() == BagMode::Sum && getPlaced().size() == getIndices().size() &&
          getFactors().empty() && !getPadding();
    }
  }];
  let hasVerifier = 1;
}

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
  }];
}

def Fusec_ArgReduceOp : Fusec_IndexedOp<"arg_reduce"> {
  let summary = "where along an axis the extreme is; the first place, or the last if asked";
  let arguments = (ins Fusec_ArgKindAttr:$kind, Fusec_Tensor:$operand, I64Attr:$axis, UnitAttr:$last);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$kind $operand `axis` $axis (`last` $last^)? attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
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
