// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-contractions --split-input-file %s | FileCheck %s

// The passes together, each of which has a file of its own here.

// Two views of one operand are one left operand.
// CHECK-LABEL: fusec.model @transposed_gating
fusec.model @transposed_gating inputs ["x", "w", "v"] outputs ["y"] {
^bb0(%x: tensor<4x3xf32>, %w: tensor<4x6xf32>, %v: tensor<4x6xf32>):
  // CHECK: %[[X:.+]] = fusec.transpose
  // CHECK-NEXT: %{{.+}}:2 = fusec.contraction(%[[X]]) by(%{{.+}}, %{{.+}}) : (tensor<3x4xf32>)
  %0 = fusec.matmul %x transposed, %w : tensor<4x3xf32>, tensor<4x6xf32> to tensor<3x6xf32>
  %1 = fusec.matmul %x transposed, %v : tensor<4x3xf32>, tensor<4x6xf32> to tensor<3x6xf32>
  %2 = fusec.mul %0, %1 : tensor<3x6xf32>
  fusec.output %2 : tensor<3x6xf32>
}

// -----

// Batches that share matrices: bias, gate and residual run over the joined rows.
// CHECK-LABEL: fusec.model @batched_gating
fusec.model @batched_gating inputs ["x", "w", "v", "b", "r"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<?x3x4xf32, {{.*}}>, %[[W:.+]]: tensor<4x6xf32>, %[[V:.+]]: tensor<4x6xf32>, %[[B:.+]]: tensor<6xf32>, %[[R:.+]]: tensor<?x3x6xf32, {{.*}}>):
^bb0(%x: tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, %w: tensor<4x6xf32>, %v: tensor<4x6xf32>, %b: tensor<6xf32>, %r: tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>):
  // CHECK-DAG: %[[ROWS:[0-9]+]] = fusec.collapse %[[X]] {{\[\[}}0, 1], [2]]
  // CHECK-DAG: %[[BIAS:[0-9]+]] = fusec.broadcast %[[B]] [1] : tensor<6xf32> to tensor<?x6xf32, #fusec.sizes<[n * 3, 6]>>
  // CHECK-DAG: %[[P:[0-9]+]]:2 = fusec.contraction(%[[ROWS]]) by(%[[W]], %[[V]])
  // CHECK-DAG: %[[A:[0-9]+]] = fusec.add %[[P]]#0, %[[BIAS]]
  // CHECK-DAG: %[[G:[0-9]+]] = fusec.mul %[[A]], %[[P]]#1
  // CHECK-DAG: %[[RES:[0-9]+]] = fusec.collapse %[[R]] {{\[\[}}0, 1], [2]]
  // CHECK-DAG: %[[S:[0-9]+]] = fusec.add %[[RES]], %[[G]] : tensor<?x6xf32
  // CHECK: %[[Y:[0-9]+]] = fusec.expand %[[S]] {{\[\[}}0, 1], [2]]
  // CHECK-NEXT: fusec.output %[[Y]]
  %bw = fusec.broadcast %w [1, 2] : tensor<4x6xf32> to tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>>
  %bv = fusec.broadcast %v [1, 2] : tensor<4x6xf32> to tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>>
  %0 = fusec.matmul %x, %bw : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %1 = fusec.matmul %x, %bv : tensor<?x3x4xf32, #fusec.sizes<[n, 3, 4]>>, tensor<?x4x6xf32, #fusec.sizes<[n, 4, 6]>> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %2 = fusec.broadcast %b [2] : tensor<6xf32> to tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %3 = fusec.add %0, %2 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %4 = fusec.mul %3, %1 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  %5 = fusec.add %r, %4 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
  fusec.output %5 : tensor<?x3x6xf32, #fusec.sizes<[n, 3, 6]>>
}

// -----

// Gate and value of one projection, between them every second column, with
// their bias and behind an expand: slices of the weights.
// CHECK-LABEL: fusec.model @parts_that_meet
// CHECK-DAG: %[[GATE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK-DAG: %[[VALUE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK: fusec.contraction(%arg0) by(%[[GATE]], %[[VALUE]]) :
// CHECK: fusec.mul
// CHECK-NEXT: fusec.expand
fusec.model @parts_that_meet inputs ["x", "w", "b"] outputs ["y"] {
^bb0(%x: tensor<10x8xf32>, %w: tensor<8x12xf32>, %b: tensor<12xf32>):
  %0 = fusec.matmul %x, %w : tensor<10x8xf32>, tensor<8x12xf32> to tensor<10x12xf32>
  %1 = fusec.expand %0 [[0, 1], [2]] : tensor<10x12xf32> to tensor<2x5x12xf32>
  %2 = fusec.broadcast %b [2] : tensor<12xf32> to tensor<2x5x12xf32>
  %3 = fusec.add %1, %2 : tensor<2x5x12xf32>
  %4 = fusec.slice %3 offsets [#fusec.expr<0>, #fusec.expr<0>, #fusec.expr<0>] steps [1, 1, 2] : tensor<2x5x12xf32> to tensor<2x5x6xf32>
  %5 = fusec.slice %3 offsets [#fusec.expr<0>, #fusec.expr<0>, #fusec.expr<1>] steps [1, 1, 2] : tensor<2x5x12xf32> to tensor<2x5x6xf32>
  %6 = fusec.sigmoid %4 : tensor<2x5x6xf32>
  %7 = fusec.mul %6, %5 : tensor<2x5x6xf32>
  fusec.output %7 : tensor<2x5x6xf32>
}
