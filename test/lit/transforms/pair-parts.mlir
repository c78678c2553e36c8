// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-pairs{precision=tf32},fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80,sm_90a})" %s | FileCheck %s

// As many parts as the target has multiprocessors.
// CHECK-LABEL: fusec.plan @sm_80 of @outer
// CHECK: : tensor<108x64x8xf32>
// CHECK: fusec.pair_product {{.*}} to tensor<108x64x8xf32>
// CHECK: fusec.reduce sum {{.*}} : tensor<108x64x8xf32> to tensor<64x8xf32>
// CHECK-LABEL: fusec.plan @sm_90a of @outer
// CHECK: fusec.pair_product {{.*}} to tensor<132x64x8xf32>
// CHECK: fusec.reduce sum {{.*}} : tensor<132x64x8xf32> to tensor<64x8xf32>
fusec.model @outer inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x432xf16>):
  %w = fusec.constant dense<0.25> : tensor<186624x8xf16>
  %0 = fusec.expand %x [[0], [1, 2]] : tensor<64x432xf16> to tensor<64x432x1xf16>
  %1 = fusec.matmul %0, %0 transposed : tensor<64x432x1xf16>, tensor<64x432x1xf16> to tensor<64x432x432xf16>
  %2 = fusec.collapse %1 [[0], [1, 2]] : tensor<64x432x432xf16> to tensor<64x186624xf16>
  %3 = fusec.matmul %2, %w : tensor<64x186624xf16>, tensor<186624x8xf16> to tensor<64x8xf16>
  fusec.output %3 : tensor<64x8xf16>
}
