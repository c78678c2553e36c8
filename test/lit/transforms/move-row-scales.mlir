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

// -----

// Weights of bytes and zeros are whole numbers, which fp16 holds: the scale of
// their columns moves behind the product.
// CHECK-LABEL: fusec.model @quantised
// REMARK: move-row-scale{{.*}}a scale of the weights' columns is applied to the product
fusec.model @quantised inputs ["x", "q", "z", "s"] outputs ["y"] {
^bb0(%x: tensor<8x4xf16>, %q: tensor<6x4xui8>, %z: tensor<6xui8>, %s: tensor<6xf32>):
  // CHECK-DAG: %[[F:.+]] = fusec.sub
  // CHECK-DAG: %[[N:.+]] = fusec.cast %[[F]] : tensor<6x4xf32> to tensor<6x4xf16>
  // CHECK: %[[W:.+]] = fusec.transpose %[[N]] [1, 0]
  // CHECK: %[[P:.+]] = fusec.contraction(%{{.+}}) by(%[[W]]) : (tensor<8x4xf16>), (tensor<4x6xf16>) -> tensor<8x6xf32>
  // CHECK: %[[S:.+]] = fusec.broadcast %{{.+}} [1] : tensor<6xf32> to tensor<8x6xf32>
  // CHECK: fusec.mul %[[P]], %[[S]] : tensor<8x6xf32>
  %0 = fusec.cast %q : tensor<6x4xui8> to tensor<6x4xf32>
  %1 = fusec.cast %z : tensor<6xui8> to tensor<6xf32>
  %2 = fusec.broadcast %1 [0] : tensor<6xf32> to tensor<6x4xf32>
  %3 = fusec.sub %0, %2 : tensor<6x4xf32>
  %4 = fusec.broadcast %s [0] : tensor<6xf32> to tensor<6x4xf32>
  %5 = fusec.mul %3, %4 : tensor<6x4xf32>
  %6 = fusec.cast %5 : tensor<6x4xf32> to tensor<6x4xf16>
  %7 = fusec.matmul %x, %6 transposed : tensor<8x4xf16>, tensor<6x4xf16> to tensor<8x6xf16>
  fusec.output %7 : tensor<8x6xf16>
}

// -----

// A scale along K does not commute, bf16 holds no difference of differences,
// and what is no whole number would be rounded.
// CHECK-LABEL: fusec.model @kept
// CHECK-COUNT-3: fusec.contraction
// CHECK-NOT: fusec.mul
// CHECK: fusec.output
fusec.model @kept inputs ["x", "b", "q", "z", "s", "k", "w"] outputs ["y", "u", "v"] {
^bb0(%x: tensor<8x4xf16>, %b: tensor<8x4xbf16>, %q: tensor<6x4xi8>, %z: tensor<6x4xi8>,
     %s: tensor<6xf32>, %k: tensor<4xf32>, %w: tensor<6x4xf32>):
  %0 = fusec.cast %q : tensor<6x4xi8> to tensor<6x4xf32>
  %1 = fusec.cast %z : tensor<6x4xi8> to tensor<6x4xf32>
  %2 = fusec.broadcast %k [1] : tensor<4xf32> to tensor<6x4xf32>
  %3 = fusec.mul %0, %2 : tensor<6x4xf32>
  %4 = fusec.cast %3 : tensor<6x4xf32> to tensor<6x4xf16>
  %5 = fusec.sub %0, %1 : tensor<6x4xf32>
  %6 = fusec.sub %5, %1 : tensor<6x4xf32>
  %7 = fusec.broadcast %s [0] : tensor<6xf32> to tensor<6x4xf32>
  %8 = fusec.mul %6, %7 : tensor<6x4xf32>
  %9 = fusec.cast %8 : tensor<6x4xf32> to tensor<6x4xbf16>
  %10 = fusec.mul %w, %7 : tensor<6x4xf32>
  %11 = fusec.cast %10 : tensor<6x4xf32> to tensor<6x4xf16>
  %y = fusec.matmul %x, %4 transposed : tensor<8x4xf16>, tensor<6x4xf16> to tensor<8x6xf16>
  %u = fusec.matmul %b, %9 transposed : tensor<8x4xbf16>, tensor<6x4xbf16> to tensor<8x6xbf16>
  %v = fusec.matmul %x, %11 transposed : tensor<8x4xf16>, tensor<6x4xf16> to tensor<8x6xf16>
  fusec.output %y, %u, %v : tensor<8x6xf16>, tensor<8x6xbf16>, tensor<8x6xf16>
}
