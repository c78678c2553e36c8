// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-find-leads,fusec-assign-storage,fusec-choose-schedules,fusec-lead-products))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-find-leads,fusec-assign-storage,fusec-choose-schedules,fusec-lead-products))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s --check-prefix=CUDA

// The low-rank product hides in the launch of the wide one. Its factor is the
// user's: one more guard, and the variant without the lead behind it.
// CHECK-LABEL: fusec.plan @sm_90a of @update
// CHECK: fusec.step gemm "matmul" inputs [@x, @a]
// CHECK: fusec.step gemm "matmul" inputs [@x, @matmul, @w, @b] outputs [@y] lead @matmul
// CHECK-SAME: buffer = @a>], #fusec.wgmma_schedule<tileM = 128, {{[^>]*}}clusterM = 2, {{[^>]*}}lead = 16>
// CHECK-SAME: buffer = @y>], #fusec.wgmma_schedule<
// CUDA: const auto lead = fusec::WgmmaLead<LeadSegment, LeadEpilogue, 16>
// CUDA: fusec::gemmWgmmaLed<Config>(lead
fusec.model @update inputs ["x", "w", "a", "b"] outputs ["y"] {
^bb0(%x: tensor<8192x4096xf16>, %w: tensor<4096x4096xf16>, %a: tensor<4096x16xf16>, %b: tensor<16x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<8192x4096xf16>, tensor<4096x4096xf16> to tensor<8192x4096xf16>
  %1 = fusec.matmul %x, %a : tensor<8192x4096xf16>, tensor<4096x16xf16> to tensor<8192x16xf16>
  %2 = fusec.matmul %1, %b : tensor<8192x16xf16>, tensor<16x4096xf16> to tensor<8192x4096xf16>
  %3 = fusec.add %0, %2 : tensor<8192x4096xf16>
  fusec.output %3 : tensor<8192x4096xf16>
}

// -----

// What another step reads, or the user, is computed on its own.
// CHECK-LABEL: fusec.plan @sm_90a of @shared
// CHECK-NOT: lead
fusec.model @shared inputs ["x", "w", "a", "b"] outputs ["t", "y"] {
^bb0(%x: tensor<8192x4096xf16>, %w: tensor<4096x4096xf16>, %a: tensor<4096x16xf16>, %b: tensor<16x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<8192x4096xf16>, tensor<4096x4096xf16> to tensor<8192x4096xf16>
  %1 = fusec.matmul %x, %a : tensor<8192x4096xf16>, tensor<4096x16xf16> to tensor<8192x16xf16>
  %2 = fusec.matmul %1, %b : tensor<8192x16xf16>, tensor<16x4096xf16> to tensor<8192x4096xf16>
  %3 = fusec.add %0, %2 : tensor<8192x4096xf16>
  fusec.output %1, %3 : tensor<8192x16xf16>, tensor<8192x4096xf16>
}

// -----

// Wider than a stage.
// CHECK-LABEL: fusec.plan @sm_90a of @wide
// CHECK-NOT: lead =
fusec.model @wide inputs ["x", "w", "a", "b"] outputs ["y"] {
^bb0(%x: tensor<8192x4096xf16>, %w: tensor<4096x4096xf16>, %a: tensor<4096x256xf16>, %b: tensor<256x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<8192x4096xf16>, tensor<4096x4096xf16> to tensor<8192x4096xf16>
  %1 = fusec.matmul %x, %a : tensor<8192x4096xf16>, tensor<4096x256xf16> to tensor<8192x256xf16>
  %2 = fusec.matmul %1, %b : tensor<8192x256xf16>, tensor<256x4096xf16> to tensor<8192x4096xf16>
  %3 = fusec.add %0, %2 : tensor<8192x4096xf16>
  fusec.output %3 : tensor<8192x4096xf16>
}

// -----

// Few rows: one wave, in which the lead would only make everybody wait.
// CHECK-LABEL: fusec.plan @sm_90a of @few_rows
// CHECK-NOT: lead =
fusec.model @few_rows inputs ["x", "w", "a", "b"] outputs ["y"] {
^bb0(%x: tensor<64x4096xf16>, %w: tensor<4096x4096xf16>, %a: tensor<4096x16xf16>, %b: tensor<16x4096xf16>):
  %0 = fusec.matmul %x, %w : tensor<64x4096xf16>, tensor<4096x4096xf16> to tensor<64x4096xf16>
  %1 = fusec.matmul %x, %a : tensor<64x4096xf16>, tensor<4096x16xf16> to tensor<64x16xf16>
  %2 = fusec.matmul %1, %b : tensor<64x16xf16>, tensor<16x4096xf16> to tensor<64x4096xf16>
  %3 = fusec.add %0, %2 : tensor<64x4096xf16>
  fusec.output %3 : tensor<64x4096xf16>
}
