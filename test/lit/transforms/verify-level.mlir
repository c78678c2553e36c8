// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not fusec-opt --fusec-verify-level=level=tensor --split-input-file %s 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: not fusec-opt --fusec-verify-level=level=fused --split-input-file %s 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: not fusec-opt --fusec-verify-level=level=planned --split-input-file %s 2>&1 | FileCheck %s --check-prefix=PLANNED
// RUN: not fusec-opt --fusec-verify-level=level=other --split-input-file %s 2>&1 | FileCheck %s --check-prefix=OTHER

// OTHER: error: expected level 'tensor', 'fused' or 'planned', got 'other'

// TENSOR-NOT: 'fusec.add'
// FUSED: 'fusec.add' op belongs to no fusion; run 'fusec-form-fusions' first
fusec.model @pointwise inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8xf32>):
  %0 = fusec.add %x, %x : tensor<8xf32>
  fusec.output %0 : tensor<8xf32>
}

// -----

// TENSOR: 'fusec.fusion' op belongs to the fused level; expected the tensor level only
// FUSED: 'fusec.matmul' op is not of the fused level; run 'fusec-form-contractions' first
fusec.model @fused inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x8xf32>):
  %0 = fusec.fusion gemm "square" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = fusec.matmul %a, %a : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
    fusec.yield %1 : tensor<8x8xf32>
  }
  fusec.output %0 : tensor<8x8xf32>
}

// -----

// TENSOR: 'fusec.plan' op belongs to the planned level; expected the tensor level only
// FUSED: 'fusec.plan' op belongs to the planned level; expected the tensor and the fused level only
// PLANNED: 'fusec.matmul' op is not of the fused level; run 'fusec-form-contractions' first
fusec.plan @p of @main slots [] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<8x8xf32>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<8x8xf32>
  fusec.step gemm "square" inputs [@x] outputs [@y]
    variants [#fusec.variant<[], #fusec.pointwise_schedule<threads = 256, vector = 1, indexBits = 32>>] sources [] {
  ^bb0(%a: tensor<8x8xf32>):
    %1 = fusec.matmul %a, %a : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
    fusec.yield %1 : tensor<8x8xf32>
  }
}
