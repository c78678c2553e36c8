// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fp32 multiplies: 3xTF32 where it is faster and as exact.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80,sm_86,sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80,sm_86,sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules{products=fma candidates=0}))" %s | FileCheck %s --check-prefix=FMA
// FMA-NOT: tf32x3

// Consumer devices do tf32 no faster than fp32.
// CHECK-LABEL: fusec.plan @sm_80
// CHECK: variants [#fusec.variant<[{{[^]]*}}], #fusec.mma_schedule<tileM = 128{{[^>]*}}tf32x3 = true>
// CHECK-LABEL: fusec.plan @sm_86
// CHECK: variants [#fusec.variant<[{{[^]]*}}], #fusec.simt_schedule<
// CHECK-LABEL: fusec.plan @sm_90a
// CHECK: variants [#fusec.variant<[{{[^]]*}}], #fusec.mma_schedule<tileM = 128{{[^>]*}}tf32x3 = true>
fusec.model @long inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>):
  %0 = fusec.matmul %x, %w : tensor<2048x2048xf32>, tensor<2048x2048xf32> to tensor<2048x2048xf32>
  fusec.output %0 : tensor<2048x2048xf32>
}

// -----

// A short sum is more exact by FMA.
// CHECK-LABEL: fusec.model @short
// CHECK-NOT: tf32x3
// CHECK-LABEL: fusec.model @odd
fusec.model @short inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x63xf32>, %w: tensor<63x2048xf32>):
  %0 = fusec.matmul %x, %w : tensor<2048x63xf32>, tensor<63x2048xf32> to tensor<2048x2048xf32>
  fusec.output %0 : tensor<2048x2048xf32>
}

// -----

// Unaligned rows leave the tiles that copy single elements.
// CHECK-LABEL: fusec.plan @sm_90a
// CHECK: variants [#fusec.variant<[{{[^]]*}}], #fusec.mma_schedule<tileM = 64, tileN = 64{{[^>]*}}tf32x3 = true>
fusec.model @odd inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2047x2047xf32>, %w: tensor<2047x2047xf32>):
  %0 = fusec.matmul %x, %w : tensor<2047x2047xf32>, tensor<2047x2047xf32> to tensor<2047x2047xf32>
  fusec.output %0 : tensor<2047x2047xf32>
}

// -----

// Other types multiply as they did.
// CHECK-LABEL: fusec.plan @sm_90a
// CHECK-NOT: tf32x3
fusec.model @wide inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x2048xf64>, %w: tensor<2048x2048xf64>):
  %0 = fusec.matmul %x, %w : tensor<2048x2048xf64>, tensor<2048x2048xf64> to tensor<2048x2048xf64>
  fusec.output %0 : tensor<2048x2048xf64>
}
