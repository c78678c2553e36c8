// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --split-input-file %s | FileCheck %s

// The patterns of SinkExpands.cpp, as fusec-form-contractions has them.

// Bias and residual run over the product's rows; the expand comes last.
// CHECK-LABEL: fusec.model @sinks
fusec.model @sinks inputs ["x", "w", "b", "r"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%{{.+}}: tensor<6x4xf32>, %{{.+}}: tensor<4x6xf32>, %[[B:.+]]: tensor<6xf32>, %[[R:.+]]: tensor<2x3x6xf32>):
^bb0(%x: tensor<6x4xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>, %r: tensor<2x3x6xf32>):
  // CHECK-DAG: %[[P:[0-9]+]] = fusec.contraction
  // CHECK-DAG: %[[BIAS:[0-9]+]] = fusec.broadcast %[[B]] [1] : tensor<6xf32> to tensor<6x6xf32>
  // CHECK-DAG: %[[RES:[0-9]+]] = fusec.collapse %[[R]] {{\[\[}}0, 1], [2]] : tensor<2x3x6xf32> to tensor<6x6xf32>
  // CHECK-DAG: %[[S:[0-9]+]] = fusec.add %[[P]], %[[BIAS]] : tensor<6x6xf32>
  // CHECK: %[[T:[0-9]+]] = fusec.add %[[S]], %[[RES]] : tensor<6x6xf32>
  // CHECK: %[[Y:[0-9]+]] = fusec.expand %[[T]] {{\[\[}}0, 1], [2]] : tensor<6x6xf32> to tensor<2x3x6xf32>
  // CHECK-NEXT: fusec.output %[[Y]]
  %0 = fusec.matmul %x, %w : tensor<6x4xf32>, tensor<4x6xf32> to tensor<6x6xf32>
  %1 = fusec.expand %0 [[0, 1], [2]] : tensor<6x6xf32> to tensor<2x3x6xf32>
  %2 = fusec.broadcast %b [2] : tensor<6xf32> to tensor<2x3x6xf32>
  %3 = fusec.add %1, %2 : tensor<2x3x6xf32>
  %4 = fusec.add %3, %r : tensor<2x3x6xf32>
  fusec.output %4 : tensor<2x3x6xf32>
}

// -----

// No product is behind the expand.
// CHECK-LABEL: fusec.model @stays
// CHECK: %[[E:.+]] = fusec.expand
// CHECK-NEXT: fusec.add %[[E]]
fusec.model @stays inputs ["x", "r"] outputs ["y"] {
^bb0(%x: tensor<6x4xf32>, %r: tensor<2x3x4xf32>):
  %0 = fusec.expand %x [[0, 1], [2]] : tensor<6x4xf32> to tensor<2x3x4xf32>
  %1 = fusec.add %0, %r : tensor<2x3x4xf32>
  fusec.output %1 : tensor<2x3x4xf32>
}
