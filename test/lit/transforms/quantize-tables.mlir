// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-quantize-tables,fusec-form-bags,cse))" --split-input-file %s 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAID --input-file=%t

// A factor a row, so that its largest element is 127; what is off by most is said.
// What else reads a table keeps its floats.
// SAID: warning: the table is quantised to int8: the largest error is 0.002, and the largest element 1.27
// SAID-NOT: warning
// CHECK-LABEL: fusec.model @lookup
// CHECK-DAG: %[[T:.+]] = fusec.constant dense<{{\[\[}}127, -64], [0, 0]]> : tensor<2x2xi8>
// CHECK-DAG: %[[F:.+]] = fusec.constant dense<{{\[\[}}0.00999999977], [0.000000e+00]]> : tensor<2x1xf32>
// CHECK: fusec.bag sum(%[[T]]) at(%{{.+}}) factors(%[[F]])
// CHECK: fusec.mul
fusec.model @lookup inputs ["ids", "x"] outputs ["y", "z"] {
^bb0(%ids: tensor<8x3xi64>, %x: tensor<2x2xf32>):
  %t = fusec.constant dense<[[1.27, -0.642], [0.0, 0.0]]> : tensor<2x2xf32>
  %tied = fusec.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x2xi64>
  %0 = fusec.gather %t [-1, 2] (%b) flag : (tensor<2x2xf32>, tensor<8x3x2xi64>) -> tensor<8x3x2xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<8x3x2xf32> to tensor<8x2xf32>
  %2 = fusec.gather %tied [-1, 2] (%b) flag : (tensor<2x2xf32>, tensor<8x3x2xi64>) -> tensor<8x3x2xf32>
  %3 = fusec.mul %tied, %x : tensor<2x2xf32>
  %4 = fusec.reduce sum %2 axes [1] : tensor<8x3x2xf32> to tensor<8x2xf32>
  %5 = fusec.add %1, %4 : tensor<8x2xf32>
  fusec.output %5, %3 : tensor<8x2xf32>, tensor<2x2xf32>
}
