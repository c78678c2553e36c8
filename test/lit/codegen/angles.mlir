// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-join-siblings,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s

// Sine and cosine of one angle are found together where both are stored.
// CHECK-LABEL: FUSEC_KERNEL(128) sin_cos
// CHECK: const auto [[BOTH:.*]] = fusec::sinCos(t_x_at[lane]);
// CHECK-NEXT: = [[BOTH]].sine;
// CHECK: = [[BOTH]].cosine;
fusec.model @stored inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<6x8xf32>):
  %0 = fusec.sin %x : tensor<6x8xf32>
  %1 = fusec.cos %x : tensor<6x8xf32>
  fusec.output %0, %1 : tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// Not those of different angles, nor where one is only computed with.
// CHECK-LABEL: sin_cos_cos_sin_mul_0(
// CHECK-NOT: sinCos
fusec.model @apart inputs ["x", "z"] outputs ["y", "w", "v"] {
^bb0(%x: tensor<6x8xf32>, %z: tensor<6x8xf32>):
  %0 = fusec.sin %x : tensor<6x8xf32>
  %1 = fusec.cos %z : tensor<6x8xf32>
  %2 = fusec.cos %x : tensor<6x8xf32>
  %3 = fusec.sin %z : tensor<6x8xf32>
  %4 = fusec.mul %2, %3 : tensor<6x8xf32>
  fusec.output %0, %1, %4 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}
