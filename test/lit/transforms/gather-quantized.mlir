// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-gather-quantized,canonicalize,cse,fusec-simplify-views))" --split-input-file %s | FileCheck %s
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-gather-quantized,canonicalize,cse,fusec-simplify-views,fusec-form-bags))" --split-input-file %s | FileCheck %s --check-prefix=BAG

// Scales of rows, and their zeros: the table is gathered from, and so are they.
// CHECK-LABEL: fusec.model @rows
// BAG-LABEL: fusec.model @rows
fusec.model @rows inputs ["ids", "t", "s", "z"] outputs ["y"] {
// CHECK: ^bb0(%[[IDS:.+]]: tensor<8x3xi64>, %[[T:.+]]: tensor<9x4xi8>, %[[S:.+]]: tensor<9xf32>, %[[Z:.+]]: tensor<9xf32>):
^bb0(%ids: tensor<8x3xi64>, %t: tensor<9x4xi8>, %s: tensor<9xf32>, %z: tensor<9xf32>):
  // CHECK: %[[ROWS:.+]] = fusec.gather %[[T]] [-1, 2]({{.*}}) {{ *}}flag : {{.*}} -> tensor<8x3x4xi8>
  // CHECK: fusec.cast %[[ROWS]] : tensor<8x3x4xi8> to tensor<8x3x4xf32>
  // CHECK: fusec.sub
  // CHECK: fusec.mul
  // BAG: %[[BAG:.+]] = fusec.bag sum(%{{.+}}) at(%{{.+}}) factors(%{{.+}}) zeros(%{{.+}}) flag scales [1.000000e+00] : (tensor<9x4xi8>) at(tensor<8x3xi64>) factors(tensor<9x1xf32>) zeros(tensor<9x1xf32>) -> tensor<8x4xf32>
  // BAG-NEXT: fusec.output %[[BAG]]
  %0 = fusec.cast %t : tensor<9x4xi8> to tensor<9x4xf32>
  %1 = fusec.broadcast %z [0] : tensor<9xf32> to tensor<9x4xf32>
  %2 = fusec.sub %0, %1 : tensor<9x4xf32>
  %3 = fusec.broadcast %s [0] : tensor<9xf32> to tensor<9x4xf32>
  %4 = fusec.mul %2, %3 : tensor<9x4xf32>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %5 = fusec.gather %4 [-1, 2] (%b) flag : (tensor<9x4xf32>, tensor<8x3x4xi64>) -> tensor<8x3x4xf32>
  %6 = fusec.reduce sum %5 axes [1] : tensor<8x3x4xf32> to tensor<8x4xf32>
  fusec.output %6 : tensor<8x4xf32>
}

// -----

// Scales of blocks of two columns, of halves; weights beside them.
// CHECK-LABEL: fusec.model @blocks
// BAG-LABEL: fusec.model @blocks
fusec.model @blocks inputs ["ids", "t", "s", "w"] outputs ["y"] {
^bb0(%ids: tensor<8x3xi64>, %t: tensor<9x4xui8>, %s: tensor<9x2xf32>, %w: tensor<8x3xf16>):
  // CHECK: fusec.gather %{{.+}} [-1, 2]({{.*}}) {{ *}}flag : {{.*}} -> tensor<8x3x4xui8>
  // CHECK: fusec.gather %{{.+}} [-1, 2]({{.*}}) {{ *}}flag : {{.*}} -> tensor<8x3x2xf32>
  // BAG: fusec.bag sum(%{{.+}}) at(%{{.+}}) by(%{{.+}}) factors(%{{.+}}) flag scales [1.000000e+00] : (tensor<9x4xui8>) at(tensor<8x3xi64>) by(tensor<8x3xf16>) factors(tensor<9x2xf32>) -> tensor<8x4xf16>
  %0 = fusec.cast %t : tensor<9x4xui8> to tensor<9x4xf32>
  %1 = fusec.broadcast %s [0, 1] : tensor<9x2xf32> to tensor<9x2x2xf32>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<9x2x2xf32> to tensor<9x4xf32>
  %3 = fusec.mul %2, %0 : tensor<9x4xf32>
  %4 = fusec.cast %3 : tensor<9x4xf32> to tensor<9x4xf16>
  %b = fusec.broadcast %ids [0, 1] : tensor<8x3xi64> to tensor<8x3x4xi64>
  %5 = fusec.gather %4 [-1, 2] (%b) flag : (tensor<9x4xf16>, tensor<8x3x4xi64>) -> tensor<8x3x4xf16>
  %f = fusec.broadcast %w [0, 1] : tensor<8x3xf16> to tensor<8x3x4xf16>
  %6 = fusec.mul %5, %f : tensor<8x3x4xf16>
  %7 = fusec.reduce sum %6 axes [1] : tensor<8x3x4xf16> to tensor<8x4xf16>
  fusec.output %7 : tensor<8x4xf16>
}

// -----

// Scales that differ from column to column are gathered as those of a row.
// CHECK-LABEL: fusec.model @columns
// CHECK: fusec.gather {{.*}} -> tensor<8x4xi8>
// CHECK: fusec.gather {{.*}} -> tensor<8x4xf32>
// CHECK: fusec.mul
fusec.model @columns inputs ["ids", "t", "s"] outputs ["y"] {
^bb0(%ids: tensor<8xi64>, %t: tensor<9x4xi8>, %s: tensor<4xf32>):
  %0 = fusec.cast %t : tensor<9x4xi8> to tensor<9x4xf32>
  %1 = fusec.broadcast %s [1] : tensor<4xf32> to tensor<9x4xf32>
  %2 = fusec.mul %0, %1 : tensor<9x4xf32>
  %b = fusec.broadcast %ids [0] : tensor<8xi64> to tensor<8x4xi64>
  %3 = fusec.gather %2 [-1, 1] (%b) flag : (tensor<9x4xf32>, tensor<8x4xi64>) -> tensor<8x4xf32>
  fusec.output %3 : tensor<8x4xf32>
}
