// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pass, with its IR before and after. Types are shortened where they do
// not matter.

#ifndef FUSEC_COMPILER_PASSES_TD
#define FUSEC_COMPILER_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Between stages
//===----------------------------------------------------------------------===//

def VerifyLevel : Pass<"fusec-verify-level"> {
  let summary = "check that no op of a later or a lowered level is left";
  let description = [{
    At `tensor` only ops of the tensor level may occur; at `fused` those of the
    tensor and the fused level, and no `fusec.matmul`; at `planned` a plan holds
    buffers and steps, and step regions are as at `fused`.
  }];
  let options = [
    Option<"level", "level", "std::string", /*default=*/"\"tensor\"",
           "tensor, fused or planned">];
}

//===----------------------------------------------------------------------===//
// From the tensor to the fused level
//===----------------------------------------------------------------------===//

def FormContractions : Pass<"fusec-form-contractions", "::fusec::ModelOp"> {
  let summary = "matrix products become contractions: accumulators times K-segments";
  let description = [{
    Each matmul becomes a contraction; its transposes become views. Where K is 1
    the product is pointwise. A right operand that all batches share makes the
    batches rows of M. Then contractions join:

    Sums of products become segments along K, whatever the order of additions;
    a constant scale moves onto the left operand of its segment, where the
    producer's epilogue applies it. The sum is rounded once instead of once a
    product.

    ```mlir
    %t = fusec.matmul %x, %A          %t = fusec.contraction (%x) by (%A)
    %u = fusec.matmul %t, %B          %s = fusec.mul %t, %half
    %s = fusec.mul %u, %half     ->   %p = fusec.contraction (%x, %s) by (%W, %B)
    %w = fusec.matmul %x, %W          %r = fusec.add %p, %bias
    %v = fusec.add %w, %bias
    %r = fusec.add %v, %s
    ```

    Products of one left operand whose results meet through pointwise ops become
    accumulators of one contraction:

    ```mlir
    %a = fusec.matmul %x, %W1         %a, %b = fusec.contraction (%x) by (%W1, %W2)
    %b = fusec.matmul %x, %W2    ->   %g = fusec.sigmoid %a
    %g = fusec.sigmoid %a             %r = fusec.mul %g, %b
    %r = fusec.mul %g, %b
    ```
  }];
}

#endif // FUSEC_COMPILER_PASSES_TD
