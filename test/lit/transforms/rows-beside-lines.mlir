// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine asks L2 for two lines a row of a box where rows of neither
// matrix begin at lines: blocks of a cluster then share what they load.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products,fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// Rows of 187,056 bytes.
// CHECK-LABEL: of @beside
// CHECK: fusec.step gemm "matmul_ranges"
// CHECK-SAME: >], #fusec.wgmma_schedule<tileM = 128, tileN = 256, tileK = 64, stages = 4, clusterM = 2, blocks = 132>
// CHECK: ranges [23424]
fusec.model @beside inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x93528xf16>, %w: tensor<512x93528xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x93528xf16>, tensor<512x93528xf16> to tensor<2048x512xf16>
  fusec.output %0 : tensor<2048x512xf16>
}

// -----

// Rows of 187,136 bytes are whole lines.
// CHECK-LABEL: of @lines
// CHECK: fusec.step gemm "matmul_ranges"
// CHECK-SAME: >], #fusec.wgmma_schedule<tileM = 128, tileN = 256, tileK = 64, stages = 4, blocks = 132, band = 4>
fusec.model @lines inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x93568xf16>, %w: tensor<512x93568xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x93568xf16>, tensor<512x93568xf16> to tensor<2048x512xf16>
  fusec.output %0 : tensor<2048x512xf16>
}
