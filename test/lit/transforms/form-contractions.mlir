// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-form-contractions --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

#rows = #fusec.sizes<[batch, 4]>
#columns = #fusec.sizes<[batch, 6]>

// Transposes become views.
// CHECK-LABEL: fusec.model @transposed
fusec.model @transposed inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4xf32, #rows>, %w: tensor<6x4xf32>):
  // CHECK: %[[T:.+]] = fusec.transpose %[[W:.+]] [1, 0] : tensor<6x4xf32> to tensor<4x6xf32>
  // CHECK: %[[Y:.+]] = fusec.contraction(%{{.+}}) by(%[[T]]) : (tensor<?x4xf32, #fusec.sizes<[batch, 4]>>), (tensor<4x6xf32>) -> tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  // CHECK: fusec.output %[[Y]]
  %y = fusec.matmul %x, %w transposed : tensor<?x4xf32, #rows>, tensor<6x4xf32> to tensor<?x6xf32, #columns>
  fusec.output %y : tensor<?x6xf32, #columns>
}

// -----

// x x^T of columns is pointwise.
// CHECK-LABEL: fusec.model @outer
// REMARK: outer-product-to-mul
fusec.model @outer inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>):
  // CHECK-DAG: fusec.broadcast %{{.+}} [0, 1] : tensor<?x8xf32, #fusec.sizes<[batch, 8]>> to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  // CHECK-DAG: fusec.broadcast %{{.+}} [0, 2] : tensor<?x8xf32, #fusec.sizes<[batch, 8]>> to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  // CHECK: %[[Y:.+]] = fusec.mul
  // CHECK: fusec.output %[[Y]]
  %y = fusec.matmul %x, %x transposed : tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>, tensor<?x8x1xf32, #fusec.sizes<[batch, 8, 1]>>
    to tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
  fusec.output %y : tensor<?x8x8xf32, #fusec.sizes<[batch, 8, 8]>>
}

// -----

// A matrix that all batches share.
// CHECK-LABEL: fusec.model @shared
fusec.model @shared inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2x3x4xf32>, %w: tensor<4x6xf32>):
  // CHECK: %[[X:.+]] = fusec.collapse %{{.+}} {{\[\[}}0, 1], [2]] : tensor<2x3x4xf32> to tensor<6x4xf32>
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X]]) by(%{{.+}}) : (tensor<6x4xf32>), (tensor<4x6xf32>) -> tensor<6x6xf32>
  // CHECK: fusec.expand %[[P]] {{\[\[}}0, 1], [2]] : tensor<6x6xf32> to tensor<2x3x6xf32>
  %b = fusec.broadcast %w [1, 2] : tensor<4x6xf32> to tensor<2x4x6xf32>
  %y = fusec.matmul %x, %b : tensor<2x3x4xf32>, tensor<2x4x6xf32> to tensor<2x3x6xf32>
  fusec.output %y : tensor<2x3x6xf32>
}

// -----

// A batch of matrices stays one.
// CHECK-LABEL: fusec.model @batched
fusec.model @batched inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2x3x4xf32>, %w: tensor<2x4x6xf32>):
  // CHECK: fusec.contraction(%{{.+}}) by(%{{.+}}) : (tensor<2x3x4xf32>), (tensor<2x4x6xf32>) -> tensor<2x3x6xf32>
  %y = fusec.matmul %x, %w : tensor<2x3x4xf32>, tensor<2x4x6xf32> to tensor<2x3x6xf32>
  fusec.output %y : tensor<2x3x6xf32>
}
