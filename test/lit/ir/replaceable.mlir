// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: fusec-opt %s | FileCheck %s
// RUN: fusec-opt %s --pass-pipeline='builtin.module(fusec.model(canonicalize,cse,fusec-fold-constants,fusec-fold-scales))' | FileCheck %s

// Nothing folds a replaceable constant, and equal ones stay apart.
// CHECK-LABEL: @main
fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x8xf32>):
  // CHECK: fusec.replaceable <"up", a> dense<1.000000e+00> : tensor<8x8xf32>
  %a = fusec.replaceable <"up", a> dense<1.0> : tensor<8x8xf32>
  // CHECK: fusec.replaceable <"up", b> dense<1.000000e+00> : tensor<8x8xf32>
  %b = fusec.replaceable <"up", b> dense<1.0> : tensor<8x8xf32>
  // CHECK: fusec.splat
  %s = fusec.splat 2.0 : f32 : tensor<4x8xf32>
  // CHECK: fusec.matmul
  %t = fusec.matmul %x, %a : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  // CHECK: fusec.mul
  %u = fusec.mul %t, %s : tensor<4x8xf32>
  // CHECK: fusec.matmul
  %v = fusec.matmul %u, %b : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  fusec.output %v : tensor<4x8xf32>
}

// Whole weights have any type and rank, and stay apart as well.
// CHECK-LABEL: @whole
fusec.model @whole inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x8xf32>):
  // CHECK: %[[B:.+]] = fusec.replaceable <"bias", whole> dense<0.000000e+00> : tensor<4x8xf32>
  %b = fusec.replaceable <"bias", whole> dense<0.0> : tensor<4x8xf32>
  // CHECK: fusec.add %{{.+}}, %[[B]]
  %y = fusec.add %x, %b : tensor<4x8xf32>
  fusec.output %y : tensor<4x8xf32>
}
