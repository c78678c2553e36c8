// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that fuse. Part of compiler/Passes.td.

def FormFusions : Pass<"fusec-form-fusions", "::fusec::ModelOp"> {
  let summary = "groups of ops become kernels";
  let description = [{
    Every op that computes starts as a group of its own; the merge that saves
    the most bytes of memory traffic is made first, until no legal one is left.
    Views and generated values are copied into each group that reads them. A
    concat whose operands come from matmuls, reductions or lookups stays between
    the fusions: each of them stores into its slice.

    ```mlir
    %0 = fusec.add %x, %y             %1 = fusec.fusion pointwise "add_sigmoid" (%x, %y) {
    %1 = fusec.sigmoid %0      ->     ^bb0(%a, %b):
                                        %2 = fusec.add %a, %b
                                        %3 = fusec.sigmoid %2
                                        fusec.yield %3
                                      }
    ```
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true",
           "off: every op is a kernel of its own">];
}

def InvertSums : Pass<"fusec-invert-sums", "::fusec::ModelOp"> {
  let summary = "softmax multiplies by its sum's inverse inside a kernel";
  let description = [{
    A division of fp32 takes a dozen instructions and a branch; a row has one,
    and its elements are products, which differ by a unit in the last place.
    Only exponentials of what is below the row's largest, over their own sum:
    its inverse is no more than 1. What becomes a kernel is decided before: a
    product by a row's factor could move elsewhere.

    ```mlir
    %e = fusec.exp %belowLargest       %e = fusec.exp %belowLargest
    %s = fusec.reduce sum %e           %s = fusec.reduce sum %e
    %r = fusec.broadcast %s      ->    %i = fusec.reciprocal %s
    %y = fusec.div %e, %r              %r = fusec.broadcast %i
                                       %y = fusec.mul %e, %r
    ```
  }];
}

def WidenPointwise : Pass<"fusec-widen-pointwise", "::fusec::ModelOp"> {
  let summary = "chains of 16-bit floats compute in fp32 inside a kernel";
  let description = [{
    Beside fusec-invert-sums the one pass that changes values beyond the tensor
    rewrites: a value is rounded where it is stored instead of after each op, and
    a matmul's sum is not rounded before its epilogue. Casts of the model stay.

    ```mlir
    %0 = fusec.add %a, %b : f16       %a32 = fusec.cast %a : f16 to f32
    %1 = fusec.exp %0 : f16     ->    %b32 = fusec.cast %b : f16 to f32
    fusec.yield %1                    %0 = fusec.add %a32, %b32 : f32
                                      %1 = fusec.exp %0 : f32
                                      %2 = fusec.cast %1 : f32 to f16
                                      fusec.yield %2
    ```
  }];
}
