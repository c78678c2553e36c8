// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-invert-sums %s | FileCheck %s

// A softmax's row has one inverse. Other sums, and other quotients, stay: the
// inverse of a sum that may be small would be infinite.
// CHECK-LABEL: fusec.model @softmax
// CHECK: %[[E:.+]] = fusec.exp
// CHECK: %[[S:.+]] = fusec.reduce sum %[[E]]
// CHECK: %[[I:.+]] = fusec.reciprocal %[[S]] : tensor<4xf32>
// CHECK: %[[R:.+]] = fusec.broadcast %[[I]] [0]
// CHECK: %[[Y:.+]] = fusec.mul %[[E]], %[[R]] : tensor<4x8xf32>
// CHECK: fusec.yield %[[Y]]
fusec.model @softmax inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x8xf32>):
  %0 = fusec.fusion reduce "reduce_sub_exp_div" (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %l = fusec.reduce max %a axes [1] : tensor<4x8xf32> to tensor<4xf32>
    %r = fusec.broadcast %l [0] : tensor<4xf32> to tensor<4x8xf32>
    %b = fusec.sub %a, %r : tensor<4x8xf32>
    %1 = fusec.exp %b : tensor<4x8xf32>
    %2 = fusec.reduce sum %1 axes [1] : tensor<4x8xf32> to tensor<4xf32>
    %3 = fusec.broadcast %2 [0] : tensor<4xf32> to tensor<4x8xf32>
    %4 = fusec.div %1, %3 : tensor<4x8xf32>
    fusec.yield %4 : tensor<4x8xf32>
  }
  fusec.output %0 : tensor<4x8xf32>
}

// CHECK-LABEL: fusec.model @others
// CHECK-NOT: fusec.reciprocal
// CHECK-COUNT-5: fusec.div
// CHECK-NOT: fusec.reciprocal
fusec.model @others inputs ["x", "h"] outputs ["y", "z", "q", "w", "v"] {
^bb0(%x: tensor<4x8xf32>, %h: tensor<4x8xf16>):
  %0:3 = fusec.fusion reduce "reduce_div" (%x) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = fusec.reduce sum %a axes [1] : tensor<4x8xf32> to tensor<4xf32>
    %2 = fusec.broadcast %1 [0] : tensor<4xf32> to tensor<4x8xf32>
    %3 = fusec.div %a, %2 : tensor<4x8xf32>
    %4 = fusec.exp %a : tensor<4x8xf32>
    %5 = fusec.div %4, %2 : tensor<4x8xf32>
    %s = fusec.reduce sum %4 axes [1] : tensor<4x8xf32> to tensor<4xf32>
    %r = fusec.broadcast %s [0] : tensor<4xf32> to tensor<4x8xf32>
    %q = fusec.div %4, %r : tensor<4x8xf32>
    fusec.yield %3, %5, %q : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  %6 = fusec.fusion reduce "exp_reduce_div" (%h) : (tensor<4x8xf16>) -> tensor<4x8xf16> {
  ^bb0(%b: tensor<4x8xf16>):
    %l = fusec.reduce max %b axes [1] : tensor<4x8xf16> to tensor<4xf16>
    %r = fusec.broadcast %l [0] : tensor<4xf16> to tensor<4x8xf16>
    %d = fusec.sub %b, %r : tensor<4x8xf16>
    %7 = fusec.exp %d : tensor<4x8xf16>
    %8 = fusec.reduce sum %7 axes [1] : tensor<4x8xf16> to tensor<4xf16>
    %9 = fusec.broadcast %8 [0] : tensor<4xf16> to tensor<4x8xf16>
    %10 = fusec.div %7, %9 : tensor<4x8xf16>
    fusec.yield %10 : tensor<4x8xf16>
  }
  // Below the largest of other rows than are summed.
  %11 = fusec.fusion reduce "reduce_sub_exp_div" (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %l = fusec.reduce max %a axes [0] : tensor<4x8xf32> to tensor<8xf32>
    %r = fusec.broadcast %l [1] : tensor<8xf32> to tensor<4x8xf32>
    %d = fusec.sub %a, %r : tensor<4x8xf32>
    %e = fusec.exp %d : tensor<4x8xf32>
    %s = fusec.reduce sum %e axes [1] : tensor<4x8xf32> to tensor<4xf32>
    %t = fusec.broadcast %s [0] : tensor<4xf32> to tensor<4x8xf32>
    %q = fusec.div %e, %t : tensor<4x8xf32>
    fusec.yield %q : tensor<4x8xf32>
  }
  fusec.output %0#0, %0#1, %0#2, %6, %11 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>
}
