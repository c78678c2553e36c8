// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-widen-pointwise %s | FileCheck %s

// One rounding, at the store; the cast of the model stays.
// CHECK-LABEL: fusec.model @chain
// CHECK: fusec.fusion
// CHECK: ^bb0(%[[X:.+]]: tensor<8xf16>):
// CHECK: %[[W:.+]] = fusec.cast %[[X]] : tensor<8xf16> to tensor<8xf32>
// CHECK: %[[A:.+]] = fusec.add %[[W]], %[[W]] : tensor<8xf32>
// CHECK: %[[E:.+]] = fusec.exp %[[A]] : tensor<8xf32>
// CHECK: %[[N:.+]] = fusec.cast %[[E]] : tensor<8xf32> to tensor<8xf16>
// CHECK: %[[M:.+]] = fusec.cast %[[N]] : tensor<8xf16> to tensor<8xi32>
// CHECK: fusec.yield %[[N]], %[[M]]
fusec.model @chain inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<8xf16>):
  %0:2 = fusec.fusion pointwise "add_exp" (%x) : (tensor<8xf16>) -> (tensor<8xf16>, tensor<8xi32>) {
  ^bb0(%a: tensor<8xf16>):
    %1 = fusec.add %a, %a : tensor<8xf16>
    %2 = fusec.exp %1 : tensor<8xf16>
    %3 = fusec.cast %2 : tensor<8xf16> to tensor<8xi32>
    fusec.yield %2, %3 : tensor<8xf16>, tensor<8xi32>
  }
  fusec.output %0#0, %0#1 : tensor<8xf16>, tensor<8xi32>
}

// A matmul's sum reaches its epilogue as it was accumulated.
// CHECK-LABEL: fusec.model @epilogue
// CHECK: %[[C:.+]] = fusec.contraction({{.*}}) -> tensor<8x6xf32>
// CHECK: %[[R:.+]] = fusec.relu %[[C]] : tensor<8x6xf32>
// CHECK: fusec.cast %[[R]] : tensor<8x6xf32> to tensor<8x6xbf16>
fusec.model @epilogue inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xbf16>, %w: tensor<4x6xbf16>):
  %0 = fusec.fusion gemm "matmul_relu" (%x, %w) : (tensor<8x4xbf16>, tensor<4x6xbf16>) -> tensor<8x6xbf16> {
  ^bb0(%a: tensor<8x4xbf16>, %b: tensor<4x6xbf16>):
    %1 = fusec.contraction (%a) by (%b) : (tensor<8x4xbf16>), (tensor<4x6xbf16>) -> tensor<8x6xbf16>
    %2 = fusec.relu %1 : tensor<8x6xbf16>
    fusec.yield %2 : tensor<8x6xbf16>
  }
  fusec.output %0 : tensor<8x6xbf16>
}

// A concat that is only stored moves rounded values: the store sees its slices.
// CHECK-LABEL: fusec.model @stored_concat
fusec.model @stored_concat inputs ["x", "y"] outputs ["z"] {
^bb0(%x: tensor<8xf16>, %y: tensor<8xf16>):
  // CHECK: %[[A:.+]] = fusec.cast %{{.+}} : tensor<8xf32> to tensor<8xf16>
  // CHECK: %[[B:.+]] = fusec.cast %{{.+}} : tensor<8xf32> to tensor<8xf16>
  // CHECK: %[[C:.+]] = fusec.concat %[[A]], %[[B]] axis 0
  // CHECK: fusec.yield %[[C]]
  %z = fusec.fusion pointwise "f" (%x, %y) : (tensor<8xf16>, tensor<8xf16>) -> tensor<16xf16> {
  ^bb0(%a: tensor<8xf16>, %b: tensor<8xf16>):
    %0 = fusec.exp %a : tensor<8xf16>
    %1 = fusec.tanh %b : tensor<8xf16>
    %2 = fusec.concat %0, %1 axis 0 : tensor<8xf16>, tensor<8xf16> to tensor<16xf16>
    fusec.yield %2 : tensor<16xf16>
  }
  fusec.output %z : tensor<16xf16>
}

// What one sum reads is not rounded for it, though the model widens it itself;
// what the model narrows is, and so is what several ops read.
// CHECK-LABEL: fusec.model @sums
fusec.model @sums inputs ["x"] outputs ["s", "t", "u"] {
^bb0(%x: tensor<8x4xf16>):
  // CHECK: %[[E:.+]] = fusec.exp %{{.+}} : tensor<8x4xf32>
  // CHECK: fusec.reduce sum %[[E]] axes [1]
  %s = fusec.fusion reduce "exp_sum" (%x) : (tensor<8x4xf16>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf16>):
    %0 = fusec.exp %a : tensor<8x4xf16>
    %1 = fusec.cast %0 : tensor<8x4xf16> to tensor<8x4xf32>
    %2 = fusec.reduce sum %1 axes [1] : tensor<8x4xf32> to tensor<8xf32>
    fusec.yield %2 : tensor<8xf32>
  }
  // CHECK: %[[W:.+]] = fusec.cast %{{.+}} : tensor<8x4xf16> to tensor<8x4xf32>
  // CHECK: %[[T:.+]] = fusec.exp %[[W]] : tensor<8x4xf32>
  // CHECK: %[[N:.+]] = fusec.cast %[[T]] : tensor<8x4xf32> to tensor<8x4xf16>
  // CHECK: %[[R:.+]] = fusec.cast %[[N]] : tensor<8x4xf16> to tensor<8x4xf32>
  // CHECK: fusec.reduce sum %[[R]] axes [1]
  %t = fusec.fusion reduce "narrowed" (%x) : (tensor<8x4xf16>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x4xf16>):
    %0 = fusec.cast %a : tensor<8x4xf16> to tensor<8x4xf32>
    %1 = fusec.exp %0 : tensor<8x4xf32>
    %2 = fusec.cast %1 : tensor<8x4xf32> to tensor<8x4xf16>
    %3 = fusec.cast %2 : tensor<8x4xf16> to tensor<8x4xf32>
    %4 = fusec.reduce sum %3 axes [1] : tensor<8x4xf32> to tensor<8xf32>
    fusec.yield %4 : tensor<8xf32>
  }
  // CHECK: %[[V:.+]] = fusec.exp %{{.+}} : tensor<8x4xf32>
  // CHECK: %[[O:.+]] = fusec.cast %[[V]] : tensor<8x4xf32> to tensor<8x4xf16>
  // CHECK: %[[U:.+]] = fusec.cast %[[O]] : tensor<8x4xf16> to tensor<8x4xf32>
  // CHECK: fusec.reduce max %[[U]] axes [1]
  // CHECK: fusec.sub %[[U]]
  %u = fusec.fusion reduce "twice" (%x) : (tensor<8x4xf16>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf16>):
    %0 = fusec.exp %a : tensor<8x4xf16>
    %1 = fusec.cast %0 : tensor<8x4xf16> to tensor<8x4xf32>
    %2 = fusec.reduce max %1 axes [1] : tensor<8x4xf32> to tensor<8xf32>
    %3 = fusec.broadcast %2 [0] : tensor<8xf32> to tensor<8x4xf32>
    %4 = fusec.sub %1, %3 : tensor<8x4xf32>
    fusec.yield %4 : tensor<8x4xf32>
  }
  fusec.output %s, %t, %u : tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>
}
