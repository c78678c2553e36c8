// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-nest-reductions))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-nest-reductions))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Sums over fields and of squares over fields, then over the width.
// CHECK-LABEL: of @second_order
// CHECK: slots []
// CHECK: fusec.step reduce
// CHECK-SAME: inputs [@x] outputs [@y]
// CHECK-COUNT-2: fusec.reduce sum %{{.+}} axes [1] : tensor<2048x39x16xf32> to tensor<2048x16xf32>
// CHECK: fusec.reduce sum %{{.+}} axes [1] : tensor<2048x16xf32> to tensor<2048xf32>
// CHECK-NOT: fusec.step
// REMARK: [Passed] nest-reductions
// REMARK-SAME: are one kernel
fusec.model @second_order inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2048x39x16xf32>):
  %0 = fusec.reduce sum %x axes [1] : tensor<2048x39x16xf32> to tensor<2048x16xf32>
  %1 = fusec.mul %0, %0 : tensor<2048x16xf32>
  %2 = fusec.mul %x, %x : tensor<2048x39x16xf32>
  %3 = fusec.reduce sum %2 axes [1] : tensor<2048x39x16xf32> to tensor<2048x16xf32>
  %4 = fusec.sub %1, %3 : tensor<2048x16xf32>
  %5 = fusec.reduce sum %4 axes [1] : tensor<2048x16xf32> to tensor<2048xf32>
  fusec.output %5 : tensor<2048xf32>
}

// -----

// A mean of steps and a norm of its row, with results at both.
// CHECK-LABEL: of @pool_norm
// CHECK: fusec.step reduce
// CHECK-SAME: inputs [@x] outputs [@m, @y]
// CHECK-NOT: fusec.step
fusec.model @pool_norm inputs ["x"] outputs ["m", "y"] {
^bb0(%x: tensor<1024x40x64xf16>):
  %0 = fusec.reduce sum %x axes [1] : tensor<1024x40x64xf16> to tensor<1024x64xf16>
  %1 = fusec.mul %0, %0 : tensor<1024x64xf16>
  %2 = fusec.reduce sum %1 axes [1] : tensor<1024x64xf16> to tensor<1024xf16>
  %3 = fusec.rsqrt %2 : tensor<1024xf16>
  %4 = fusec.broadcast %3 [0] : tensor<1024xf16> to tensor<1024x64xf16>
  %5 = fusec.mul %0, %4 : tensor<1024x64xf16>
  fusec.output %0, %5 : tensor<1024x64xf16>, tensor<1024x64xf16>
}

// -----

// Wider rows than a block finds, an outer axis, results that lie along their
// rows, so few rows that one block would find what many do, and so many that a
// launch is little beside them.
// CHECK-LABEL: of @others
// CHECK-COUNT-10: fusec.step reduce
// REMARK: no row of results lies side by side
// REMARK: one kernel takes
fusec.model @others inputs ["a", "b", "c", "d", "e"] outputs ["p", "q", "r", "s", "t"] {
^bb0(%a: tensor<16x8x1025xf32>, %b: tensor<64x32x16xf32>, %c: tensor<64x32x512xf32>, %d: tensor<8192x512xf32>, %e: tensor<65536x39x16xf32>):
  %0 = fusec.reduce sum %a axes [1] : tensor<16x8x1025xf32> to tensor<16x1025xf32>
  %1 = fusec.reduce max %0 axes [1] : tensor<16x1025xf32> to tensor<16xf32>
  %2 = fusec.reduce sum %b axes [1] : tensor<64x32x16xf32> to tensor<64x16xf32>
  %3 = fusec.reduce max %2 axes [0] : tensor<64x16xf32> to tensor<16xf32>
  %4 = fusec.reduce sum %c axes [2] : tensor<64x32x512xf32> to tensor<64x32xf32>
  %5 = fusec.reduce max %4 axes [1] : tensor<64x32xf32> to tensor<64xf32>
  %6 = fusec.reduce sum %d axes [0] : tensor<8192x512xf32> to tensor<512xf32>
  %7 = fusec.reduce max %6 axes [0] : tensor<512xf32> to tensor<f32>
  %8 = fusec.reduce sum %e axes [1] : tensor<65536x39x16xf32> to tensor<65536x16xf32>
  %9 = fusec.reduce max %8 axes [1] : tensor<65536x16xf32> to tensor<65536xf32>
  fusec.output %1, %3, %5, %7, %9 : tensor<16xf32>, tensor<16xf32>, tensor<64xf32>, tensor<f32>, tensor<65536xf32>
}
