// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-narrow-products=type=bf16 --fusec-fold-constants --split-input-file %s | FileCheck %s
// RUN: not fusec-opt --fusec-narrow-products=type=f64 %s 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: for the --type option: Cannot find option named 'f64'

// A weight is rounded when compiling, before its views; the activation in the
// program. The sum stays fp32.
// CHECK-LABEL: fusec.model @weight
fusec.model @weight inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<8x2xf32>):
  // CHECK-DAG: %[[T:.+]] = fusec.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xbf16>
  // CHECK-DAG: %[[X:.+]] = fusec.cast %{{.+}} : tensor<8x2xf32> to tensor<8x2xbf16>
  // CHECK: fusec.contraction(%[[X]]) by(%[[T]]) : (tensor<8x2xbf16>), (tensor<2x2xbf16>) -> tensor<8x2xf32>
  %w = fusec.constant dense<[[1.0, 2.0], [3.0, 4.001]]> : tensor<2x2xf32>
  %t = fusec.transpose %w [1, 0] : tensor<2x2xf32> to tensor<2x2xf32>
  %y = fusec.contraction (%x) by (%t) : (tensor<8x2xf32>), (tensor<2x2xf32>) -> tensor<8x2xf32>
  fusec.output %y : tensor<8x2xf32>
}

// -----

// Products of other types stay.
// CHECK-LABEL: fusec.model @double
fusec.model @double inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<8x2xf64>, %w: tensor<2x2xf64>):
  // CHECK-NOT: fusec.cast
  %y = fusec.contraction (%x) by (%w) : (tensor<8x2xf64>), (tensor<2x2xf64>) -> tensor<8x2xf64>
  fusec.output %y : tensor<8x2xf64>
}
