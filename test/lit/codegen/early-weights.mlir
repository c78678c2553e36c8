// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda | FileCheck %s

// Constant weights do not wait for the kernel before; the first kernel has none
// before it, and those of the last are the user's.
// CHECK: static constexpr int tokens = 16, blocks = 1, tileK = 64, stages = {{[0-9]+}}, cluster = {{[0-9]+}};
// CHECK-NEXT: static constexpr bool early = false;
// CHECK: matmul_0(
// CHECK: launch::followPrevious();
// CHECK-NEXT: typedef fusec::SkinnyConfig<Tiling> Config;
// CHECK: static constexpr bool early = true;
// CHECK: matmul_1(
// CHECK: launch::admitNext();
// CHECK: static constexpr bool early = false;
// CHECK: matmul_2(
// CHECK: launch::followPrevious();
fusec.model @layers inputs ["x", "v"] outputs ["y"] {
^bb0(%x: tensor<16x1024xf16>, %v: tensor<1024x1024xf16>):
  %w = fusec.constant dense<0.5> : tensor<1024x1024xf16>
  %0 = fusec.matmul %x, %w : tensor<16x1024xf16>, tensor<1024x1024xf16> to tensor<16x1024xf16>
  %1 = fusec.matmul %0, %w : tensor<16x1024xf16>, tensor<1024x1024xf16> to tensor<16x1024xf16>
  %2 = fusec.matmul %1, %v : tensor<16x1024xf16>, tensor<1024x1024xf16> to tensor<16x1024xf16>
  fusec.output %2 : tensor<16x1024xf16>
}
