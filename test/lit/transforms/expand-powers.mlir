// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PyTorch's exporter writes of x.pow(2), as in every RMSNorm.

// RUN: fusec-opt --fusec-expand-powers --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-expand-powers=exact --split-input-file %s | FileCheck %s --check-prefix=EXACT

// Cubes and roots are not those of the power to the last bit.
// CHECK-LABEL: fusec.model @floats
// EXACT-LABEL: fusec.model @floats
// EXACT-COUNT-3: fusec.pow
// EXACT-NOT: fusec.pow
fusec.model @floats inputs ["x"] outputs ["a", "b", "c", "d", "e", "f"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf16>):
^bb0(%x: tensor<8xf16>):
  // CHECK-DAG: %[[A:.+]] = fusec.mul %[[X]], %[[X]]
  // CHECK-DAG: %[[SQUARE:.+]] = fusec.mul %[[X]], %[[X]]
  // CHECK-DAG: %[[B:.+]] = fusec.mul %[[SQUARE]], %[[X]]
  // CHECK-DAG: %[[C:.+]] = fusec.reciprocal %[[X]]
  // CHECK-DAG: %[[D:.+]] = fusec.sqrt %[[X]]
  // CHECK-DAG: %[[E:.+]] = fusec.rsqrt %[[X]]
  // CHECK: fusec.output %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[X]]
  %two = fusec.splat 2.0 : f16 : tensor<8xf16>
  %three = fusec.constant dense<3.0> : tensor<8xf16>
  %minus = fusec.splat -1.0 : f16 : tensor<8xf16>
  %half = fusec.splat 0.5 : f16 : tensor<8xf16>
  %minusHalf = fusec.splat -0.5 : f16 : tensor<8xf16>
  %one = fusec.splat 1.0 : f16 : tensor<8xf16>
  %0 = fusec.pow %x, %two : tensor<8xf16>
  %1 = fusec.pow %x, %three : tensor<8xf16>
  %2 = fusec.pow %x, %minus : tensor<8xf16>
  %3 = fusec.pow %x, %half : tensor<8xf16>
  %4 = fusec.pow %x, %minusHalf : tensor<8xf16>
  %5 = fusec.pow %x, %one : tensor<8xf16>
  fusec.output %0, %1, %2, %3, %4, %5 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>
}

// -----

// Integers have no reciprocal; other exponents stay.
// CHECK-LABEL: fusec.model @others
// EXACT-LABEL: fusec.model @others
fusec.model @others inputs ["x", "i"] outputs ["a", "b", "c"] {
// CHECK-NEXT: ^bb0(%[[X:.+]]: tensor<8xf32>, %[[I:.+]]: tensor<8xi32>):
^bb0(%x: tensor<8xf32>, %i: tensor<8xi32>):
  // CHECK-DAG: %[[A:.+]] = fusec.mul %[[I]], %[[I]]
  // CHECK-DAG: %[[B:.+]] = fusec.pow %[[I]]
  // CHECK-DAG: %[[C:.+]] = fusec.pow %[[X]]
  // CHECK: fusec.output %[[A]], %[[B]], %[[C]]
  %two = fusec.splat 2 : i32 : tensor<8xi32>
  %minus = fusec.splat -1 : i32 : tensor<8xi32>
  %odd = fusec.splat 2.5 : f32 : tensor<8xf32>
  %0 = fusec.pow %i, %two : tensor<8xi32>
  %1 = fusec.pow %i, %minus : tensor<8xi32>
  %2 = fusec.pow %x, %odd : tensor<8xf32>
  fusec.output %0, %1, %2 : tensor<8xi32>, tensor<8xi32>, tensor<8xf32>
}
