// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-pack-tables))" --split-input-file %s | FileCheck %s
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-gather-quantized,canonicalize,cse,fusec-simplify-views,fusec-form-bags,fusec-pack-tables))" --split-input-file %s | FileCheck %s --check-prefix=FORMED

// Two columns a byte, the first in the low half; a row of an odd width ends in a
// half that nothing reads.
// CHECK-LABEL: fusec.model @signed
// CHECK: %[[T:.+]] = fusec.constant dense<{{\[\[}}120, 1], [32, 3]]> : tensor<2x2xi8>
// CHECK: fusec.bag sum(%[[T]]) {{.*}} scales [1.000000e+00] packed [3] : (tensor<2x2xi8>)
fusec.model @signed inputs ["ids", "f"] outputs ["y"] {
^bb0(%ids: tensor<8x3xi64>, %f: tensor<2x1xf32>):
  %t = fusec.constant dense<[[-8, 7, 1], [0, 2, 3]]> : tensor<2x3xi8>
  %0 = fusec.bag sum (%t) at (%ids) factors (%f) flag scales [1.0] : (tensor<2x3xi8>) at (tensor<8x3xi64>) factors (tensor<2x1xf32>) -> tensor<8x3xf32>
  fusec.output %0 : tensor<8x3xf32>
}

// -----

// Of two tables one needs bytes: both keep them.
// CHECK-LABEL: fusec.model @mixed
// CHECK-NOT: packed
fusec.model @mixed inputs ["ids", "f"] outputs ["y"] {
^bb0(%ids: tensor<8x3xi64>, %f: tensor<2x1xf32>):
  %t = fusec.constant dense<[[15, 7], [0, 2]]> : tensor<2x2xui8>
  %u = fusec.constant dense<[[16, 7], [0, 2]]> : tensor<2x2xui8>
  %0 = fusec.bag sum (%t, %u) at (%ids, %ids) factors (%f, %f) flag scales [1.0, 1.0] : (tensor<2x2xui8>, tensor<2x2xui8>) at (tensor<8x3xi64>, tensor<8x3xi64>) factors (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<8x4xf32>
  fusec.output %0 : tensor<8x4xf32>
}

// -----

// Something else reads the table as bytes.
// CHECK-LABEL: fusec.model @tied
// CHECK-NOT: packed
fusec.model @tied inputs ["ids", "f"] outputs ["y", "t"] {
^bb0(%ids: tensor<8x3xi64>, %f: tensor<2x1xf32>):
  %t = fusec.constant dense<[[7, 7], [0, 2]]> : tensor<2x2xi8>
  %0 = fusec.bag sum (%t) at (%ids) factors (%f) flag scales [1.0] : (tensor<2x2xi8>) at (tensor<8x3xi64>) factors (tensor<2x1xf32>) -> tensor<8x2xf32>
  fusec.output %0, %t : tensor<8x2xf32>, tensor<2x2xi8>
}

// -----

// Lookups of such tables are bags of one, which the result's sizes hide.
// FORMED-LABEL: fusec.model @lookups
// FORMED: %[[COLUMN:.+]] = fusec.expand {{.*}} to tensor<24x1xi64>
// FORMED: %[[BAG:.+]] = fusec.bag sum({{.*}}) at(%[[COLUMN]]) factors({{.*}} packed [4] : {{.*}} -> tensor<24x4xf32>
// FORMED: fusec.expand %[[BAG]] {{.*}} to tensor<8x3x4xf32>
fusec.model @lookups inputs ["ids", "s"] outputs ["y"] {
^bb0(%ids: tensor<8x3xi64>, %s: tensor<2xf32>):
  %t = fusec.constant dense<[[7, 1, -8, 7], [0, 2, 1, 1]]> : tensor<2x4xi8>
  %0 = fusec.cast %t : tensor<2x4xi8> to tensor<2x4xf32>
  %1 = fusec.broadcast %s [0] : tensor<2xf32> to tensor<2x4xf32>
  %2 = fusec.mul %0, %1 : tensor<2x4xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %3 = fusec.gather %2 [-1, 2] (%b) flag : (tensor<2x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  fusec.output %3 : tensor<8x3x4xf32>
}
