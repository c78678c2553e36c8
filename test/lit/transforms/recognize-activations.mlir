// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-recognize-activations --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-expand-powers --fusec-recognize-activations --split-input-file %s | FileCheck %s

// CHECK-LABEL: fusec.model @silu
fusec.model @silu inputs ["x"] outputs ["a", "b"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf32>):
^bb0(%x: tensor<8xf32>):
  // CHECK-DAG: %[[A:.+]] = fusec.silu %[[X]]
  // CHECK-DAG: %[[B:.+]] = fusec.silu %[[X]]
  // CHECK: fusec.output %[[A]], %[[B]]
  %0 = fusec.sigmoid %x : tensor<8xf32>
  %1 = fusec.mul %0, %x : tensor<8xf32>
  %2 = fusec.neg %x : tensor<8xf32>
  %3 = fusec.exp %2 : tensor<8xf32>
  %4 = fusec.splat 1.0 : f32 : tensor<8xf32>
  %5 = fusec.add %4, %3 : tensor<8xf32>
  %6 = fusec.div %x, %5 : tensor<8xf32>
  fusec.output %1, %6 : tensor<8xf32>, tensor<8xf32>
}

// -----

// x / sqrt 2, and 0.5 taken before or after.
// CHECK-LABEL: fusec.model @gelu
fusec.model @gelu inputs ["x"] outputs ["a", "b"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf16>):
^bb0(%x: tensor<8xf16>):
  // CHECK-DAG: %[[A:.+]] = fusec.gelu %[[X]]
  // CHECK-DAG: %[[B:.+]] = fusec.gelu %[[X]]
  // CHECK: fusec.output %[[A]], %[[B]]
  %root = fusec.splat 1.4142135 : f16 : tensor<8xf16>
  %one = fusec.splat 1.0 : f16 : tensor<8xf16>
  %half = fusec.splat 0.5 : f16 : tensor<8xf16>
  %0 = fusec.div %x, %root : tensor<8xf16>
  %1 = fusec.erf %0 : tensor<8xf16>
  %2 = fusec.add %1, %one : tensor<8xf16>
  %3 = fusec.mul %x, %2 : tensor<8xf16>
  %4 = fusec.mul %3, %half : tensor<8xf16>
  %5 = fusec.mul %half, %x : tensor<8xf16>
  %6 = fusec.mul %5, %2 : tensor<8xf16>
  fusec.output %4, %6 : tensor<8xf16>, tensor<8xf16>
}

// -----

// x itself may be a product.
// CHECK-LABEL: fusec.model @gelu_of_product
fusec.model @gelu_of_product inputs ["a", "b"] outputs ["y"] {
^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
  // CHECK: %[[X:.+]] = fusec.mul
  // CHECK: %[[Y:.+]] = fusec.gelu %[[X]]
  // CHECK: fusec.output %[[Y]]
  %x = fusec.mul %a, %b : tensor<8xf32>
  %root = fusec.constant dense<0.70710677> : tensor<8xf32>
  %one = fusec.splat 1.0 : f32 : tensor<8xf32>
  %half = fusec.splat 0.5 : f32 : tensor<8xf32>
  %0 = fusec.mul %x, %root : tensor<8xf32>
  %1 = fusec.erf %0 : tensor<8xf32>
  %2 = fusec.add %1, %one : tensor<8xf32>
  %3 = fusec.mul %half, %2 : tensor<8xf32>
  %4 = fusec.mul %x, %3 : tensor<8xf32>
  fusec.output %4 : tensor<8xf32>
}

// -----

