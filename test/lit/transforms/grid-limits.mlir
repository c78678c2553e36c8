// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grids whose blocks take longer to be placed than to run are limited, and
// their loops stride.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// A thread an element, since every second one is read.
// CHECK-LABEL: fusec.plan @sm_90a of @scalar
// CHECK: pointwise_schedule<threads = 128, vector = 1, indexBits = 32, blocks = 33792>
fusec.model @scalar inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<100003x662xf32>):
  %0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 2] : tensor<100003x662xf32> to tensor<100003x331xf32>
  %1 = fusec.exp %0 : tensor<100003x331xf32>
  fusec.output %1 : tensor<100003x331xf32>
}

// -----

// What only streams takes longer than its blocks do.
// CHECK-LABEL: fusec.plan @sm_90a of @streams
// CHECK: pointwise_schedule<threads = 128, vector = 8, indexBits = 32>
fusec.model @streams inputs ["x", "y"] outputs ["z"] {
^bb0(%x: tensor<16384x16384xf16>, %y: tensor<16384x16384xf16>):
  %0 = fusec.mul %x, %y : tensor<16384x16384xf16>
  fusec.output %0 : tensor<16384x16384xf16>
}

// -----

// A few turns of all places are as many as it has: half of them.
// CHECK-LABEL: fusec.plan @sm_90a of @turns
// CHECK: pointwise_schedule<threads = 128, vector = 4, indexBits = 32, blocks = 16896>
fusec.model @turns inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<65536x256xf32>):
  %0 = fusec.relu %x : tensor<65536x256xf32>
  fusec.output %0 : tensor<65536x256xf32>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @small
// CHECK: pointwise_schedule<threads = 128, vector = 4, indexBits = 32>
fusec.model @small inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<512x256xf32>):
  %0 = fusec.relu %x : tensor<512x256xf32>
  fusec.output %0 : tensor<512x256xf32>
}

// -----

// Rows are reduced as fast by a limited grid, whatever bounds them.
// CHECK-LABEL: fusec.plan @sm_90a of @rows
// CHECK: reduce_schedule<scope = {{warp|thread}}, threads = 128, {{.*}}blocks = {{[0-9]+}}
fusec.model @rows inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<1048576x64xf32>):
  %0 = fusec.reduce sum %x axes [1] : tensor<1048576x64xf32> to tensor<1048576xf32>
  fusec.output %0 : tensor<1048576xf32>
}
