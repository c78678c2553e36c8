// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the tensor level that read rows or elements which indices name.

#ifndef FUSEC_GATHER_OPS_TD
#define FUSEC_GATHER_OPS_TD

include "ir/FusecTensorOpBase.td"

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

    With `lengths`, [bags, 1] each, of which `of` says which each table has (-1: none),
    bag b has the first indices alone, as many as its length says: none where it is
    below 1, all where there are fewer. Indices beyond are not checked. With
    `least` means of such tables divide by the length itself, or by this where it
    is more; with `fill` this stands for each row beyond in maxima.

    The tables of `maxima` (by their numbers) have maxima in place of the mode.

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
    %l = fusec.bag mean (%t, %u) at (%j, %i) lengths (%n) of [0, -1] least 1.0 flag scales [1.0, 1.0] maxima [1]
      : (tensor<1000x8xf16>, tensor<500x4xf16>) at (tensor<nx2xi64>, tensor<nx3xi64>)
      lengths (tensor<nx1xi32>) -> tensor<nx12xf16>
    ```
  }];
  let arguments = (ins Fusec_BagModeAttr:$mode, Variadic<Fusec_Tensor>:$tables,
      Variadic<Fusec_IndexTensor>:$indices, Variadic<Fusec_IndexTensor>:$offsets,
      Variadic<Fusec_Tensor>:$weights, Variadic<Fusec_Tensor>:$lengths, Variadic<Fusec_Tensor>:$factors,
      Variadic<Fusec_Tensor>:$zeros, Fusec_IndexPolicyAttr:$policy,
      DenseF64ArrayAttr:$scales, OptionalAttr<DenseI64ArrayAttr>:$padding,
      OptionalAttr<DenseI64ArrayAttr>:$packed,
      DefaultValuedAttr<Fusec_PadsByAttr, "::fusec::PadsBy::Row">:$padsBy,
      OptionalAttr<DenseI64ArrayAttr>:$measured, OptionalAttr<F64Attr>:$least, OptionalAttr<F64Attr>:$fill,
      OptionalAttr<DenseI64ArrayAttr>:$maxima);
  let results = (outs Fusec_Tensor:$result);
  let builders = [
    // Of bytes or floats, without lengths.
    OpBuilder<(ins "::mlir::Type":$type, "::fusec::BagMode":$mode, "::mlir::ValueRange":$tables,
                   "::mlir::ValueRange":$indices, "::mlir::ValueRange":$offsets, "::mlir::ValueRange":$weights,
                   "::mlir::ValueRange":$factors, "::mlir::ValueRange":$zeros, "::fusec::IndexPolicy":$policy,
                   "::llvm::ArrayRef<double>":$scales, "::mlir::DenseI64ArrayAttr":$padding,
                   CArg<"::fusec::PadsBy", "::fusec::PadsBy::Row">:$padsBy), [{
      build($_builder, $_state, type, mode, tables, indices, offsets, weights, ::mlir::ValueRange(), factors, zeros,
            policy, scales, padding, ::mlir::DenseI64ArrayAttr(), padsBy, ::mlir::DenseI64ArrayAttr(), ::mlir::FloatAttr(),
            ::mlir::FloatAttr(), ::mlir::DenseI64ArrayAttr());
    }]>
  ];
  let assemblyFormat = [{
    $mode `(` $tables `)` `at` `(` $indices `)` (`from` `(` $offsets^ `)`)? (`by` `(` $weights^ `)`)?
    (`lengths` `(` $lengths^ `)` `of` $measured)? (`least` $least^)? (`fill` $fill^)?
    (`factors` `(` $factors^ `)`)? (`zeros` `(` $zeros^ `)`)? $policy `scales` $scales
    (`padding` $padsBy $padding^)? (`maxima` $maxima^)?
    (`packed` $packed^)? attr-dict `:` `(` type($tables) `)` `at` `(` type($indices) `)` (`from` `(` type($offsets)^ `)`)?
    (`by` `(` type($weights)^ `)`)? (`lengths` `(` type($lengths)^ `)`)? (`factors` `(` type($factors)^ `)`)?
    (`zeros` `(` type($zeros)^ `)`)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// What says which rows a bag has: indices, offsets, weights, lengths.
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
          getFactors().empty() && !getPadding() && !getMaxima();
    }
    /// Which lengths a table has; -1: none.
    int64_t getMeasureOf(unsigned table) {
      return getMeasured() ? (*getMeasured())[table] : -1;
    }
    ::fusec::BagMode getModeOf(unsigned table);
  }];
  let hasVerifier = 1;
}

#endif // FUSEC_GATHER_OPS_TD