// CHECK-LABEL: fusec.model @gelu_tanh
fusec.model @gelu_tanh inputs ["x"] outputs ["a", "b"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf32>):
^bb0(%x: tensor<8xf32>):
  // CHECK-DAG: %[[A:.+]] = fusec.gelu_tanh %[[X]]
  // CHECK-DAG: %[[B:.+]] = fusec.gelu_tanh %[[X]]
  // CHECK: fusec.output %[[A]], %[[B]]
  %three = fusec.splat 3.0 : f32 : tensor<8xf32>
  %c = fusec.splat 0.044715 : f32 : tensor<8xf32>
  %d = fusec.splat 0.7978846 : f32 : tensor<8xf32>
  %one = fusec.splat 1.0 : f32 : tensor<8xf32>
  %half = fusec.splat 0.5 : f32 : tensor<8xf32>
  %0 = fusec.pow %x, %three : tensor<8xf32>
  %1 = fusec.mul %0, %c : tensor<8xf32>
  %2 = fusec.add %x, %1 : tensor<8xf32>
  %3 = fusec.mul %d, %2 : tensor<8xf32>
  %4 = fusec.tanh %3 : tensor<8xf32>
  %5 = fusec.add %one, %4 : tensor<8xf32>
  %6 = fusec.mul %x, %half : tensor<8xf32>
  %7 = fusec.mul %6, %5 : tensor<8xf32>
  %8 = fusec.mul %x, %x : tensor<8xf32>
  %9 = fusec.mul %8, %x : tensor<8xf32>
  %10 = fusec.mul %c, %9 : tensor<8xf32>
  %11 = fusec.add %10, %x : tensor<8xf32>
  %12 = fusec.mul %11, %d : tensor<8xf32>
  %13 = fusec.tanh %12 : tensor<8xf32>
  %14 = fusec.add %13, %one : tensor<8xf32>
  %15 = fusec.mul %half, %14 : tensor<8xf32>
  %16 = fusec.mul %15, %x : tensor<8xf32>
  fusec.output %7, %16 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: fusec.model @others
fusec.model @others inputs ["x", "i"] outputs ["a", "b", "c", "d", "e", "f"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf32>, %[[I:.+]]: tensor<8xi32>):
^bb0(%x: tensor<8xf32>, %i: tensor<8xi32>):
  // CHECK-DAG: %[[A:.+]] = fusec.rsqrt %[[X]]
  // CHECK-DAG: %[[B:.+]] = fusec.rsqrt %[[X]]
  // CHECK-DAG: %[[C:.+]] = fusec.sigmoid %[[X]]
  // CHECK-DAG: %[[D:.+]] = fusec.softplus %[[X]]
  // CHECK-DAG: %[[E:.+]] = fusec.relu %[[X]]
  // CHECK-DAG: %[[F:.+]] = fusec.relu %[[I]]
  // CHECK: fusec.output %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]]
  %one = fusec.splat 1.0 : f32 : tensor<8xf32>
  %zero = fusec.splat 0.0 : f32 : tensor<8xf32>
  %none = fusec.splat 0 : i32 : tensor<8xi32>
  %0 = fusec.sqrt %x : tensor<8xf32>
  %a = fusec.reciprocal %0 : tensor<8xf32>
  %b = fusec.div %one, %0 : tensor<8xf32>
  %1 = fusec.neg %x : tensor<8xf32>
  %2 = fusec.exp %1 : tensor<8xf32>
  %3 = fusec.add %2, %one : tensor<8xf32>
  %c = fusec.reciprocal %3 : tensor<8xf32>
  %4 = fusec.exp %x : tensor<8xf32>
  %5 = fusec.add %4, %one : tensor<8xf32>
  %d = fusec.log %5 : tensor<8xf32>
  %e = fusec.max %zero, %x : tensor<8xf32>
  %f = fusec.max %i, %none : tensor<8xi32>
  fusec.output %a, %b, %c, %d, %e, %f
    : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>
}

// -----

// Nearly the expansions, but not: other constants, other operands, integers.
// CHECK-LABEL: fusec.model @none
fusec.model @none inputs ["x", "y", "i"] outputs ["a", "b", "c", "d"] {
^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>, %i: tensor<8xi32>):
  // CHECK-NOT: fusec.silu
  // CHECK-NOT: fusec.gelu
  // CHECK-NOT: fusec.softplus
  %0 = fusec.sigmoid %x : tensor<8xf32>
  %a = fusec.mul %0, %y : tensor<8xf32>
  %root = fusec.splat 0.7 : f32 : tensor<8xf32>
  %one = fusec.splat 1.0 : f32 : tensor<8xf32>
  %half = fusec.splat 0.5 : f32 : tensor<8xf32>
  %1 = fusec.mul %x, %root : tensor<8xf32>
  %2 = fusec.erf %1 : tensor<8xf32>
  %3 = fusec.add %2, %one : tensor<8xf32>
  %4 = fusec.mul %x, %3 : tensor<8xf32>
  %b = fusec.mul %4, %half : tensor<8xf32>
  %5 = fusec.exp %x : tensor<8xf32>
  %6 = fusec.add %5, %half : tensor<8xf32>
  %c = fusec.log %6 : tensor<8xf32>
  %n = fusec.splat 1 : i32 : tensor<8xi32>
  %d = fusec.div %n, %i : tensor<8xi32>
  fusec.output %a, %b, %c, %d : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>
}
