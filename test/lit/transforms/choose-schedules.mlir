// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guards of schedules that read by tensor map.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// Sums over a named size, which may be zero: then no first step overwrites the
// accumulators.
// CHECK: #fusec.variant<[{{.*}}<kind = gt, lhs = <k>, rhs = <0>>{{.*}}], #fusec.wgmma_schedule<
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x?xf16, #fusec.sizes<[m, k]>>, %w: tensor<64x?xf16, #fusec.sizes<[64, k]>>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x?xf16, #fusec.sizes<[m, k]>>, tensor<64x?xf16, #fusec.sizes<[64, k]>> to tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  fusec.output %0 : tensor<?x64xf16, #fusec.sizes<[m, 64]>>
}
