// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows of many weights take the kernel that is there for them: also a
// single one, whose rows have no distance that a tensor map could have, and
// where tiles of more rows would read mostly outside of A.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// CHECK: skinny_schedule<tileM = 8, tileN = 64, tileK = 64, stages = {{[0-9]+}}, clusterK = 2, resident = 2>
fusec.model @one inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<1x4096xf16>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<1x4096xf16>, tensor<4096x4096xf16> to tensor<1x4096xf16>
  fusec.output %0 : tensor<1x4096xf16>
}

// -----

// CHECK: skinny_schedule<tileM = 16, tileN = 64,
fusec.model @sixteen inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<16x8192xf16>, %w: tensor<8192x8192xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<16x8192xf16>, tensor<8192x8192xf16> to tensor<16x8192xf16>
  fusec.output %0 : tensor<16x8192xf16>
}

// -----

// As many as a tile has.
// CHECK: wgmma_schedule<tileM = 64, tileN = 64,{{[^>]*}}pingPong = true
fusec.model @sixtyfour inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<64x2048xf16>, %w: tensor<2048x2048xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<64x2048xf16>, tensor<2048x2048xf16> to tensor<64x2048xf16>
  fusec.output %0 : tensor<64x2048xf16>
}
