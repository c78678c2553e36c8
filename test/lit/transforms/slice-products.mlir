// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-slice-products --split-input-file %s | FileCheck %s

// Gate and value of one projection, between them every second column, with
// their bias and behind an expand: slices of the weights.
// CHECK-LABEL: fusec.model @parts_that_meet
// CHECK-DAG: %[[GATE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK-DAG: %[[VALUE:.*]] = fusec.slice %arg1 offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<8x12xf32> to tensor<8x6xf32>
// CHECK-DAG: fusec.matmul %arg0, %[[GATE]] :
// CHECK-DAG: fusec.matmul %arg0, %[[VALUE]] :
// CHECK: fusec.mul
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

// -----

// A third part goes elsewhere: one product of all columns is less work than two.
// CHECK-LABEL: fusec.model @parts_that_do_not_all_meet
// CHECK: fusec.matmul %arg0, %arg1
fusec.model @parts_that_do_not_all_meet inputs ["x", "w"] outputs ["y", "z"] {
^bb0(%x: tensor<10x8xf32>, %w: tensor<8x12xf32>):
  %0 = fusec.matmul %x, %w : tensor<10x8xf32>, tensor<8x12xf32> to tensor<10x12xf32>
  %1 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %2 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<4>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %3 = fusec.slice %0 offsets [#fusec.expr<0>, #fusec.expr<8>] steps [1, 1] : tensor<10x12xf32> to tensor<10x4xf32>
  %4 = fusec.sigmoid %1 : tensor<10x4xf32>
  %5 = fusec.mul %4, %2 : tensor<10x4xf32>
  fusec.output %5, %3 : tensor<10x4xf32>, tensor<10x4xf32>
}
