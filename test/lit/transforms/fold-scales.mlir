// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-fold-scales --split-input-file %s | FileCheck %s

#in = #fusec.sizes<[n, 2]>
#out = #fusec.sizes<[n, 3]>

// Batch norm after a linear layer: scale and shift, the mean before them.
// CHECK-LABEL: fusec.model @batch_norm
fusec.model @batch_norm inputs ["x"] outputs ["y"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor
^bb0(%x: tensor<?x2xf32, #in>):
  // CHECK-DAG: %[[W:.+]] = fusec.constant dense<{{\[\[}}2.000000e+00, 8.000000e+00], [6.000000e+00, 1.200000e+01], [1.000000e+01, 1.200000e+01]]> : tensor<3x2xf32>
  // CHECK-DAG: %[[B:.+]] = fusec.constant dense<[0.000000e+00, 3.000000e+00, 6.000000e+00]> : tensor<3xf32>
  // CHECK: %[[P:.+]] = fusec.matmul %[[X]], %[[W]] transposed
  // CHECK: %[[ROW:.+]] = fusec.broadcast %[[B]] [1]
  // CHECK: %[[Y:.+]] = fusec.add %[[P]], %[[ROW]]
  // CHECK: fusec.output %[[Y]]
  %w = fusec.constant dense<[[1.0, 4.0], [2.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = fusec.matmul %x, %w transposed : tensor<?x2xf32, #in>, tensor<3x2xf32> to tensor<?x3xf32, #out>
  %b = fusec.constant dense<[1.5, 1.5, 3.0]> : tensor<3xf32>
  %1 = fusec.broadcast %b [1] : tensor<3xf32> to tensor<?x3xf32, #out>
  %2 = fusec.add %0, %1 : tensor<?x3xf32, #out>
  %m = fusec.constant dense<[2.0, 1.0, 1.0]> : tensor<3xf32>
  %3 = fusec.broadcast %m [1] : tensor<3xf32> to tensor<?x3xf32, #out>
  %4 = fusec.sub %2, %3 : tensor<?x3xf32, #out>
  %s = fusec.constant dense<[2.0, 3.0, 2.0]> : tensor<3xf32>
  %5 = fusec.broadcast %s [1] : tensor<3xf32> to tensor<?x3xf32, #out>
  %6 = fusec.mul %4, %5 : tensor<?x3xf32, #out>
  %t = fusec.constant dense<[1.0, 1.5, 2.0]> : tensor<3xf32>
  %7 = fusec.broadcast %t [1] : tensor<3xf32> to tensor<?x3xf32, #out>
  %8 = fusec.add %6, %7 : tensor<?x3xf32, #out>
  fusec.output %8 : tensor<?x3xf32, #out>
}

// -----

// A norm's weight before two linear layers.
// CHECK-LABEL: fusec.model @norm_weight
fusec.model @norm_weight inputs ["x"] outputs ["y", "z"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<4x2xf16>):
^bb0(%x: tensor<4x2xf16>):
  // CHECK-DAG: %[[W:.+]] = fusec.constant dense<{{\[\[}}3.000000e+00, 6.000000e+00, 9.000000e+00], [2.000000e+00, 2.500000e+00, 3.000000e+00]]> : tensor<2x3xf16>
  // CHECK-DAG: %[[V:.+]] = fusec.constant dense<{{\[\[}}3.000000e+00, 1.000000e+00]]> : tensor<1x2xf16>
  // CHECK-DAG: %[[Y:.+]] = fusec.matmul %[[X]], %[[W]] :
  // CHECK-DAG: %[[Z:.+]] = fusec.matmul %[[X]], %[[V]] transposed
  // CHECK: fusec.output %[[Y]], %[[Z]]
  %s = fusec.constant dense<[3.0, 0.5]> : tensor<2xf16>
  %0 = fusec.broadcast %s [1] : tensor<2xf16> to tensor<4x2xf16>
  %1 = fusec.mul %0, %x : tensor<4x2xf16>
  %w = fusec.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>
  %y = fusec.matmul %1, %w : tensor<4x2xf16>, tensor<2x3xf16> to tensor<4x3xf16>
  %v = fusec.constant dense<[[1.0, 2.0]]> : tensor<1x2xf16>
  %z = fusec.matmul %1, %v transposed : tensor<4x2xf16>, tensor<1x2xf16> to tensor<4x1xf16>
  fusec.output %y, %z : tensor<4x3xf16>, tensor<4x1xf16>
}

// -----

// Not where the scaled value is needed, the scale is one of rows, the weights
// are no constant, or they would overflow.
// CHECK-LABEL: fusec.model @stays
fusec.model @stays inputs ["x", "v"] outputs ["a", "b", "c", "d", "e"] {
^bb0(%x: tensor<2x2xf16>, %v: tensor<2x2xf16>):
  // CHECK-COUNT-5: fusec.mul
  %w = fusec.constant dense<[[1.0, 2.0], [4.0, 60000.0]]> : tensor<2x2xf16>
  %s = fusec.constant dense<[3.0, 0.5]> : tensor<2xf16>
  %columns = fusec.broadcast %s [1] : tensor<2xf16> to tensor<2x2xf16>
  %rows = fusec.broadcast %s [0] : tensor<2xf16> to tensor<2x2xf16>
  %0 = fusec.matmul %x, %w : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  %a = fusec.mul %0, %columns : tensor<2x2xf16>
  %1 = fusec.matmul %v, %w : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  %b = fusec.mul %1, %rows : tensor<2x2xf16>
  %2 = fusec.matmul %x, %v : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  %c = fusec.mul %2, %columns : tensor<2x2xf16>
  %3 = fusec.matmul %v, %w transposed : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  %four = fusec.splat 4.0 : f16 : tensor<2x2xf16>
  %d = fusec.mul %3, %four : tensor<2x2xf16>
  %4 = fusec.mul %x, %columns : tensor<2x2xf16>
  %5 = fusec.matmul %4, %w : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  %e = fusec.add %5, %4 : tensor<2x2xf16>
  %f = fusec.add %0, %e : tensor<2x2xf16>
  fusec.output %a, %b, %c, %d, %f : tensor<2x2xf16>, tensor<2x2xf16>, tensor<2x2xf16>, tensor<2x2xf16>, tensor<2x2xf16>
}
