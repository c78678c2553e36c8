// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of one wave over a long K walk narrow bands of tiles, unless rows of
// tiles would be left over, which read all of B once more.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// CHECK-LABEL: of @whole
// CHECK: fusec.step gemm
// CHECK-SAME: #fusec.wgmma_schedule<tileM = 128, {{[^>]*}}, band = 4>
fusec.model @whole inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x16384xf16>, %w: tensor<1024x16384xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x16384xf16>, tensor<1024x16384xf16> to tensor<2048x1024xf16>
  fusec.output %0 : tensor<2048x1024xf16>
}

// -----

// Five rows of tiles.
// CHECK-LABEL: of @left_over
// CHECK: fusec.step gemm
// CHECK-SAME: #fusec.wgmma_schedule<tileM = 64, tileN = 160, tileK = 64, stages = 6, blocks = 132, pingPong = true>
fusec.model @left_over inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<320x11008xf16>, %w: tensor<4096x11008xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<320x11008xf16>, tensor<4096x11008xf16> to tensor<320x4096xf16>
  fusec.output %0 : tensor<320x4096xf16>
}

// -----

// As many as a batch has, which is only named.
// CHECK-LABEL: of @named
// CHECK: fusec.step gemm
// CHECK-NOT: band = 4
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x16384xf16, #fusec.sizes<[m, 16384]>>, %w: tensor<1024x16384xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x16384xf16, #fusec.sizes<[m, 16384]>>, tensor<1024x16384xf16> to tensor<?x1024xf16, #fusec.sizes<[m, 1024]>>
  fusec.output %0 : tensor<?x1024xf16, #fusec.sizes<[m, 1024]>>
}
