// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fused level: regions that become one kernel each, and the root that all
// matmul kernels share.

#ifndef FUSEC_FUSED_OPS_TD
#define FUSEC_FUSED_OPS_TD

include "ir/FusecTensorOpBase.td"

def Fusec_Family : Fusec_Enum<"Family", "which kind of kernel a region becomes",
    ["Pointwise", "Reduce", "Gemm", "Chain", "Pairs", "Transpose", "Bag", "Scan"]>;
def Fusec_FamilyAttr : Fusec_EnumAttr<Fusec_Family, "family">;

def Fusec_ContractionOp : Op<Fusec_Dialect, "contraction", [Pure, Fusec_FusedLevel,
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<Fusec_IndexedOpInterface>]> {
  let summary = "accumulators times K-segments: acc[j] = sum over s of lhs[s] . rhs[s][j]";
  let description = [{
    One segment and one accumulator are a matmul, several accumulators share
    their left operand (gating), several segments are a product along a
    concatenated K (low-rank updates). `rhs` lists the accumulators of the first
    segment, then of the second. Operands are [batch.., m, k] and
    [batch.., k, n]; transposed ones are views. The sum over all segments is
    accumulated before it is rounded to the result's type; of 16-bit operands it
    may be kept in fp32.

    With `ranges`, a length of each segment's K, operands are [m, k] and [k, n]
    and results [part, m, n]: part p sums over the ks from p times the length on,
    so many of them or the rest.

    ```mlir
    %gate, %up = fusec.contraction (%x) by (%w1, %w2)
      : (tensor<8x4xf32>), (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>, tensor<8x6xf32>
    %parts = fusec.contraction (%a) by (%b) ranges [64]
      : (tensor<8x100xf16>), (tensor<100x6xf16>) -> tensor<2x8x6xf32>
    ```
  }];
  let arguments = (ins Variadic<Fusec_NumberTensor>:$lhs, Variadic<Fusec_NumberTensor>:$rhs,
    OptionalAttr<DenseI64ArrayAttr>:$ranges);
  let results = (outs Variadic<Fusec_NumberTensor>:$accumulators);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::ValueRange":$lhs,
                   "::mlir::ValueRange":$rhs), [{
      build($_builder, $_state, types, lhs, rhs, ::mlir::DenseI64ArrayAttr());
    }]>
  ];
  let assemblyFormat = [{
    `(` $lhs `)` `by` `(` $rhs `)` (`ranges` $ranges^)? attr-dict `:` `(` type($lhs) `)` `,` `(` type($rhs) `)`
    `->` type($accumulators)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumSegments() { return getLhs().size(); }
    unsigned getNumAccumulators() { return getAccumulators().size(); }
    ::mlir::Value getRhs(unsigned segment, unsigned accumulator) {
      return getRhs()[segment * getNumAccumulators() + accumulator];
    }
    /// What a point of the result sums over: a segment's K, or a range of it.
    ::fusec::Expr getDepth(unsigned segment);
  }];
}

def Fusec_PairProductOp : Op<Fusec_Dialect, "pair_product", [Pure, Fusec_FusedLevel,
    DeclareOpInterfaceMethods<Fusec_IndexedOpInterface>]> {
  let summary = "flatten(x x^T) W in parts, over the half of W that symmetry leaves";
  let description = [{
    `x` is [rows, features]. Result [part, row, column] is the sum of
    x_i x_j w_ij over the part's share of i >= j; w_ij is the sum of W's rows for
    (i, j) and for (j, i). Weights lie as the kernels read them:
    `compiler/kernels/pairs/device/pairs_config.h` gives the order of K, the
    place of a weight, and what each part sums. Products of 16-bit features are
    rounded to their type; of 32-bit ones once, to f16 and after each row was
    scaled by a power of two where the weights have 16 bits, to f32 where they
    are f32.

    ```mlir
    %parts = fusec.pair_product %x, %w : tensor<64x48xf16>, tensor<24x32x64xf16> to tensor<6x64x32xf32>
    ```
  }];
  let arguments = (ins Fusec_NumberTensor:$x, Fusec_NumberTensor:$weights);
  let results = (outs Fusec_NumberTensor:$sums);
  let assemblyFormat = "$x `,` $weights attr-dict `:` type($x) `,` type($weights) `to` type($sums)";
  let hasVerifier = 1;
}

def Fusec_FusionOp : Op<Fusec_Dialect, "fusion", [Pure, IsolatedFromAbove, Fusec_FusedLevel,
    SingleBlock]> {
  let summary = "a region that becomes one kernel";
  let description = [{
    Block arguments are the operands; the region is ordinary tensor IR, so that
    the reference evaluates it as it stands. A `fusec.concat` left between
    fusions is assembled in place: its operands are stored into slices.

    ```mlir
    %r = fusec.fusion pointwise "add_sigmoid" (%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = fusec.add %a, %b : tensor<8xf32>
      %1 = fusec.sigmoid %0 : tensor<8xf32>
      fusec.yield %1 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins Fusec_FamilyAttr:$family, StrAttr:$name, Variadic<Fusec_Tensor>:$inputs);
  let results = (outs Variadic<Fusec_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $family $name `(` $inputs `)` attr-dict `:` functional-type($inputs, results) $body
  }];
  let hasVerifier = 1;
}

def Fusec_YieldOp : Op<Fusec_Dialect, "yield", [Pure, Terminator, Fusec_FusedLevel,
    ParentOneOf<["FusionOp", "StepOp"]>]> {
  let summary = "the results of a region";
  let arguments = (ins Variadic<Fusec_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // FUSEC_FUSED_OPS_TD
