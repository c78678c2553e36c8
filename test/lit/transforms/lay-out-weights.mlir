// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-lay-out-weights=least-k=0 --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-lay-out-weights --split-input-file %s | FileCheck %s --check-prefix=SHORT
// SHORT-NOT: tensor<3x2xf32>
// SHORT-NOT: atransposed

// Constants that products read across K are transposed, those along K stay.
// CHECK-LABEL: fusec.model @across
// CHECK-NOT: tensor<2x3xf32>
// CHECK: %[[W:.*]] = fusec.constant dense<{{\[}}[1.000000e+00, 4.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// CHECK: %[[P:.*]] = fusec.matmul %{{.*}}, %[[W]] transposed : tensor<4x2xf32>, tensor<3x2xf32> to tensor<4x3xf32>
// CHECK: fusec.matmul %[[P]], %{{.*}} transposed : tensor<4x3xf32>, tensor<2x3xf32> to tensor<4x2xf32>
fusec.model @across inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x2xf32>):
  %w = fusec.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %v = fusec.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %p = fusec.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> to tensor<4x3xf32>
  %q = fusec.matmul %p, %v transposed : tensor<4x3xf32>, tensor<2x3xf32> to tensor<4x2xf32>
  fusec.output %q : tensor<4x2xf32>
}

// -----

// The left operand, and batches.
// CHECK-LABEL: fusec.model @left
// CHECK: fusec.constant dense<{{\[\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]], {{\[}}[5.000000e+00, 7.000000e+00], [6.000000e+00, 8.000000e+00]]]> : tensor<2x2x2xf32>
// CHECK: fusec.matmul %{{[^ ]*}}, %{{[^ ]*}} : tensor<2x2x2xf32>, tensor<2x2x5xf32>
fusec.model @left inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x2x5xf32>):
  %w = fusec.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %p = fusec.matmul %w transposed, %x : tensor<2x2x2xf32>, tensor<2x2x5xf32> to tensor<2x2x5xf32>
  fusec.output %p : tensor<2x2x5xf32>
}

// -----

// Factors of adapters are stored along K, too; whole weights, constants that
// are used as they are and equal elements stay.
// CHECK-LABEL: fusec.model @others
// CHECK-DAG: fusec.replaceable <"up", atransposed> dense<{{\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: fusec.replaceable <"w", whole> dense<{{\[}}[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: fusec.constant dense<{{\[}}[5.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: fusec.constant dense<7.000000e+00> : tensor<2x2xf32>
// CHECK-DAG: %[[H:.*]] = fusec.constant dense<{{\[}}[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf16>
// CHECK: fusec.matmul %{{[^ ]*}}, %{{[^ ]*}} transposed
// CHECK-NOT: transposed
// CHECK: fusec.cast
// CHECK: fusec.matmul %{{[^ ]*}}, %[[H]] transposed : tensor<2x2xf16>
fusec.model @others inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<2x2xf32>):
  %a = fusec.replaceable <"up", a> dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %w = fusec.replaceable <"w", whole> dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = fusec.constant dense<[[5.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %e = fusec.constant dense<7.0> : tensor<2x2xf32>
  %h = fusec.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
  %0 = fusec.matmul %x, %a : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %1 = fusec.matmul %0, %w : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %2 = fusec.matmul %1, %c : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %3 = fusec.matmul %2, %e : tensor<2x2xf32>, tensor<2x2xf32> to tensor<2x2xf32>
  %4 = fusec.add %3, %c : tensor<2x2xf32>
  %5 = fusec.cast %4 : tensor<2x2xf32> to tensor<2x2xf16>
  %6 = fusec.matmul %5, %h : tensor<2x2xf16>, tensor<2x2xf16> to tensor<2x2xf16>
  fusec.output %4, %6 : tensor<2x2xf32>, tensor<2x2xf16>
}

// -----

// A matrix of bytes is transposed together with what dequantises it; one that
// others read, too, stays.
// CHECK-LABEL: fusec.model @quantised
// CHECK: %[[X:.+]]: tensor<4x2xf16>
// CHECK-DAG: %[[S:.+]] = fusec.constant dense<[5.000000e-01, 1.000000e+00, 2.000000e+00]>
// CHECK-DAG: %[[Q:.+]] = fusec.constant dense<{{\[}}[1, -4], [2, 5], [3, 6]]> : tensor<3x2xi8>
// CHECK: %[[F:.+]] = fusec.cast %[[Q]] : tensor<3x2xi8> to tensor<3x2xf32>
// CHECK: %[[B:.+]] = fusec.broadcast %[[S]] [0] : tensor<3xf32> to tensor<3x2xf32>
// CHECK: %[[M:.+]] = fusec.mul %[[F]], %[[B]] : tensor<3x2xf32>
// CHECK: %[[W:.+]] = fusec.cast %[[M]] : tensor<3x2xf32> to tensor<3x2xf16>
// CHECK: fusec.matmul %[[X]], %[[W]] transposed : tensor<4x2xf16>, tensor<3x2xf16> to tensor<4x3xf16>
fusec.model @quantised inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x2xf16>):
  %q = fusec.constant dense<[[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi8>
  %s = fusec.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf32>
  %f = fusec.cast %q : tensor<2x3xi8> to tensor<2x3xf32>
  %b = fusec.broadcast %s [1] : tensor<3xf32> to tensor<2x3xf32>
  %m = fusec.mul %f, %b : tensor<2x3xf32>
  %w = fusec.cast %m : tensor<2x3xf32> to tensor<2x3xf16>
  %y = fusec.matmul %x, %w : tensor<4x2xf16>, tensor<2x3xf16> to tensor<4x3xf16>
  fusec.output %y : tensor<4x3xf16>
}

// -----

// CHECK-LABEL: fusec.model @shared
// CHECK: fusec.constant dense<{{\[}}[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi8>
fusec.model @shared inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<4x2xf16>):
  %q = fusec.constant dense<[[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi8>
  %w = fusec.cast %q : tensor<2x3xi8> to tensor<2x3xf16>
  %y = fusec.matmul %x, %w : tensor<4x2xf16>, tensor<2x3xf16> to tensor<4x3xf16>
  fusec.output %y, %w : tensor<4x3xf16>, tensor<2x3xf16>
}

// -----

// What dequantises a constant follows it at once, and is erased with it.
// CHECK-LABEL: fusec.model @follows
// CHECK: fusec.constant dense<{{\[}}[1, -4], [2, 5], [3, 6]]> : tensor<3x2xi8>
// CHECK: fusec.matmul %{{.*}}, %{{.*}} transposed
fusec.model @follows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x2xf16>):
  %q = fusec.constant dense<[[1, 2, 3], [-4, 5, 6]]> : tensor<2x3xi8>
  %c = fusec.cast %q : tensor<2x3xi8> to tensor<2x3xf16>
  %y = fusec.matmul %x, %c : tensor<4x2xf16>, tensor<2x3xf16> to tensor<4x3xf16>
  fusec.output %y : tensor<4x3xf16>
}
