// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fused level: regions that become one kernel each, and the root that all
// matmul kernels share.

#ifndef FUSEC_FUSED_OPS_TD
#define FUSEC_FUSED_OPS_TD

include "ir/FusecTensorOpBase.td"

def Fusec_Family : Fusec_Enum<"Family", "which kind of kernel a region becomes",
    ["Pointwise", "Reduce", "Gemm", "Chain"]>;
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

    ```mlir
    %gate, %up = fusec.contraction (%x) by (%w1, %w2)
      : (tensor<8x4xf32>), (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>, tensor<8x6xf32>
    ```
  }];
  let arguments = (ins Variadic<Fusec_NumberTensor>:$lhs, Variadic<Fusec_NumberTensor>:$rhs);
  let results = (outs Variadic<Fusec_NumberTensor>:$accumulators);
  let assemblyFormat = [{
    `(` $lhs `)` `by` `(` $rhs `)` attr-dict `:` `(` type($lhs) `)` `,` `(` type($rhs) `)`
    `->` type($accumulators)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumSegments() { return getLhs().size(); }
    unsigned getNumAccumulators() { return getAccumulators().size(); }
    ::mlir::Value getRhs(unsigned segment, unsigned accumulator) {
      return getRhs()[segment * getNumAccumulators() + accumulator];
    }
  }];
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
