// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: fusec-opt %s --fusec-recognize-ranges --split-input-file | FileCheck %s

// CHECK-LABEL: fusec.model @counts
// CHECK: %[[R:.*]] = fusec.iota 1 : tensor<1x16xi64>
// CHECK: fusec.collapse %[[R]]
fusec.model @counts inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16xi64>):
  %r = fusec.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<1x16xi64>
  %v = fusec.collapse %r [[0, 1]] : tensor<1x16xi64> to tensor<16xi64>
  %y = fusec.add %x, %v : tensor<16xi64>
  fusec.output %y : tensor<16xi64>
}

// -----

// One element is not its index; few are loaded; rows that are gathered are
// looked at by others.
// CHECK-LABEL: fusec.model @others
// CHECK-COUNT-3: fusec.constant
// CHECK-NOT: fusec.iota
fusec.model @others inputs ["x", "z", "t"] outputs ["a", "b", "c"] {
^bb0(%x: tensor<16xi32>, %z: tensor<4xi64>, %t: tensor<20x8xf32>):
  %r = fusec.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 14]> : tensor<16xi32>
  %a = fusec.add %x, %r : tensor<16xi32>
  %s = fusec.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %b = fusec.add %z, %s : tensor<4xi64>
  %i = fusec.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi64>
  %v = fusec.broadcast %i [0] : tensor<16xi64> to tensor<16x8xi64>
  %c = fusec.gather %t [-1, 1] (%v) zero : (tensor<20x8xf32>, tensor<16x8xi64>) -> tensor<16x8xf32>
  fusec.output %a, %b, %c : tensor<16xi32>, tensor<4xi64>, tensor<16x8xf32>
}
