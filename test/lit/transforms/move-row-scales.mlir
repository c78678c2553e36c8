// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --fusec-move-row-scales --split-input-file %s | FileCheck %s
// RUN: fusec-opt --fusec-form-contractions --fusec-move-row-scales --remarks-filter=rewrite --split-input-file %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A norm's scale by rows moves behind the product, in fp32.
// CHECK-LABEL: fusec.model @row_scale
// REMARK: move-row-scale
fusec.model @row_scale inputs ["x", "r", "w"] outputs ["y"] {
^bb0(%x: tensor<8x4xf16>, %r: tensor<8x1xf16>, %w: tensor<4x6xf16>):
  // CHECK: %[[P:.+]] = fusec.contraction(%[[X:.+]]) by(%{{.+}}) : (tensor<8x4xf16>), (tensor<4x6xf16>) -> tensor<8x6xf32>
  // CHECK: %[[R:.+]] = fusec.cast %{{.+}} : tensor<8x1xf16> to tensor<8x1xf32>
  // CHECK: %[[S:.+]] = fusec.broadcast %[[R]] [0, 1] : tensor<8x1xf32> to tensor<8x6xf32>
  // CHECK: %[[Q:.+]] = fusec.mul %[[P]], %[[S]] : tensor<8x6xf32>
  // CHECK: fusec.cast %[[Q]] : tensor<8x6xf32> to tensor<8x6xf16>
  %s = fusec.broadcast %r [0, 1] : tensor<8x1xf16> to tensor<8x4xf16>
  %n = fusec.mul %x, %s : tensor<8x4xf16>
  %y = fusec.matmul %n, %w : tensor<8x4xf16>, tensor<4x6xf16> to tensor<8x6xf16>
  fusec.output %y : tensor<8x6xf16>
}

// -----

// What spreads over columns is no scale by rows, and a sum's segments have no
// scale in common.
// CHECK-LABEL: fusec.model @stays
// CHECK: %[[N:.+]] = fusec.mul
// CHECK: fusec.contraction(%[[N]])
// CHECK: %[[M:.+]] = fusec.mul
// CHECK: fusec.contraction(%[[M]], %{{.+}}) by
fusec.model @stays inputs ["x", "c", "r", "w"] outputs ["y", "z"] {
^bb0(%x: tensor<8x4xf32>, %c: tensor<4xf32>, %r: tensor<8xf32>, %w: tensor<4x6xf32>):
  %s = fusec.broadcast %c [1] : tensor<4xf32> to tensor<8x4xf32>
  %n = fusec.mul %x, %s : tensor<8x4xf32>
  %y = fusec.matmul %n, %w : tensor<8x4xf32>, tensor<4x6xf32> to tensor<8x6xf32>
  %t = fusec.broadcast %r [0] : tensor<8xf32> to tensor<8x4xf32>
  %m = fusec.mul %x, %t : tensor<8x4xf32>
  %z = fusec.contraction(%m, %x) by(%w, %w) : (tensor<8x4xf32>, tensor<8x4xf32>), (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  fusec.output %y, %z : tensor<8x6xf32>, tensor<8x6xf32>
}
