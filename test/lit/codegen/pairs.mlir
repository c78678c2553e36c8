// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs: by wgmma and by mma.sync, of rows that begin at multiples
// of 16 bytes and that may not.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s --check-prefix=PLAN
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s --check-prefix=MMA

// PLAN: fusec.step pairs "pair_product" inputs [@x, @w] outputs [@p] variants
// PLAN-SAME: [<kind = aligned, lhs = <0>, rhs = <16>, buffer = @x>], #fusec.pair_schedule<unit = wgmma, tileN = 32, stages = 8, whole = true> launch <blocks = <6>, threads = 384, shared = 131200>
// PLAN-SAME: #fusec.pair_schedule<unit = wgmma, tileN = 32, stages = 8, whole = false>
// CHECK: static constexpr int tileN = 32, stages = 8;
// CHECK-NEXT: static constexpr bool whole = true;
// CHECK: FUSEC_KERNEL(384) pair_product_0(const fusec::f16 *t_x,
// CHECK: fusec::pairProduct<Config>(fusec::PairProblem<fusec::f16, fusec::f16>{t_x, 48, 64, 48, 8, 6,
// CHECK: static constexpr bool whole = false;
// MMA: FUSEC_KERNEL(128) pair_product_0(
// MMA: fusec::pairProductMma<Config>(fusec::PairProblem<fusec::f16, fusec::f16>{t_x, 48, 64, 48, 8, 6,
fusec.model @whole inputs ["x", "w"] outputs ["p"] {
^bb0(%x: tensor<64x48xf16>, %w: tensor<24x8x64xf16>):
  %0 = fusec.pair_product %x, %w : tensor<64x48xf16>, tensor<24x8x64xf16> to tensor<6x64x8xf32>
  fusec.output %0 : tensor<6x64x8xf32>
}

// -----

// Some columns of a matrix: rows lie as far apart as its own.
// CHECK: FUSEC_KERNEL(384) pair_product_0(const float *t_x,
// CHECK: fusec::pairProduct<Config>(fusec::PairProblem<float, fusec::f16>{t_x + 3, 64, 64, 50, 300, 6,
fusec.model @slice inputs ["x", "w"] outputs ["p"] {
^bb0(%x: tensor<64x64xf32>, %w: tensor<40x304x64xf16>):
  %s = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<3>] steps [1, 1] : tensor<64x64xf32> to tensor<64x50xf32>
  %0 = fusec.pair_product %s, %w : tensor<64x50xf32>, tensor<40x304x64xf16> to tensor<6x64x300xf32>
  fusec.output %0 : tensor<6x64x300xf32>
}

// -----

// Rows across memory are copied first. Weights are read before the copy ends.
// PLAN: fusec.step pairs "pair_product" inputs [@transpose, @w]
// PLAN-SAME: whole = true> launch <blocks = <6>, threads = 384, shared = 131200, early = true, prefetches = true>
// CHECK: transpose
// CHECK: FUSEC_KERNEL(384) pair_product_1(
// CHECK: fusec::launch::admitNext();
fusec.model @across inputs ["x", "w"] outputs ["p"] {
^bb0(%x: tensor<48x64xf16>, %w: tensor<24x8x64xf16>):
  %t = fusec.transpose %x [1, 0] : tensor<48x64xf16> to tensor<64x48xf16>
  %0 = fusec.pair_product %t, %w : tensor<64x48xf16>, tensor<24x8x64xf16> to tensor<6x64x8xf32>
  fusec.output %0 : tensor<6x64x8xf32>
}
