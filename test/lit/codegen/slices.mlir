// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Both weights of a gate are slices of one: a pointer each, no text of its own.
// CHECK: FUSEC_KERNEL({{[0-9]+}}) matmul_sigmoid_mul_0(const float *t_w,
// CHECK-NEXT: const float *t_x,
// CHECK-NEXT: float *t_y,
// CHECK-NEXT: const float *t_w_2) {
// CHECK: {t_w, 128, {}}, {t_w_2, 128, {}}
fusec.model @packed inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<16x32xf32>, %w: tensor<32x128xf32>):
  %0 = fusec.slice %w offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<32x128xf32> to tensor<32x64xf32>
  %1 = fusec.slice %w offsets [#fusec.expr<0>, #fusec.expr<64>] steps [1, 1] : tensor<32x128xf32> to tensor<32x64xf32>
  %2 = fusec.matmul %x, %0 : tensor<16x32xf32>, tensor<32x64xf32> to tensor<16x64xf32>
  %3 = fusec.matmul %x, %1 : tensor<16x32xf32>, tensor<32x64xf32> to tensor<16x64xf32>
  %4 = fusec.sigmoid %2 : tensor<16x64xf32>
  %5 = fusec.mul %4, %3 : tensor<16x64xf32>
  fusec.output %5 : tensor<16x64xf32>
}

// -----

// One weight lies along K, the other across it: two kernels.
// CHECK: FUSEC_KERNEL({{[0-9]+}}) matmul_0(
// CHECK: FUSEC_KERNEL({{[0-9]+}}) matmul_sigmoid_mul_1(
fusec.model @unlike inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<16x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>):
  %0 = fusec.transpose %w [1, 0] : tensor<64x64xf32> to tensor<64x64xf32>
  %1 = fusec.matmul %x, %v : tensor<16x64xf32>, tensor<64x64xf32> to tensor<16x64xf32>
  %2 = fusec.matmul %x, %0 : tensor<16x64xf32>, tensor<64x64xf32> to tensor<16x64xf32>
  %3 = fusec.sigmoid %1 : tensor<16x64xf32>
  %4 = fusec.mul %3, %2 : tensor<16x64xf32>
  fusec.output %4 : tensor<16x64xf32>
}
