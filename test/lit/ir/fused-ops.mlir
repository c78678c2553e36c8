// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of the fused level survive a round trip.

// RUN: fusec-opt %s | fusec-opt | FileCheck %s
// RUN: fusec-opt --mlir-print-op-generic %s | fusec-opt | FileCheck %s

// CHECK-LABEL: fusec.model @contractions
fusec.model @contractions inputs ["x", "t", "w", "v", "b"] outputs [] {
^bb0(%x: tensor<8x4xf32>, %t: tensor<8x2xf32>, %w: tensor<4x6xf32>, %v: tensor<4x6xf32>, %b: tensor<2x6xf32>):
  // CHECK: fusec.contraction(%[[X:.+]]) by(%[[W:.+]], %[[V:.+]]) : (tensor<8x4xf32>), (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>, tensor<8x6xf32>
  %gate, %up = fusec.contraction (%x) by (%w, %v)
    : (tensor<8x4xf32>), (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>, tensor<8x6xf32>
  // CHECK: fusec.contraction(%[[X]], %{{.+}}) by(%[[W]], %{{.+}}) : (tensor<8x4xf32>, tensor<8x2xf32>), (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %sum = fusec.contraction (%x, %t) by (%w, %b)
    : (tensor<8x4xf32>, tensor<8x2xf32>), (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  // CHECK: fusec.contraction(%[[X]]) by(%[[W]]) ranges [3] : (tensor<8x4xf32>), (tensor<4x6xf32>) -> tensor<2x8x6xf32>
  %parts = fusec.contraction (%x) by (%w) ranges [3] : (tensor<8x4xf32>), (tensor<4x6xf32>) -> tensor<2x8x6xf32>
}

// CHECK-LABEL: fusec.model @pairs
fusec.model @pairs inputs ["x", "w"] outputs [] {
^bb0(%x: tensor<8x48xf16>, %w: tensor<24x8x64xf16>):
  // CHECK: fusec.pair_product %{{.+}}, %{{.+}} : tensor<8x48xf16>, tensor<24x8x64xf16> to tensor<6x8x8xf32>
  %0 = fusec.pair_product %x, %w : tensor<8x48xf16>, tensor<24x8x64xf16> to tensor<6x8x8xf32>
}

// CHECK-LABEL: fusec.model @fusions
fusec.model @fusions inputs ["x", "y"] outputs ["r", "s"] {
^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>):
  // CHECK: fusec.fusion pointwise "add_sigmoid"(%{{.+}}, %{{.+}}) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<8xf32>, %{{.+}}: tensor<8xf32>):
  // CHECK: fusec.yield %{{.+}}, %{{.+}} : tensor<8xf32>, tensor<8xf32>
  %r, %s = fusec.fusion pointwise "add_sigmoid" (%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %0 = fusec.add %a, %b : tensor<8xf32>
    %1 = fusec.sigmoid %0 : tensor<8xf32>
    fusec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  // CHECK: fusec.fusion reduce "splat"() : () -> tensor<8xf32> {
  // CHECK-NEXT: fusec.splat
  %c = fusec.fusion reduce "splat" () : () -> tensor<8xf32> {
    %0 = fusec.splat 1.0 : f32 : tensor<8xf32>
    fusec.yield %0 : tensor<8xf32>
  }
  fusec.output %r, %s : tensor<8xf32>, tensor<8xf32>
}
