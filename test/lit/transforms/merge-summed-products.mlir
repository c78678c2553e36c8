// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --fusec-merge-summed-products --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-form-contractions --fusec-merge-summed-products --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A low-rank update: x W + b + 0.5 (x A) B.
// CHECK-LABEL: fusec.model @lora
// REMARK: merge-summed-products
fusec.model @lora inputs ["x", "w", "a", "b", "bias"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<7x16xf32>, %[[W:.+]]: tensor<16x8xf32>, %[[A:.+]]: tensor<16x5xf32>, %[[B:.+]]: tensor<5x8xf32>, %[[BIAS:.+]]: tensor<8xf32>):
^bb0(%x: tensor<7x16xf32>, %w: tensor<16x8xf32>, %a: tensor<16x5xf32>, %b: tensor<5x8xf32>, %bias: tensor<8xf32>):
  // CHECK-DAG: %[[T:.+]] = fusec.contraction(%[[X]]) by(%[[A]])
  // CHECK-DAG: %[[HALF:.+]] = fusec.splat 5.000000e-01 : f32 : tensor<7x5xf32>
  // CHECK: %[[S:.+]] = fusec.mul %[[T]], %[[HALF]] : tensor<7x5xf32>
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X]], %[[S]]) by(%[[W]], %[[B]]) : (tensor<7x16xf32>, tensor<7x5xf32>), (tensor<16x8xf32>, tensor<5x8xf32>) -> tensor<7x8xf32>
  // CHECK: %[[Y:.+]] = fusec.add %[[P]], %{{.+}} : tensor<7x8xf32>
  // CHECK-NEXT: fusec.output %[[Y]]
  %0 = fusec.matmul %x, %a : tensor<7x16xf32>, tensor<16x5xf32> to tensor<7x5xf32>
  %1 = fusec.matmul %0, %b : tensor<7x5xf32>, tensor<5x8xf32> to tensor<7x8xf32>
  %2 = fusec.constant dense<0.5> : tensor<f32>
  %3 = fusec.broadcast %2 [] : tensor<f32> to tensor<7x8xf32>
  %4 = fusec.mul %1, %3 : tensor<7x8xf32>
  %5 = fusec.matmul %x, %w : tensor<7x16xf32>, tensor<16x8xf32> to tensor<7x8xf32>
  %6 = fusec.broadcast %bias [1] : tensor<8xf32> to tensor<7x8xf32>
  %7 = fusec.add %5, %6 : tensor<7x8xf32>
  %8 = fusec.add %7, %4 : tensor<7x8xf32>
  fusec.output %8 : tensor<7x8xf32>
}

// -----

// A product that is needed by itself stays; so does one whose scale would need
// a kernel of its own.
// CHECK-LABEL: fusec.model @not_merged
fusec.model @not_merged inputs ["x", "w", "v"] outputs ["y", "z"] {
^bb0(%x: tensor<7x4xf32>, %w: tensor<4x8xf32>, %v: tensor<4x8xf32>):
  // CHECK-COUNT-2: fusec.contraction(%{{.+}}) by(%{{[a-z0-9]+}}) :
  %0 = fusec.matmul %x, %w : tensor<7x4xf32>, tensor<4x8xf32> to tensor<7x8xf32>
  %1 = fusec.matmul %x, %v : tensor<7x4xf32>, tensor<4x8xf32> to tensor<7x8xf32>
  %2 = fusec.transpose %1 [1, 0] : tensor<7x8xf32> to tensor<8x7xf32>
  fusec.output %0, %2 : tensor<7x8xf32>, tensor<8x7xf32>
}
